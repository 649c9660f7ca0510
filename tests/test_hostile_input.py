"""No file ends a reader in anything but an error of Adducir's own, or keeps it busy for long."""

import json
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adducir.annotations.multiple_choice import read_choices, read_key
from adducir.annotations.ratings import read_ratings
from adducir.core.config import load
from adducir.core.errors import AdducirError, InputError
from adducir.core.json_lines import json_object
from adducir.corpora.formats import CACM, TSV, CorpusFormat, read_jsonl
from adducir.corpora.qrels import load_qrels
from adducir.corpora.spans import read_spans
from adducir.corpora.token_weights import read_token_weights
from adducir.corpora.topics import load_topics
from adducir.corpora.trec import TREC
from adducir.deepct.terms import stop_words
from adducir.evaluation.gold_ranks import read_ranks
from adducir.experiments.tuning.design import JudgedTopics, TopicPool, from_file
from adducir.runs.check import check
from adducir.runs.read import read_run
from adducir.runs.write import read_metadata
from adducir.studies.complementary_evidence.builders import read_hotpotqa, read_mnli
from adducir.studies.complementary_evidence.questions import read_questions, read_selected
from adducir.studies.exemplification.extraction import Tally, extract_examples
from adducir.studies.exemplification.texts import read_texts
from adducir.studies.grounded_generation.builders import (
    cut_page,
    read_kilt,
    read_nlgen,
    read_pages,
    read_passages,
)
from adducir.studies.grounded_generation.texts import read_contexts, read_generated, read_references
from adducir.studies.literary_evidence.ask import open_book
from adducir.studies.literary_evidence.relic import pool_tasks, read_relic
from adducir.studies.literary_evidence.sources import read_source


class Reader(NamedTuple):
    """A reader: what its files are called, one that it reads, and how it is called."""

    name: str
    file: str
    sample: str
    read: Callable[[Path], object]


def _all(read: Callable[..., Iterable[Any]]) -> Callable[[Path], object]:
    return lambda path: list(read(path))


def _folds(path: Path) -> object:
    topics, qrels = path.with_name("judged.tsv"), path.with_name("judged.qrels")
    topics.write_text("q1\tcats\n2\tdogs\nq3\tbirds\n")
    qrels.write_text("q1 0 d1 1\n2 0 d1 1\nq3 0 d1 1\n")
    return from_file(
        TopicPool.of([JudgedTopics("t", load_topics(topics), load_qrels(qrels))]), path
    )


def _by(reader: CorpusFormat) -> Callable[[Path], Iterable[Any]]:
    return lambda path: reader.read(path, None, path.parent)


