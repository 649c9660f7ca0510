"""Settings give one thing through the shell, an experiment file and Python, or all refuse them.

They are drawn from their classes, so that a new kind or field is tried as it is. What is made is
compared by fingerprint or content; a refusal must name the setting in the door's own words.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from drawing import Fields, as_text, settings_of, values_of
from every_command import load_command
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tiny import tiny_bert, tiny_decoder

import adducir as ad
from adducir.cli.app import main
from adducir.cli.command import options_of, wording_of
from adducir.core.errors import AdducirError, in_files, speaking
from adducir.corpora.reading import CorpusReading, QrelsReading, QueryReading
from adducir.evaluation.score_files import read_scores
from adducir.experiments.experiment import plan_experiment
from adducir.experiments.step import Context
from adducir.experiments.tasks import Trial
from adducir.indexes.kinds import FEEDBACK, INDEXES, MODELS, kind_of
from adducir.indexes.search_settings import SearchSettings
from adducir.runs.kinds import FUSION, FusionSettings, RerankSettings
from adducir.runs.reading import RunReading
from adducir.runs.write import read_metadata
from adducir.statistics import settings as statistics
from adducir.statistics.comparison import compare

Stated = Mapping[str, Any]
Door = Callable[[Stated], Any]


def lines_of(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


ROWS = [
    {"docno": "a", "title": "Pets", "text": "Cats sleep.", "notes": "One two three. Four five."},
    {"docno": "b", "title": "Laws", "text": "Dogs run. Dogs bark.", "notes": "Seven eight nine."},
]
FILES = {
    "docs.jsonl": lines_of(*ROWS),
    "nodocno.jsonl": lines_of({"text": "x"}),
    "docs.csv": "docno,text\na,x\n",
    "several/a.jsonl": lines_of({"docno": "a", "text": "x"}),
    "several/b.csv": "docno,text\nb,x\n",
    "stop.txt": "dogs\n",
    "weights.jsonl": lines_of(*({"id": i, "vector": {w: 1}} for i, w in ("ac", "bd"))),
    "topics.tsv": "1\tcats sleep\n2\tdogs bark\n",
    "topics.jsonl": lines_of(*({"qid": i, "title": "cats", "notes": "long cats"} for i in "12")),
    "notopics.jsonl": lines_of({"text": "x"}),
    "unclear.jsonl": lines_of({"qid": "1", "one": "big cats", "two": "small dogs"}),
    "qrels.txt": "1 0 a 1\n2 0 b 1\n",
    "twice.txt": "1 0 a 1\n1 0 a 2\n",
    "three.csv": "1,a,x\n1,b,2\n",
    "given.trec": "1 Q0 a 1 2.0 given\n2 Q0 b 1 2.0 given\n",
    "given.csv": "qid,docno,score\n1,a,2.0\n2,b,1.0\n",
    "scores.csv": "system,topic,RR\n" + "".join(f"{s},{t},0.{t}\n" for s in "AB" for t in "123"),
}
TEXTS: dict[str, list[Any]] = {
    "text": ["text", "notes "],
    "fields": ["text", "notes ", "title"],
    "separate": ["title", "notes"],
    "stemmer": ["porter", "krovetz", "lucene", "nosuch"],
    "stopwords": ["lucene", "none", "stop.txt", "nosuch.txt", ["dogs", "cats"]],
    "weights": ["weights.jsonl", "nosuch.jsonl"],
    "encoder": ["minilm", "nosuch/"],
    "search encoder": ["./sparse", "nosuch/"],
    "kind": ["Flat", "HNSW8", "nosuch"],
    "parameters": ["efSearch=20"],
    "fold": ["maxp", "SUMP", "nosuch"],
    "boosts": [{"contents": 2.0}, {"nosuch": 2.0}, {"contents": -1.0}],
    "query_padding": ["[MASK]"],
    "docno_field": ["docno", "title", "nosuch"],
    "qid_field": ["qid", "nosuch"],
    "query_field": ["title", "notes", "title+notes", "nosuch"],
    "qrels_columns": ["qid", "docno", "grade"],
    "columns": ["qid", "docno", "score"],
    "baseline": ["A", "B", "nosuch"],
    "against": ["best", "A", "nosuch"],
}
"""What texts are tried; other fields' texts are those of ``text``."""


