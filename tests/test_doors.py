"""The shell, an experiment file and Python give one index, one run, or all refuse."""

import inspect
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from every_command import load_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny import tiny_decoder

import adducir as ad
from adducir.cli.app import main
from adducir.cli.command import options_of
from adducir.cli.index import IndexOptions
from adducir.core.errors import AdducirError
from adducir.experiments.experiment import plan_experiment
from adducir.experiments.retrieval.fuse import Fusion
from adducir.experiments.retrieval.indexes import IndexEntry
from adducir.experiments.retrieval.rerank import Reranking
from adducir.experiments.retrieval.search import IndexSearch
from adducir.indexes.kinds import INDEXES
from adducir.indexes.search_settings import SearchSettings
from adducir.runs.kinds import FusionSettings, RerankSettings
from adducir.runs.write import read_metadata

CLASSES = {
    "lucene": ad.LuceneSettings,
    "memory": ad.MemorySettings,
    "weights": ad.TokenWeightSettings,
    "dense": ad.DenseSettings,
}
VALUES: dict[str, list[Any]] = {
    "fields": [["text"], ["notes"], ["notes ", "title"]],
    "language": ["en", "de", "pretokenized", "xx"],
    "stemmer": ["porter", "krovetz", "none", "lucene", "snowball"],
    "stopwords": ["lucene", "none", "stop.txt", "nosuch.txt", ["dogs", "cats"]],
    "accurate_length": [True, False],
    "positions": [True, False],
    "vectors": [True, False],
    "separate": [["title"], ["notes", "contents"]],
    "weights": ["weights.jsonl", "nosuch.jsonl"],
    "encoder": ["minilm", "nosuch/"],
    "kind": ["Flat", "HNSW8", "tree"],
    "parameters": ["efSearch=20"],
    "sample": [5, 0],
    "seed": [3, -1],
    "precision": ["bfloat16", "float16"],
    "pooling": ["mean", "sum"],
    "similarity": ["cosine", "euclid"],
    "query_prompt": ["query: "],
    "document_prompt": ["passage: "],
    "query_length": [32, 1],
    "document_length": [64, 0],
    "dimensions": [128, 0],
    "attention": ["bidirectional", "left"],
    "truncation_side": ["left", "top"],
    "end_token": [True],
    "special_tokens": [False],
    "pool_prompt": [False],
    "prompt_pair": [True],
    "query_padding": ["[MASK]"],
}
"""For each setting, values of which some are wrong."""
NEEDED = {"weights": {"weights": "weights.jsonl"}, "dense": {"encoder": "minilm"}}
ROWS = [
    {
        "docno": "a",
        "title": "Pets",
        "text": "Cats sleep.",
        "notes": "One two three. Four five six.",
    },
    {"docno": "b", "title": "Laws", "text": "Dogs run. Dogs bark.", "notes": "Seven eight nine."},
]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "experiments").mkdir()
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "stop.txt").write_text("dogs\n")
    tiny_decoder(folder / "decoder")
    (folder / "weights.jsonl").write_text('{"id": "a", "vector": {"cat": 2}}\n')
    (folder / "topics.tsv").write_text("1\tcats sleep\n2\tdogs bark\n")
    (folder / "qrels.txt").write_text("1 0 a 1\n2 0 b 1\n")
    return folder


def of_file(study: Path, entry: dict[str, Any], passages: int | None) -> str:
    file = study / "experiments" / "x.yaml"
    data = {
        "corpora": {"c": {"source": "docs.jsonl", **({"passages": passages} if passages else {})}},
        "indexes": {"x": {"corpus": "c", **entry}},
        "topics": {"t": {"source": "topics.tsv", "qrels": "qrels.txt"}},
        "systems": {"S": {"index": "x"}},
        "measures": ["RR"],
    }
    file.write_text(yaml.safe_dump(data))
    plan: Any = plan_experiment(file)
    return plan.study.indexes["x"].fingerprint