def _beside(name: str, read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Read a file that belongs to the one of another name."""
    return lambda path: read(path.with_name(path.name.removesuffix(name)))


def _pools(path: Path) -> object:
    (path.parent / "corpus.jsonl").write_text('{"_id": "p1", "text": "A."}\n', encoding="utf-8")
    (path.parent / "qrels.txt").write_text("q1 0 p1 1\n", encoding="utf-8")
    return list(pool_tasks(path.parent))


def _ranks(path: Path) -> object:
    return read_ranks(path, "s")


def _choices(path: Path) -> object:
    key = path.with_name("key.csv")
    key.write_text(_KEY, encoding="utf-8")
    return read_choices(path, read_key(key), "anna")


def _cut(path: Path) -> object:
    return [passage for page in read_pages(path) for passage in cut_page(page, 2)]


_PASSAGE = (
    '{"id": "7-1", "title": "T", "text": "a b", "wikipedia_id": "7", "start_paragraph_id": 1, '
    '"start_character": 0, "end_paragraph_id": 1, "end_character": 3}\n'
)
_KILT = (
    '{"id": "d_1", "input": "a\\nb", "output": [{"answer": "c", "provenance": [{"wikipedia_id": '
    '"7", "start_paragraph_id": 1, "start_character": 0, "end_paragraph_id": 1, '
    '"end_character": 3}]}]}\n'
)
_NLGEN = (
    '{"passages": {"0": [{"is_selected": 1, "passage_text": "a b"}]}, "query": {"0": "q"}, '
    '"query_id": {"0": 7}, "wellFormedAnswers": {"0": ["A."]}}'
)
_ARRAY = [
    {
        "_id": "q1",
        "question": "Who?",
        "supporting_facts": [["A", 0]],
        "context": [["A", ["One.", "Two."]], ["B", ["Three."]]],
        "answer": "One",
    }
]
_RELIC = json.dumps(
    {"A book": {"quotes": {"1": [["l"], 0, 1, ["r"]]}, "sentences": ["One."] * 100}}
)
_RANK = '{"qid": "q", "rank": 1, "candidates": 2}\n'
_KEY = "item,gold,group,docno_1,docno_2,task\nq1,1,g,d1,d2,m\n"
_BOOK = (
    "Title: A Book\n\n*** START OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n\nProduced by A. B.\n\n"
    "CHAPTER I\n\nSome fish live in salt and in fresh water (e.g. flounder). It was, for example,\n"
    "the best of times; it was the worst ... of times [1]. “So it is,” he said (Austen 45).\n\n"
    "*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n"
)
_TREC = "<DOC>\n<DOCNO>d1</DOCNO>\n<TITLE>A &amp; b</TITLE>\n<TEXT>c <!-- d --> e</TEXT>\n</DOC>\n"
_XML = (
    "<?xml version='1.0'?><topics><topic><number>1</number><title>A &amp;</title></topic></topics>"
)
_CLASSIC = "<top>\n<num> Number: 301\n<title> A b\n<desc> Description:\nc &amp; d\n</top>\n"
_JSONL = '{"id": "d1", "title": "A", "text": "b c", "year": 1999, "tags": ["x"]}\n'
_QUESTION = {
    "id": "q1",
    "question": "Who?",
    "passages": [{"id": "p1", "title": "A", "text": "b"}, {"id": "p2", "title": "", "text": "c"}],
    "gold": [[0]],
    "sets": [{"members": [0, 1], "label": True}],
}
_SPAN = {"id": "s1", "group": "g", "left": ["a"], "span": ["b"], "right": [], "extra": {"x": [1]}}
_ELI5 = {"q_id": "q", "title": "T?", "answers": {"a_id": ["a"], "text": ["It is, e.g. this."]}}
_CACM = {"docid": "CACM-1", "contents": "a < b", "html_text": "a\n1\t5\t1"}
_MNLI = {"sentence1": "A b", "sentence2": "c d", "gold_label": "entailment"}
_YAML = "a: 1\nb: {c: [1.5, yes, ~, 'x'], d: &e text}\nf: *e\ng: |\n  line\n  line\n"


def _line(value: object) -> str:
    return json.dumps(value) + "\n"


READERS = (
    Reader("topics in XML", "topics.xml", _XML, load_topics),
    Reader("classic topics", "topics.txt", _CLASSIC, load_topics),
    Reader("topics as JSON lines", "topics.jsonl", '{"qid": "1", "query": "a b"}\n', load_topics),
    Reader("topics as TSV", "topics.tsv", "qid\tquery\n1\ta b\n2\tc\n", load_topics),
    Reader("topics as documents", "topics.trec", _TREC, load_topics),
    Reader("TREC documents", "a.trec", _TREC, _all(_by(TREC()))),
    Reader("documents as JSON lines", "a.jsonl", _JSONL, _all(read_jsonl)),
    Reader("documents as TSV", "a.tsv", "docno\ttext\nd1\ta b\n", _all(_by(TSV()))),
    Reader("CACM", "cacm.jsonl", _line(_CACM), _all(_by(CACM()))),
    Reader("qrels", "qrels.txt", "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 -1\n", load_qrels),
    Reader(
        "predictions (MTEB)",
        "a_predictions.json",
        '{"mteb_model_meta": {"model_name": "m"}, "default": {"test": {"q1": {"d1": 0.5}}}}',
        read_run,
    ),
    Reader(
        "predictions (sentence-transformers)",
        "a.jsonl",
        '{"query_id": "q1", "query": "x", "results": [{"corpus_id": "d1", "score": 0.5}]}\n',
        read_run,
    ),
    Reader("run", "a.trec.gz.txt", "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1e-3 t\n", read_run),
    Reader(
        "run to check",
        "b.trec",
        "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1e-3 t\n",
        lambda path: check([path]),
    ),
    Reader(
        "metadata",
        "a.trec.ir-metadata.yml",
        "ir_metadata.start\ntag: a\nplatform: {os: [x]}\nir_metadata.end\n",
        _beside(".ir-metadata.yml", read_metadata),
    ),
    Reader("recipe", "a.yaml", _YAML, load),
    Reader("settings", "settings.json", _line({"a": [1]}), json_object),
    Reader("book to ask", "ask.txt", _BOOK, open_book),
    Reader("primary source", "primary.txt", _BOOK, read_source),
    Reader("work of criticism", "work.txt", _BOOK, lambda path: read_source(path, is_work=True)),
    Reader(
        "examples in a book",
        "examples.txt",
        _BOOK,
        lambda path: list(extract_examples(read_texts([path]), Tally())),
    ),
    Reader(
        "examples in answers",
        "answers.jsonl",
        _line(_ELI5),
        lambda path: list(extract_examples(read_texts([path]), Tally())),
    ),
    Reader("masked spans", "spans.jsonl", _line(_SPAN), _all(read_spans)),
    Reader("RELiC", "relic.json", _RELIC, read_relic),
    Reader("pools", "queries.jsonl", '{"qid": "q1", "text": "a [masked sentence(s)] b"}\n', _pools),
    Reader("HotpotQA", "hotpot.json", json.dumps(_ARRAY), _all(read_hotpotqa)),
    Reader("MNLI", "mnli.jsonl", _line(_MNLI), _all(read_mnli)),
    Reader("questions", "questions.jsonl", _line(_QUESTION), _all(read_questions)),
    Reader(
        "selected sets", "chosen.jsonl", '{"id": "q1", "chosen": ["p1"]}\n', _all(read_selected)
    ),
    Reader("ranks", "a.tsv", "qid\trank\tcandidates\nq1\t1\t9\nq2\t\t9\n", _ranks),
    Reader("ranks as JSON lines", "a.ranks.jsonl", _RANK, _ranks),
    Reader("ratings", "a.csv", 'item,rater,system,rating\n"q,1",a,s,1\nq2,a,s,2\n', read_ratings),
    Reader("key", "key.csv", _KEY, read_key),
    Reader("choices", "anna.csv", "item,context,choice,task\nq1,a b,1,m\n", _choices),
    Reader("choices as JSON lines", "b.jsonl", '{"item": "q1", "choice": 2}\n', _choices),
    Reader("folds", "folds.json", '[["q1", 2], ["q3"]]', _folds),
    Reader(
        "weights", "pairs.jsonl", '{"docno": "d1", "weights": {"a": 1}}\n', _all(read_token_weights)
    ),
    Reader("contexts", "contexts.jsonl", '{"id": "1", "input": "a"}\n', _all(read_contexts)),
    Reader(
        "pages", "p.jsonl", '{"_id": "7", "wikipedia_title": "T", "text": ["T", "A. b"]}\n', _cut
    ),
    Reader("passages", "passages.jsonl", _PASSAGE, _all(read_passages)),
    Reader("KILT", "wow.jsonl", _KILT, _all(read_kilt)),
    Reader("NLGen", "dev.json", _NLGEN, read_nlgen),
    Reader(
        "generated texts", "g.jsonl", '{"id": "1", "outputs": [{"text": "a"}]}\n', read_generated
    ),
    Reader("KILT's predictions", "k.jsonl", _KILT, read_generated),
    Reader("references", "r.jsonl", '{"query_id": 1, "answers": ["a", "b"]}\n', read_references),
    Reader("stop list", "stop.txt", "the\nand\n", stop_words),
)
"""All of them; each reads its sample without an error."""


DEEP = "[" * 3000 + "]" * 3000
TOKENS = (
    *("9" * 5000, "-" + "9" * 400, "1" * 25, "1e400", "NaN", "-Infinity", "²", "٣", "1_000", "-0"),
    *(DEEP, '{"a":' * 2000 + "1" + "}" * 2000, "[" * 150 + "]" * 150, "(" * 300, "- " * 300),
    *("\r", "\0", "\t", "\t" * 200, "\n", "\x0c", "\x1b[2J", "\u2028", "\x85", "\u202e", "\ufeff"),
    *("\\ud800", '"\\ud800"', "x" * 140_000, '"', "'", "null", "true", "[]", "{}", "=", "-"),
    *("&#xD800;", "&#99999999999;", "<!DOCTYPE a>", "]]>", "<topic>", "</top>", "<DOC>", "<num>"),
    *("!!python/object:os.system x", "&a [*a]", "<<: *a", "? [a]: b", "--- a\n--- b\n", "0x", "~"),
)

readers = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


def attempt(reader: Reader, folder: Path, text: str) -> None:
    path = folder / reader.file
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        reader.read(path)
    except AdducirError as error:
        assert error.exit_code in (2, 3)


def mutated(text: str, draw: random.Random) -> str:
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(len(text) + 1)
        end = min(len(text), place + draw.choice((0, 1, 5, 20)))
        words = [found.span() for found in re.finditer(r'"[^"]*"|[\w.]+', text)]
        kind = draw.randrange(6)
        if kind == 0:
            text = text[:place] + text[end:]
        elif kind == 1:
            text = text[:place] + text[place:end] * draw.choice((2, 50)) + text[end:]
        elif kind == 2:
            text = text[:place] + chr(draw.randrange(0x250)) + text[end:]
        elif kind == 3 or not words:
            text = text[:place] + draw.choice(TOKENS) + text[end:]
        else:
            first, past = draw.choice(words)
            text = text[:first] + draw.choice(TOKENS) + text[past:]
    return text


@readers
def test_the_samples_are_read(reader, tmp_path):
    path = tmp_path / reader.file
    path.write_text(reader.sample, encoding="utf-8")
    reader.read(path)


@readers
def test_every_token_at_every_place_is_read_or_refused(reader, tmp_path):
    words = [found.span() for found in re.finditer(r'"[^"]*"|[\w.]+', reader.sample)]
    draw = random.Random(reader.name)
    for token in TOKENS:
        first, past = draw.choice(words)
        attempt(reader, tmp_path, reader.sample[:first] + token + reader.sample[past:])


@readers
def test_random_changes_are_read_or_refused(reader, tmp_path):
    draw = random.Random(f"changes of {reader.name}")
    for _ in range(12):
        attempt(reader, tmp_path, mutated(reader.sample, draw))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("folds", f"[\n{DEEP}]", 2),
        ("HotpotQA", f'[\n{{"_id": {DEEP}}}]', 2),
        ("metadata", f"tag: a\nb: {DEEP}", 2),
        ("recipe", "a: 1\nb: " + "9" * 5000, 2),
        ("recipe", "a: 1\nb: " + "9" * 400, 2),
        ("ranks", "", None),
        ("ranks", "qid\trank\tcandidates\n", None),
        ("ranks", "qid\trank\nq\t1\n", 1),
        ("ranks", "qid\trank\tcandidates\n\nq\t1.5\t5\n", 3),
        *(
            ("ranks", f"qid\trank\tcandidates\n{row}\n", 2)
            for row in ("q\t1", "q\t0\t5", "q\t6\t5", "\t2\t5", f"q\t{'9' * 30}\t2")
        ),
        ("ranks", "qid\trank\tcandidates\nq\t1\t5\nq\t2\t5\n", 3),
        *(("ranks", f"qid\trank\tcandidates\trouge_l\nq\t2\t5\t{x}\n", 2) for x in ("x", "1.5")),
        ("ranks", '{"qid": 1, "rank": 1}\n', 1),
        ("ranks", '{"qid": 2, "rank": 1, "candidates": 3}\n[1]\n', 2),
        ("ranks", '{"qid": 2, "rank": 1, "candidates": 3, "a": 1}\n' + _RANK, 2),
        ("ratings", "", None),
        ("ratings", "item,rater,system,rating,item\n", 1),
        ("ratings", "item,rater,system,rating\ni,r,s\n", 2),
        ("ratings", "item,rater,system,rank\ni,r,s,0\n", 2),
        ("ratings", "item,rater,system,rating\ni,r,s,1\ni,r,t,1\ni,r,s,2\n", 4),
        ("ratings", 'item,rater,system,rating\ni,r,"s,1\n', 2),
        ("choices", "item,choice\nq1,4\n", 2),
        ("choices", "item,choice\nq1,b\n", 2),
        ("choices", "item,choice\nq1,1\nq1,2\n", 3),
        ("choices", "item\nq1\n", 1),
        ("key", "item,gold,docno_1,docno_2,task\n", None),
        ("key", "item,gold,docno_1,docno_2,task\nq,3,a,b,m\n", 2),
        ("key", "item,gold,docno_1,docno_2,task\nq,1,a,,m\n", 2),
        ("key", "item,gold,docno_1,docno_2,task\nq,1,a,b,m\nq,1,a,b,m\n", 3),
        ("key", "item,gold,docno_1,docno_2,task\nq,1,a,b,m\nr,1,a,b,n\n", 3),
        ("documents as JSON lines", f'{{"id": "d", "x": {DEEP}}}', 1),
        ("key", "item,gold,docno_1,docno_2,task\nq,²,a,b,m\n", 2),
    ],
)
def test_what_cannot_be_used_is_named(name, text, line, tmp_path):
    (reader,) = (one for one in READERS if one.name == name)
    path = tmp_path / reader.file
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        reader.read(path)
    assert caught.value.path == path
    assert caught.value.line == line