def texts_of(command: str) -> dict[str, list[Any]]:
    own = {key.partition(" ")[2]: texts for key, texts in TEXTS.items() if key.startswith(command)}
    return TEXTS | own


DATA: dict[str, Any] = {
    "corpora": {"c": {"source": "docs.jsonl", "passages": 3}},
    "indexes": {
        "parts": {"corpus": "c", "engine": "memory", "fields": ["notes", "text"]},
        "lucene": {"corpus": "c"},
        "words": {"corpus": "c", "weights": "parts.jsonl"},
    },
    "topics": {"t": {"source": "topics.tsv", "qrels": "qrels.txt"}},
    "systems": {"S": {"index": "parts"}},
    "measures": ["RR"],
}


@dataclass(frozen=True)
class Thing:
    """What is made of settings, and how each door takes them."""

    command: str
    fields: Fields
    shell: Door
    file: Door
    python: Door
    needed: Stated = field(default_factory=dict)
    others: Fields = field(default_factory=dict)  # of other kinds
    families: Mapping[str, tuple[Any, str]] = field(default_factory=dict)  # fields that name one
    called: Mapping[str, str] = field(default_factory=dict)  # in Python


def of_shell(words: str, stated: Stated, use: Callable[[Any], Any] | None = None) -> Any:
    """Run a command, or only use its settings."""
    name, *arguments = words.split()
    command = load_command(name)
    for key, value in stated.items():
        option = options_of(command.recipe).get(key)
        typed = [str(option)] if option and option.has_flag else ["--set", key]
        is_repeated = option and option.is_several and isinstance(value, list)
        if option and option.is_flag and isinstance(value, bool):
            arguments += typed * value
        else:
            for each in value if is_repeated else [value]:
                arguments += [*typed[:-1], f"{typed[-1]}={as_text(each)}"]
    with command.make_context(name, arguments) as context, speaking(wording_of(command.recipe)):
        return use(context.obj) if use else command.invoke(context)


def of_file(**sections: Any) -> Any:
    Path("experiments/doors.yaml").write_text(yaml.safe_dump({**DATA, **sections}))
    plan: Any = plan_experiment(Path("experiments/doors.yaml"))
    return plan.study


def run_of_file(entry: Stated, **systems: Any) -> Any:
    step = of_file(systems={"S": dict(entry), **systems}).step(Trial("S", "t"))
    with speaking(in_files):
        step.make(Context(threads=1))
    return run_at(step.path)


def run_of_shell(words: str, stated: Stated) -> Any:
    of_shell(f"{words} --tag S -o shell.trec.gz --force", stated)
    return run_at(Path("shell.trec.gz"))


def run_of_python(call: Callable[..., ad.Run], stated: Stated) -> Any:
    ad.write_run(call(tag="S", **stated), "python.trec.gz")
    return run_at(Path("python.trec.gz"))


def run_at(path: Path) -> Any:
    """A run's bytes and method, without names of its inputs, which differ between doors."""
    method = read_metadata(path)["method"]
    for stage in (*method.values(), *method.get("reranking", ()), *method.get("retrieval", ())):
        for key in ("runs", "candidates", "name") if isinstance(stage, dict) else ():
            stage.pop(key, None)
    return path.read_bytes(), method