def words_of(recipe: Any, entry: dict[str, Any]) -> list[str]:
    options, words = options_of(recipe), list[str]()
    for key, value in entry.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        text = text.lower() if isinstance(value, bool) else text
        is_option = key in options and options[key].has_flag
        words += [str(options[key]), text] if is_option else ["--set", f"{key}={text}"]
    return words


def of_shell(entry: dict[str, Any], passages: int | None) -> str:
    words = ["docs.jsonl", "-o", "x"] + ([f"--passages={passages}"] if passages else [])
    words += words_of(IndexOptions, entry)
    stated = load_command("index").make_context("index", words).obj
    return stated.settings.fingerprint(stated.opened("docs.jsonl"))


def of_python(entry: dict[str, Any], passages: int | None) -> str:
    values = dict(entry)
    engine = values.pop("engine")
    # In files and in the shell, `engine: memory` with weights is the kind of token weights.
    engine = "weights" if engine == "memory" and "weights" in values else engine
    made = CLASSES[engine](**values)
    return made.fingerprint(ad.open_corpus("docs.jsonl", passages=passages))


def result(door: Any, *arguments: Any) -> Any:
    try:
        return door(*arguments)
    except AdducirError:
        return "refused"
    except Exception as error:
        if "click" in type(error).__module__:  # a wrong choice of an option
            return "refused"
        raise