def index(name: str) -> Thing:
    """An index: built in memory, otherwise planned."""
    kind, reading, number = INDEXES.kind(name), CorpusReading.model_fields, count()
    engine, is_built = {"engine": kind.engine}, kind.engine == "memory"

    def parts(stated: Stated) -> tuple[Any, Any]:
        of_corpus = {key: stated[key] for key in reading if key in stated}
        return of_corpus, {key: stated[key] for key in stated if key not in of_corpus}

    def shell(stated: Stated) -> Any:
        place = f"made/{name}{next(number)}"
        words = f"index docs.jsonl --engine={kind.engine} -o {place}"
        if not is_built:
            return of_shell(words, stated, lambda s: s.settings.fingerprint(s.opened(s.source)))
        of_shell(words, stated)
        return ad.open_index(place).manifest.fingerprint

    def file(stated: Stated) -> Any:
        of_corpus, of_index = parts(stated)
        corpora = {"c": {"source": "docs.jsonl", **of_corpus}}
        indexes = {name: {"corpus": "c", **engine, **of_index}}
        study = of_file(corpora=corpora, indexes=indexes, systems={"S": {"index": name}})
        step = study.indexes[name]
        if is_built and step.why() is not None:
            step.make(Context(threads=1))
        return step.fingerprint

    def python(stated: Stated) -> Any:
        of_corpus, of_index = parts(stated)
        # In files and in the shell, `engine: memory` with weights is the kind of token weights.
        chosen = kind_of({**engine, **of_index})(**of_index)
        corpus = ad.open_corpus("docs.jsonl", **of_corpus)
        if not is_built:
            return chosen.fingerprint(corpus)
        place = f"made/{name}{next(number)}"
        return ad.build_index(corpus, place, chosen).manifest.fingerprint

    needed = {"weights": {"weights": "weights.jsonl"}, "dense": {"encoder": "minilm"}}
    every = [each.model_fields for each in INDEXES.kinds().values()]
    others = {key: one for fields in every for key, one in fields.items()}
    fields = kind.model_fields | (reading if is_built else {})
    return Thing("index", fields, shell, file, python, needed.get(name, {}), others)


def ranking(
    words: str,
    kind: Any,
    entry: Stated,
    call: Callable[..., ad.Run],
    families: Any = None,
    needed: Stated | None = None,
    **systems: Any,
) -> Thing:
    apart = ("parameters", "reranker")
    return Thing(
        words.split()[0],
        {key: one for key, one in kind.model_fields.items() if key not in apart},
        partial(run_of_shell, words),
        lambda stated: run_of_file({**entry, **stated}, **systems),
        partial(run_of_python, call),
        needed or {},
        families=families or {},
    )


def search(index: str, **stated: Any) -> ad.Run:
    own = {key: stated.pop(key) for key in ("tag", *SearchSettings.model_fields) if key in stated}
    return ad.search(f"indexes/{index}", "topics.tsv", **own, parameters=stated)


def reading(words: str, kind: Any, load: Any, of_entry: Any, source: str, **called: str) -> Thing:
    verb = "opened" if load is ad.open_corpus else load.__name__.replace("load", "read")

    def content(found: Any) -> Any:
        return [*found] if verb == "opened" else str(found.to_polars().to_dict(as_series=False))

    def python(stated: Stated) -> Any:
        return content(load(source, **{called.get(key, key): one for key, one in stated.items()}))

    def shell(stated: Stated) -> Any:
        use = lambda chosen: content(getattr(chosen, verb)(source))  # noqa: E731
        return of_shell(words.format(source), stated, use)

    fields, command = kind.model_fields, words.split()[0]
    file = lambda stated: content(of_entry(source, stated))  # noqa: E731
    return Thing(command, fields, shell, file, python, called=called)


def corpus_of_file(source: str, stated: Stated) -> Any:
    corpora, index = {"c": {"source": source, **stated}}, {"corpus": "c", "engine": "memory"}
    study = of_file(corpora=corpora, indexes={"x": index}, systems={"S": {"index": "x"}})
    return study.indexes["x"].corpus


def topics_of_file(source: str, stated: Stated) -> Any:
    topics = {"t": {"source": source, "qrels": "qrels.txt", **stated}}
    return of_file(topics=topics).topic_sets["t"].topics


def qrels_of_file(source: str, stated: Stated) -> Any:
    topics = {"t": {"source": "topics.tsv", "qrels": source, **stated}}
    return of_file(topics=topics).topic_sets["t"].qrels


def given_of_file(source: str, stated: Stated) -> Any:
    return of_file(systems={"S": {"run": source, **stated}}).step(Trial("S", "t")).run


def comparison(door: str, stated: Stated) -> Any:
    scores = read_scores(Path("scores.csv"), "scores")
    if door == "shell":
        testing = of_shell(
            "compare scores.csv", stated, lambda chosen: compare(scores, chosen.testing()).testing
        )
    elif door == "python":
        testing = ad.compare(scores, **stated).testing
    else:
        runs = {name: {"run": "given.trec"} for name in ("A", "B")}
        testing = of_file(systems=runs, comparison=dict(stated)).recipe.comparison
    plain = testing.model_dump(include={*statistics.Testing.model_fields})
    return {**plain, "baseline": testing.baselines}


MODEL = "maxsim:tiny"
TWO = {name: {"run": f"{name}.trec"} for name in ("bm25", "qld")}
KINDS = {"model": (MODELS, "bm25"), "feedback": (FEEDBACK, "")}
READING: list[Any] = [
    ("index {} -o x", CorpusReading, ad.open_corpus, corpus_of_file),
    ("rerank -r r -t {} -i i -m m -o x.trec", QueryReading, ad.load_topics, topics_of_file),
    ("evaluate given.trec -q {}", QrelsReading, ad.load_qrels, qrels_of_file),
    ("evaluate {} -q qrels.txt", RunReading, ad.load_run, given_of_file),
]
SOURCES = [
    ["docs.jsonl", "docs.csv", "nodocno.jsonl", "several", "stop.txt"],
    ["topics.tsv", "topics.jsonl", "notopics.jsonl", "unclear.jsonl"],
    ["qrels.txt", "twice.txt", "three.csv"],
    ["given.trec", "given.csv"],
]
CALLED = {"query_field": "field", "qrels_columns": "columns"}
THINGS = {
    **{f"index {name}": index(name) for name in INDEXES},
    **{
        f"search {name}": ranking(
            f"search -i indexes/{name} -t topics.tsv",
            *(SearchSettings, {"index": name}, partial(search, name), KINDS),
        )
        for name in ("parts", "words", "lucene")
    },
    "fuse": ranking(
        "fuse bm25.trec qld.trec",
        *(FusionSettings, {"fuse": ["bm25", "qld"]}, partial(ad.fuse, ["bm25.trec", "qld.trec"])),
        {"method": (FUSION, "rrf")},
        **TWO,
    ),
    "rerank": ranking(
        f"rerank -r bm25.trec -t topics.tsv -i indexes/parts -m {MODEL}",
        *(RerankSettings, {"rerank": "bm25", "reranker": MODEL, "texts": "parts"}),
        partial(ad.rerank, "bm25.trec", "topics.tsv", "indexes/parts", MODEL),
        **TWO,
    ),
    **{
        f"reading {source}": reading(*how, source, **CALLED)
        for how, sources in zip(READING, SOURCES, strict=True)
        for source in sources
    },
    "comparison": Thing(
        "compare",
        statistics.Testing.model_fields,
        *(partial(comparison, door) for door in ("shell", "file", "python")),
        needed={"baseline": "A"},
    ),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("study")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "experiments").mkdir()
    tiny_decoder(folder / "decoder")
    tiny_bert(folder / "tiny")
    tiny_bert(folder / "sparse", kind="BertForMaskedLM")
    with chdir(folder):
        corpus = ad.open_corpus("docs.jsonl", passages=3)
        parts = [document.docno for document in corpus]
        Path("parts.jsonl").write_text(lines_of(*({"id": i, "vector": {"cats": 1}} for i in parts)))
        memory = ad.MemorySettings(fields=["notes", "text"])
        opened = ad.build_index(corpus, "indexes/parts", memory)
        ad.build_index(corpus, "indexes/lucene")
        ad.build_index(corpus, "indexes/words", ad.TokenWeightSettings(weights="parts.jsonl"))
        for model in TWO:
            ad.write_run(ad.search(opened, "topics.tsv", model, tag=model), f"{model}.trec")
        yield folder