def is_index_of_all(study: Path, entry: dict[str, Any], passages: int | None) -> bool:
    """Whether all doors take the settings of an index, which has one fingerprint."""
    made = {
        "file": result(of_file, study, entry, passages),
        "shell": result(of_shell, entry, passages),
        "Python": result(of_python, entry, passages),
    }
    assert len(set(made.values())) == 1, (entry, made)
    return made["file"] != "refused"


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    engine = draw(st.sampled_from(list(CLASSES)))
    own = [*CLASSES[engine].model_fields]
    keys = draw(st.lists(st.sampled_from(own), unique=True, max_size=4))
    keys += draw(st.lists(st.sampled_from(list(VALUES)), max_size=1))  # perhaps of another kind
    values = {key: draw(st.sampled_from(VALUES[key])) for key in keys}
    return {"engine": engine, **NEEDED.get(engine, {}), **values}


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(entry=entries(), passages=st.sampled_from([None, 2, 100]))
def test_the_doors_agree(study: Path, entry: Any, passages: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(study)
    is_index_of_all(study, entry, passages)


EXAMPLES: list[tuple[dict[str, Any], bool]] = [
    ({"engine": "lucene", "separate": ["title", "notes"]}, True),
    ({"engine": "lucene", "separate": ["notes", "contents"]}, False),
    ({"engine": "memory", "fields": ["notes "], "stopwords": ["dogs", "cats"]}, True),
    ({"engine": "lucene", "positions": False, "stopwords": "stop.txt"}, True),
    ({"engine": "weights", "weights": "weights.jsonl"}, True),
    ({"engine": "dense", "encoder": "minilm", "kind": "HNSW8", "sample": 5}, True),
    ({"engine": "memory", "positions": False}, False),
    ({"engine": "weights", "weights": "weights.jsonl", "stemmer": "krovetz"}, False),
    ({"engine": "weights", "weights": "weights.jsonl", "stopwords": "nosuch.txt"}, False),
    ({"engine": "memory", "weights": "nosuch.jsonl"}, False),
]


@pytest.mark.parametrize(("entry", "is_accepted"), EXAMPLES)
def test_what_the_doors_used_to_disagree_on(
    study: Path, entry: dict[str, Any], is_accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    assert is_index_of_all(study, entry, 2) is is_accepted


@pytest.mark.parametrize("name", list(CLASSES))
def test_every_setting_reaches_every_door(name: str, study: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(study)
    kind = INDEXES.kind(name)
    assert kind is CLASSES[name]
    for key in kind.model_fields:
        entry = {"engine": name, **NEEDED.get(name, {}), key: VALUES[key][0]}
        entry |= {key: "lucene"} if name == "weights" and key == "stemmer" else {}
        if key == "attention":  # of decoders alone
            entry |= {"encoder": "decoder", "pooling": "last", "similarity": "dot"}
        in_file = IndexEntry.model_validate({"corpus": "c", **entry}).settings
        assert type(in_file) is kind
        values = {one: value for one, value in entry.items() if one != "engine"}
        assert in_file == kind(**values), key
        fingerprints = [of_shell(entry, None), of_python(entry, None)]
        assert (
            fingerprints[0] == fingerprints[1] == in_file.fingerprint(ad.open_corpus("docs.jsonl"))
        )


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("sample", "1e3", 1000),
        ("sample", "0x10", 16),
        ("query_length", " 16.0 ", 16),
        ("seed", "7.5", None),
        ("sample", "nan", None),
        ("end_token", "1.0", True),
    ],
)
def test_numbers_are_read_as_in_files(
    key: str, text: str, value: Any, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    entry: dict[str, Any] = {"engine": "dense", "encoder": "minilm"}
    shell = result(of_shell, {**entry, key: text}, None)
    assert shell == result(of_file, study, {**entry, key: text}, None)
    expected = "refused" if value is None else of_python({**entry, key: value}, None)
    assert shell == expected


def test_paths_are_texts_in_python(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    assert ad.LuceneSettings(stopwords=Path("stop.txt")) == ad.LuceneSettings(stopwords="stop.txt")
    for kind in (frozenset, iter):  # as other packages give stop words
        assert ad.LuceneSettings(stopwords=kind(["dogs"])).stopwords == ("dogs",)
    for name in ("", "."):
        entry = {"engine": "dense", "encoder": name}
        assert result(of_shell, entry, None) == result(of_python, entry, None) == "refused"


ONE_TWO = {"1": {"a": 1.0, "b": 0.5}}
Fault = tuple[str, dict[str, Any], Callable[[], Any]]  # words of the shell, a file's keys, Python


def bad_corpus(source: str, **reading: Any) -> Fault:
    words = [f"--{key}={value}" for key, value in reading.items()]
    entries = {"corpora": {"c": {"source": source, **reading}}}
    build = lambda: ad.build_index(ad.open_corpus(source, **reading), "x")  # noqa: E731
    return " ".join(["index", source, "-o x", *words]), entries, build


def bad_index(words: str, kind: type[Any], **values: Any) -> Fault:
    entries = {"indexes": {"x": {"corpus": "c", "engine": kind.engine, **values}}}
    build = lambda: ad.build_index("docs.jsonl", "x", kind(**values))  # noqa: E731
    return f"index docs.jsonl --engine {kind.engine} {words} -o x", entries, build


def bad_topics(source: str) -> Fault:
    entries = {"topics": {"t": {"source": source, "qrels": "qrels.txt"}}}
    return f"search -i built -t {source} -o x.trec", entries, lambda: ad.load_topics(source)


def bad_qrels(source: str) -> Fault:
    entries = {"topics": {"t": {"source": "topics.tsv", "qrels": source}}}
    return f"evaluate run.trec -q {source}", entries, lambda: ad.load_qrels(source)


def bad_model(words: str, **values: Any) -> Fault:
    entries = {"systems": {"S": {"index": "x", **values}}}
    return f"search -i built -t topics.tsv {words} -o x.trec", entries, lambda: ad.BM25(**values)


FUSED = {"S": {"index": "x"}, "T": {"index": "x"}, "F": {"fuse": ["S", "T"], "k": -1}}
FAULTS: dict[str, Fault] = {
    "docno_field": bad_corpus("nodocno.jsonl"),
    "format": bad_corpus("several"),
    "passages": bad_corpus("stop.txt"),
    "quotes": bad_corpus("docs.jsonl", quotes="csv"),
    "positions": bad_index("--set positions=false", ad.MemorySettings, positions=False),
    "pooling": bad_index("--encoder decoder", ad.DenseSettings, encoder="decoder"),
    "qid_field": bad_topics("notopics.jsonl"),
    "query_field": bad_topics("unclear.jsonl"),
    "duplicates": bad_qrels("twice.txt"),
    "qrels_columns": bad_qrels("three.csv"),
    "k1": bad_model("--k1 -1", k1=-1),
    "mu": bad_model("--set mu=9", mu=9),
    "k": (
        "fuse run.trec built.trec --set k=-1 -o x.trec",
        {"systems": FUSED},
        lambda: ad.fuse([ONE_TWO, ONE_TWO], k=-1),
    ),
}
CALLED = {"query_field": "(field|query_field)", "qrels_columns": "columns"}


@pytest.fixture(scope="module")
def faulty(study: Path) -> Path:
    files = {
        "nodocno.jsonl": '{"text": "x"}\n',
        "several/a.jsonl": '{"docno": "a", "text": "x"}\n',
        "several/b.csv": "docno,text\nb,x\n",
        "notopics.jsonl": '{"text": "x"}\n',
        "unclear.jsonl": '{"qid": "1", "one": "big cats", "two": "small dogs"}\n',
        "twice.txt": "1 0 a 1\n1 0 a 2\n",
        "three.csv": "1,a,x\n",
        "run.trec": "1 Q0 a 1 1.0 run\n",
        "built.trec": "1 Q0 b 1 1.0 built\n",
    }
    for name, text in files.items():
        (study / name).parent.mkdir(exist_ok=True)
        (study / name).write_text(text)
    ad.build_index(study / "docs.jsonl", study / "built", ad.MemorySettings())
    return study


@pytest.mark.parametrize("key", FAULTS)
def test_each_door_names_a_setting_in_its_own_words(
    key: str, faulty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(faulty)
    words, entries, call = FAULTS[key]
    assert main(words.split()) in (2, 3)
    shell = capsys.readouterr().err
    options = options_of(load_command(words.split()[0]).recipe)
    typed = str(options.get(key, f"--set {key}"))
    assert re.search(rf"(?<![-\w]){typed}\b", shell), shell
    for name in {key, *options} - {"runs", "index"}:
        assert not re.search(rf"(?<![-\w.]){name}=(?!\w)|`{name}[`:=]", shell), shell
    of_file(faulty, {"engine": "memory"}, None)
    file = faulty / "experiments" / "x.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **entries}))
    told = []
    for door in (lambda: plan_experiment(file), call):
        with pytest.raises(AdducirError) as error:
            door()
        told.append(str(error.value))
    for message, name in zip(
        told,
        (CALLED.get(key, key) if key != "qrels_columns" else key, CALLED.get(key, key)),
        strict=True,
    ):
        assert not re.search(r"(?<![-\w])--[a-z]", message), message
        assert re.search(rf"`([\w.]+\.)?{name}\b", message), message


SEARCHES: dict[str, list[Any]] = {
    "model": ["bm25", "qld", "impact", "bm52"],
    "feedback": ["rm3", "bo1", "rm4"],
    "fold": ["maxp", "SUMP", "best"],
    "k1": [1.5, "much"],
    "b": [0.7, 2],
    "mu": [10.0],
    "fb_docs": [1, 0],
    "fb_terms": [2],
    "boosts": [{"text": 2.0}, {"text": -1.0}],
    "depth": [1, "all", 0],
}
"""For each key of a search, values of which some are wrong."""
FUSIONS: dict[str, list[Any]] = {
    "method": ["rrf", "combsum", "borda", "rff"],
    "weights": [[1, 2], [0, 0], [1], [1, -1]],
    "k": [1, -1],
    "normalise": ["max", "sum", "median"],
    "depth": [1, "all", 0],
}
RERANKS: dict[str, list[Any]] = {
    "depth": [1, 2, 0],
    "fold": ["maxp", "best"],
    "fields": [["notes "], ["nosuch"]],
}


@pytest.fixture(scope="module")
def ranked(study: Path) -> Path:
    """The study with an index of passages, and two runs of it."""
    corpus = ad.open_corpus(str(study / "docs.jsonl"), passages=3)
    index = ad.build_index(corpus, study / "parts", ad.MemorySettings(fields=["notes", "text"]))
    for model in ("bm25", "qld"):
        run = ad.search(index, study / "topics.tsv", model, tag=model)
        ad.write_run(run, study / f"{model}.trec")
    return study


def search(**stated: Any) -> ad.Run:
    settings = {"depth": 2} | {key: stated.pop(key) for key in SETTINGS & stated.keys()}
    return ad.search("parts", "topics.tsv", parameters=stated, **settings)


SETTINGS = {"model", "feedback", "fold", "tag", "depth"}
MODEL = "maxsim:minilm"
RUNS: dict[str, tuple[str, dict[str, Any], Callable[..., ad.Run]]] = {
    "search": ("-i parts -t topics.tsv --depth 2", {"index": "parts"}, search),
    "fuse": (
        "bm25.trec qld.trec --depth 2",
        {"fuse": ["bm25", "qld"]},
        lambda **stated: ad.fuse(["bm25.trec", "qld.trec"], **{"depth": 2, **stated}),
    ),
    "rerank": (
        f"-r bm25.trec -t topics.tsv -i parts --reranker {MODEL}",
        {"rerank": "bm25", "reranker": MODEL, "texts": "parts"},
        partial(ad.rerank, "bm25.trec", "topics.tsv", "parts", MODEL),
    ),
}
"""Of each command, its words, an entry of a file that does the same, and a function."""


def is_accepted_by_all(name: str, settings: dict[str, Any]) -> bool:
    """Whether all doors take settings and make one run of them, or all refuse them."""
    words, entry, call = RUNS[name]

    def of_file() -> Path:
        data = {
            "corpora": {"c": {"source": "docs.jsonl", "passages": 3}},
            "indexes": {"parts": {"corpus": "c", "engine": "memory", "fields": ["notes", "text"]}},
            "topics": {"t": {"source": "topics.tsv", "qrels": "qrels.txt"}},
            "systems": {"S": {**entry, **settings}},
            "depth": 100 if name == "rerank" else 2,
            "measures": ["RR"],
        }
        data["systems"] |= {name: {"run": f"{name}.trec"} for name in ("bm25", "qld")}
        Path("experiments/doors.yaml").write_text(yaml.safe_dump(data))
        ad.experiment("experiments/doors.yaml", threads=1)
        return Path("runs/doors/S.t.trec.gz")

    def of_shell() -> Path:
        command = load_command(name)
        options = [*words.split(), *words_of(command.recipe, settings)]
        options += ["--tag", "S", "-o", "shell.trec.gz", "--force"]
        with command.make_context(name, options) as context:
            command.invoke(context)
        return Path("shell.trec.gz")

    def of_python() -> Path:
        ad.write_run(call(tag="S", **settings), "python.trec.gz")
        return Path("python.trec.gz")

    paths = [result(door) for door in (of_file, of_shell, of_python)]
    made = [path if path == "refused" else path.read_bytes() for path in paths]
    assert len(set(made)) == 1, (name, settings, made)
    if name == "search" and "refused" not in paths:
        file, shell, python = map(read_metadata, paths)
        assert file["method"] == shell["method"] == python["method"]
        assert shell["data"] == python["data"]
    return "refused" not in paths


def some_of(name: str, values: dict[str, list[Any]]) -> st.SearchStrategy[Any]:
    optional = {key: st.sampled_from(choices) for key, choices in values.items()}
    drawn = st.fixed_dictionaries({}, optional=optional)
    return st.tuples(st.just(name), drawn.filter(lambda settings: len(settings) < 5))


@pytest.mark.slow
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    drawn=st.one_of(
        some_of("search", SEARCHES), some_of("fuse", FUSIONS), some_of("rerank", RERANKS)
    )
)
def test_the_doors_make_one_run(ranked: Path, drawn: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(ranked)
    is_accepted_by_all(*drawn)


@pytest.mark.parametrize(
    ("name", "settings", "is_accepted"),
    [
        ("search", {"model": "qld", "mu": 10.0, "feedback": "rm3", "fb_docs": 1}, True),
        ("search", {"fold": "SUMP", "k1": 1.5}, True),
        ("search", {"fb_docs": 1}, False),
        ("search", {"k1": "much"}, False),
        ("fuse", {"method": "combsum", "weights": [1, 2], "normalise": "sum"}, True),
        ("fuse", {"method": "combsum", "weights": [1, -1]}, False),
        ("rerank", {"depth": 2, "fold": "maxp", "fields": ["notes "]}, True),
        ("search", {"depth": "all"}, True),
        ("search", {"boosts": {"titel": 2.0}}, False),
        ("rerank", {"fields": ["nosuch"]}, False),
    ],
)
def test_runs_that_all_doors_make_or_refuse(
    ranked: Path, name: str, settings: Any, is_accepted: bool, monkeypatch: Any
) -> None:
    monkeypatch.chdir(ranked)
    assert is_accepted_by_all(name, settings) is is_accepted


def test_former_names_are_still_read(ranked: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(ranked)
    words, _, call = RUNS["rerank"]
    entry = {"rerank": "bm25", "by": MODEL, "texts": "parts"}
    monkeypatch.setitem(RUNS, "rerank", (words.replace("--reranker", "--model"), entry, call))
    assert is_accepted_by_all("rerank", {})


@pytest.mark.parametrize(
    ("kind", "command", "entry", "function"),
    [
        (SearchSettings, "search", IndexSearch, ad.search),
        (FusionSettings, "fuse", Fusion, ad.fuse),
        (RerankSettings, "rerank", Reranking, ad.rerank),
    ],
)
def test_every_setting_is_an_option_a_key_and_an_argument(
    kind: Any, command: str, entry: Any, function: Any
) -> None:
    arguments = inspect.signature(function).parameters
    options = options_of(load_command(command).recipe)
    for key, field in kind.model_fields.items():
        assert key in options
        assert key in entry.model_fields
        if key == "parameters":
            assert arguments.keys() & {key, "hyperparameters"}
        elif not field.is_required():
            assert (arguments[key].default or ()) == (field.default or ()), key
    for key in ("k1", "b") if command == "search" else ():
        assert options[key].shown == str(ad.BM25.model_fields[key].default)


def test_the_default_model_is_the_index_s(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    of_file(study, {"weights": "weights.jsonl"}, None)
    plan: Any = plan_experiment(Path("experiments/x.yaml"))
    assert plan.study.recipe.systems["S"].model == "impact"
    weights = ad.TokenWeightSettings(weights="weights.jsonl")
    assert ad.search(ad.build_index("docs.jsonl", "w", weights), {"1": "cat"}).tag == "impact"
    assert main(["search", "-i", "w", "-t", "topics.tsv", "-o", "weights.trec"]) == 0
    retrieval = read_metadata(Path("weights.trec"))["method"]["retrieval"][0]
    assert retrieval["model"] == "impact"


def test_passages_are_those_of_the_fields_that_are_read(study: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(study)
    corpus = ad.open_corpus("docs.jsonl", passages=3)
    index = ad.build_index(corpus, "passages", ad.MemorySettings(fields=["notes"]))
    assert index.docnos.to_list() == ["a#1", "a#2", "b#1"]
    run = ad.search(index, {"1": "four", "2": "seven"}, tag="notes")
    ad.write_run(run, "notes.trec")
    Path("two.tsv").write_text("1\tfour\n2\tseven\n")
    words = "rerank -r notes.trec -t two.tsv --corpus docs.jsonl --passages 3 --fields notes"
    assert main([*words.split(), "-m", "maxsim:minilm", "-o", "again.trec"]) == 0
    again = ad.rerank(run, "two.tsv", corpus, "maxsim:minilm", fields=["notes"], tag="again")
    assert again.frame["docno"].equals(ad.load_run("again.trec").frame["docno"])