def result(door: Door, stated: Stated) -> Any:
    """What a door makes, or why it does not."""
    try:
        return door(stated)
    except AdducirError as error:
        return error
    except Exception as error:
        is_name = isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
        if is_name or "click" in type(error).__module__:  # a wrong choice of an option
            return error
        raise


def named_by(door: str, text: str, thing: Thing, stated: Stated) -> set[str]:
    """The settings that a refusal names, as the door's users write them, or whose file it names."""
    options = options_of(load_command(thing.command).recipe)
    names = set[str]()
    for key in {*thing.fields, *stated}:
        python = thing.called.get(key, key)
        pattern = {
            "shell": rf"(?<![-\w]){options.get(key, f'--set {key}')}\b",
            "file": rf"`([\w.]+\.)?{key}(\.\w+)?[`:]",
            "python": rf"[`']{python}[`:=.']",
        }[door]
        value = stated.get(key)
        is_file = isinstance(value, str) and {*"./"} & {*value} and value in text
        names |= {key} if is_file or re.search(pattern, text) else set()
    return names


def is_made_by_all(name: str, stated: dict[str, Any]) -> bool:
    """Whether all doors make one thing of settings; otherwise all refuse them, and say which."""
    thing = THINGS[name]
    stated = {**thing.needed, **stated}
    made = {door: result(getattr(thing, door), stated) for door in ("shell", "file", "python")}
    refused = {door: str(one) for door, one in made.items() if isinstance(one, Exception)}
    assert len(refused) in (0, 3), (name, stated, refused)
    if not refused:
        assert made["shell"] == made["file"] == made["python"], (name, stated, made)
        return True
    named = {door: named_by(door, text, thing, stated) for door, text in refused.items()}
    is_of_line = re.match(r"\S+:\d+: ", refused["shell"])
    if is_of_line and not any(named.values()):
        relative = refused["file"].replace(f"{Path.cwd()}/", "")
        assert refused["python"] == refused["shell"] in relative
        return False
    common = set.intersection(*named.values()) if len(stated) < 2 else all(named.values())
    assert common, (name, stated, named, refused)  # with more, another may be told first
    assert not re.search(r"(?<![-\w])--[a-z]", refused["file"] + refused["python"]), refused
    return False


@pytest.mark.parametrize("name", THINGS)
@settings(phases=[Phase.generate])  # what is drawn is small as it is
@given(data=st.data())
def test_the_doors_agree(name: str, study: Path, data: Any) -> None:
    thing = THINGS[name]
    drawn = settings_of(thing.fields, thing.families, thing.others, texts_of(thing.command))
    is_made_by_all(name, data.draw(drawn))


PARTNERS: dict[str, dict[str, Any]] = {
    "attention": {"encoder": "decoder", "similarity": "dot", "pooling": "last"},
    "pooling": {"similarity": "dot"},
    **{key: {"kind": "HNSW8"} for key in ("parameters", "sample", "index seed")},
    **{key: {"equivalence": 0.1} for key in ("equivalence_test", "non_inferiority", "against")},
    "compare seed": {"test": "randomisation"},
    "permutations": {"test": "randomisation"},
    "samples": {"interval": "bootstrap"},
}


@pytest.mark.parametrize("command", sorted({thing.command for thing in THINGS.values()}))
def test_every_setting_can_be_given_through_each_door(command: str, study: Path) -> None:
    given, fields = set[tuple[str, str]](), set[tuple[str, str]]()
    for name, thing in THINGS.items():
        usual: list[tuple[str, Fields, dict[str, Any]]] = [(name, thing.fields, {})]
        for key, (family, _) in thing.families.items():
            kinds = family.kinds().items()
            usual += [(kind, made.model_fields, {key: kind}) for kind, made in kinds]
        for of, own, beside in usual if thing.command == command else ():
            for key, field_ in own.items():
                fields |= {(of if beside else command, key)}
                stated = {**beside, **PARTNERS.get(f"{command} {key}", PARTNERS.get(key, {}))}
                texts = texts_of(command).get(key, TEXTS["text"])
                values, _ = values_of(field_.annotation, field_.metadata, texts)
                if any(is_made_by_all(name, {**stated, key: value}) for value in values[-4:]):
                    given |= {(of if beside else command, key)}
    assert given == fields


WRITTEN = {"1e3": 1000, "0x10": 16, " 16.0 ": 16, "7.5": None, "nan": None}


@pytest.mark.parametrize("text", WRITTEN)
def test_numbers_are_read_as_in_files(text: str, study: Path) -> None:
    thing, stated = THINGS["index dense"], {"encoder": "minilm", "kind": "HNSW8"}
    made = [result(door, {**stated, "sample": text}) for door in (thing.shell, thing.file)]
    if WRITTEN[text] is None:
        assert all(isinstance(one, AdducirError) for one in made)
    else:
        assert made == [thing.python({**stated, "sample": WRITTEN[text]})] * 2


def test_a_former_name_is_read_and_named(study: Path) -> None:
    for name, is_made in ((MODEL, True), ("nosuch/", False)):
        words = f"rerank -r bm25.trec -t topics.tsv -i indexes/parts --model {name}"
        entry = {"rerank": "bm25", "by": name, "texts": "parts"}
        made = result(partial(run_of_shell, words), {}), result(partial(run_of_file, **TWO), entry)
        assert (made[0] == made[1]) is is_made
    assert "at `systems.S.by`: " in str(made[1])


def test_paths_are_texts_in_python(study: Path) -> None:
    assert ad.LuceneSettings(stopwords=Path("stop.txt")) == ad.LuceneSettings(stopwords="stop.txt")
    for kind in (frozenset, iter):  # as other packages give stop words
        assert ad.LuceneSettings(stopwords=kind(["dogs"])).stopwords == ("dogs",)


@pytest.mark.parametrize("stated", [{"device": "cpu"}, {"threads": 1}])
def test_what_runs_nothing_is_refused(stated: Any, study: Path) -> None:
    weights = ad.TokenWeightSettings(weights="weights.jsonl")
    shell = partial(of_shell, "index docs.jsonl --weights weights.jsonl -o made/x")
    for door in (shell, lambda stated: ad.build_index("docs.jsonl", "x", weights, **stated)):
        assert "has no effect with" in str(result(door, stated))


def test_passages_are_those_of_the_fields_that_are_read(study: Path) -> None:
    corpus = ad.open_corpus("docs.jsonl", passages=3)
    index = ad.build_index(corpus, "passages", ad.MemorySettings(fields=["notes"]))
    assert index.docnos.to_list() == ["a#1", "a#2", "b#1"]
    run = ad.search(index, {"1": "four", "2": "seven"}, tag="notes")
    ad.write_run(run, "notes.trec")
    Path("two.tsv").write_text("1\tfour\n2\tseven\n")
    words = "rerank -r notes.trec -t two.tsv --corpus docs.jsonl --passages 3 --fields notes"
    assert main([*words.split(), "-m", MODEL, "-o", "again.trec"]) == 0
    again = ad.rerank(run, "two.tsv", corpus, MODEL, fields=["notes"], tag="again")
    assert again.frame["docno"].equals(ad.load_run("again.trec").frame["docno"])
