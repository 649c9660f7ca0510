"""Examples of a corpus: what is made, left out, counted and held out."""

import tracemalloc
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from plain_corpus import PlainCorpus, pieces_of_three

from adducir.core.errors import InputError, UsageError
from adducir.core.names import Seen
from adducir.corpora.documents import refuse_duplicates
from adducir.corpora.qrels import Qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics
from adducir.deepct.cutting import cutter
from adducir.deepct.examples import Counts, Example, ExampleSettings, examples
from adducir.deepct.recipe import DeepCTRecipe
from adducir.deepct.splitting import Divided, Divider
from adducir.deepct.stopwords import stop_words
from adducir.deepct.supervision import FromFields, FromTopics, Supervision
from adducir.deepct.targets import Matcher
from adducir.deepct.words import basic_words, words
from adducir.models.machine import seed_of
from adducir.training.leaks import NOBODY, Excluded, Without, excluded

ENGLISH = stop_words("english")
CONCLUSION = FromFields(("conclusion",))
PREMISE = ExampleSettings(text_fields=("premise",), length=4, unit="words")

CORPUS = PlainCorpus(
    ("D1", {"topic": "Guns", "conclusion": "Ban guns", "premise": "Guns kill the people. A ban!"}),
    ("D2", {"topic": "Guns", "conclusion": "Is it?", "premise": "It is."}),
    ("D3", {"topic": "Tax", "conclusion": "", "premise": "Nothing is said."}),
    ("D4", {"topic": "Tax", "conclusion": "Tax more", "premise": "States need the money."}),
    ("D5", {"topic": "Tax", "conclusion": "Cut taxes", "premise": "?!"}),
    ("D6", {"topic": "Guns", "conclusion": "Guns", "premise": "guns KILL\nthe people. a ban!"}),
)


def made(
    corpus: Any = CORPUS,
    settings: ExampleSettings = PREMISE,
    supervision: Supervision = CONCLUSION,
    out: Excluded = NOBODY,
) -> SimpleNamespace:
    counts = Counts()
    matcher = Matcher(ENGLISH, keys=settings.keys)
    cut = cutter(settings, matcher, pieces_of_three)
    found = examples(corpus, settings, supervision, matcher, cut, counts, excluded=out)
    return SimpleNamespace(examples=list(found), counts=counts)


def test_by_hand() -> None:
    found = made()
    assert found.examples[:3] == [
        Example("D1", 0, "Guns kill the people.", (1, 0, 0, 0), (False, False, True, False), "D1"),
        Example("D1", 1, "A ban!", (0, 1), (True, False), "D1"),
        Example("D4", 0, "States need the money.", (0,) * 4, (False, False, True, False), "D4"),
    ]
    assert found.counts.record() == {
        "documents": 6,
        "excluded": 0,
        "excluded_by_source": {},
        "copies": 0,
        "without_reference": 2,
        "passages": 6,
        "without_words": 1,
        "without_positive": 2,
        "examples": 5,
        "words": 16,
        "stop_words": 5,
        "positives": 3,
    }


def test_passages_without_a_positive_can_be_dropped() -> None:
    found = made(settings=replace(PREMISE, keep_empty=False))
    assert [(one.docno, one.number) for one in found.examples] == [("D1", 0), ("D1", 1), ("D6", 0)]
    assert found.counts.without_positive == 2
    assert found.counts.examples == 3
    assert found.counts.words == 10


def test_topic_and_conclusion() -> None:
    found = made(supervision=FromFields(("topic", "conclusion")))
    assert found.counts.without_reference == 0
    by_docno = {one.docno: one for one in found.examples}
    assert set(by_docno) == {"D1", "D2", "D3", "D4", "D6"}


def test_targets_are_aligned_in_both_ways() -> None:
    corpus = PlainCorpus(("D1", {"conclusion": "E-mail", "premise": "The e-mail's café, don't…"}))
    (ours,) = made(corpus).examples[:1]
    assert len(ours.targets) == len(ours.is_stop) == len(words(ours.text))
    settings = ExampleSettings(("premise",), keys="original")
    (original,) = made(corpus, settings).examples
    assert len(original.targets) == len(original.is_stop) == len(basic_words(original.text))


def test_lengths_in_pieces() -> None:
    found = made(settings=ExampleSettings(("premise",), length=8))
    assert max(pieces_of_three([one.text])[0] for one in found.examples) <= 8
    assert found.counts.passages > 5


def test_query_term_recall_of_topics() -> None:
    topics = Topics(["1", "2", "3"], ["ban guns", "gun deaths", "taxes"], "topics")
    rows = [("1", "D1", 2), ("2", "D1", 1), ("3", "D1", 0), ("3", "D4", 1), ("9", "D6", 2)]
    qrels = Qrels(pl.DataFrame(rows, schema=["qid", "docno", "grade"], orient="row"), "qrels")
    supervision = FromTopics.of(topics, qrels)
    found = made(supervision=supervision)
    assert [(one.docno, one.targets) for one in found.examples] == [
        ("D1", (1.0, 0.0, 0.0, 0.0)),
        ("D1", (0.0, 0.5)),
        ("D4", (0.0, 0.0, 0.0, 0.0)),
    ]
    assert found.counts.without_reference == 4
    assert supervision.identity() != FromTopics.of(topics, qrels, grade=2).identity()
    with pytest.raises(InputError, match="judges no document 3 or better"):
        FromTopics.of(topics, qrels, grade=3)


def test_leak_control_leaves_documents_and_their_copies_out() -> None:
    out = Excluded({"a": frozenset({"D1", "D99"}), "b": frozenset({"D77"})})
    found = made(out=out)
    assert {one.docno for one in found.examples} == {"D4"}  # D6 says what D1 says
    assert (found.counts.excluded, found.counts.copies) == (1, 1)
    assert found.counts.excluded_by_source == {"a": 1, "b": 0}
    assert found.counts.warnings() == [
        "b names no document of the corpus: are its docnos of another version?"
    ]
    kept = made(settings=replace(PREMISE, drop_copies=False), out=out)
    assert {one.docno for one in kept.examples} == {"D4", "D6"}
    assert kept.counts.copies == 0


def test_empty_texts_are_no_copies() -> None:
    corpus = PlainCorpus(
        ("D1", {"conclusion": "x", "premise": ""}),
        ("D2", {"conclusion": "x", "premise": " "}),
        ("D3", {"conclusion": "x", "premise": "x"}),
    )
    found = made(corpus, out=Excluded({"a": frozenset({"D1"})}))
    assert found.counts.copies == 0
    assert found.counts.without_words == 1


def test_errors() -> None:
    with pytest.raises(UsageError, match="'conclusion' is in the text as well as the reference"):
        made(settings=replace(PREMISE, text_fields=("conclusion", "premise")))
    with pytest.raises(InputError, match=r"no document has a field 'title'.* conclusion, premise"):
        made(settings=replace(PREMISE, text_fields=("premise", "title")))
    with pytest.raises(InputError, match="no document has a field 'debate'"):
        made(settings=replace(PREMISE, group="debate"))
    with pytest.raises(InputError, match="no training example is left: 6 are left out"):
        made(out=Excluded({"a": frozenset(f"D{i}" for i in range(9))}))
    twice = PlainCorpus(("D1", {"premise": "a"}), ("D1", {"premise": "b"}))
    with pytest.raises(InputError, match="'D1' comes twice"):
        made(twice)


def test_a_hash_that_two_docnos_share_is_no_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seen, "add", lambda *_: True)
    one, two = ("a", {"premise": "x"}), ("b", {"premise": "y"})
    assert [d.docno for d in refuse_duplicates(PlainCorpus(one, two))] == ["a", "b"]
    with pytest.raises(InputError, match="'b' comes twice"):
        list(refuse_duplicates(PlainCorpus(one, two, two)))


def numbered(count: int) -> list[Example]:
    return [Example(f"D{i // 2}", i % 2, "x", (0.0,), (False,), f"T{i // 8}") for i in range(count)]


RECIPE: dict[str, Any] = {
    "corpus": {"source": "c"},
    "text": "premise",
    "reference": "conclusion",
}


def parts_of(every: list[Example], **keys: Any) -> Divided:
    """The numbers of the examples of each part."""
    divider = Divider(DeepCTRecipe(**{**RECIPE, **keys}))
    for one in every:
        divider.add(one.docno, one.number, one.group, has_target=one.number % 2 == 0)
    return divider.divided(7, 30)


def plain_split(
    every: list[Example], rows: list[int], share: float, seed: int, by: str
) -> tuple[list[int], list[int]]:
    """Hold out by sorted hashes of whole names, held in memory."""
    names = {row: every[row].group if by == "group" else every[row].docno for row in rows}
    different = sorted(
        {*names.values()}, key=lambda name: sha256(f"{seed}\0{name}".encode()).digest()
    )
    held = {*different[: max(1, round(share * len(different))) if share else 0]}
    return (
        [row for row in rows if names[row] not in held],
        [row for row in rows if names[row] in held],
    )


def plain_sample(every: list[Example], rows: list[int], most: int | None, seed: int) -> list[int]:
    """The examples whose names' hashes come first."""
    key = {row: f"{seed}\0{every[row].docno}\0{every[row].number}".encode() for row in rows}
    return sorted(sorted(rows, key=lambda row: sha256(key[row]).digest())[:most])


@pytest.mark.parametrize("by", [None, "topic"])
@pytest.mark.parametrize("test", [0.0, 0.3])
@pytest.mark.parametrize("most", [None, 50])
def test_parts_are_those_of_sorted_names(by: str | None, test: float, most: int | None) -> None:
    every = numbered(400)
    held = {"share": 0.2, "test": test, "by": by, "seed": 3}
    found = parts_of(every, held_out=held, most=most, training={"seed": 5})
    named = "group" if by else "docno"
    rest, tested = plain_split(every, [*range(400)], test, seed_of(3, "test"), named)
    training, held_out = plain_split(every, rest, 0.2, 3, named)
    training = plain_sample(every, training, most, 5)
    assert found.training.tolist() == training
    assert found.held_out.tolist() == held_out
    assert found.test.tolist() == tested
    unseen = tested or held_out
    assert found.unseen.tolist() == unseen
    can = [row for row in unseen if every[row].number % 2 == 0]
    assert found.measured.tolist() == plain_sample(every, can, 7, 0)
    assert found.known.tolist() == plain_sample(every, training, 30, 0)
    names = [{getattr(every[row], named) for row in part} for part in (training, held_out, tested)]
    assert len(set.union(*names)) == sum(map(len, names)) or most is not None


def test_what_is_held_of_an_example_while_others_are_made() -> None:
    count = 20_000
    divider = Divider(DeepCTRecipe(**{**RECIPE, "held_out": {"share": 0.1}}))
    tracemalloc.start()
    for number in range(count):
        divider.add(f"a-docno-of-some-length-{number}", 0, "group", has_target=True)
    divider.divided(500, 5000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Two hashes of 16 bytes and a flag; twice as much for a moment, while they are sorted.
    assert peak / count < 120


def test_parts_hang_on_names_and_not_on_order_or_company() -> None:
    every = numbered(400)
    share = {"share": 0.2}

    def held(some: list[Example]) -> set[str]:
        return {some[row].docno for row in parts_of(some, held_out=share).held_out}

    assert held(every) == held(every[::-1])
    assert held(every) != {
        every[row].docno for row in parts_of(every, held_out={"share": 0.2, "seed": 4}).held_out
    }
    fewer = [one for one in every if one.docno != "D7"]
    assert len(held(fewer) ^ held(every)) <= 2


def test_parts_at_the_edges() -> None:
    none = parts_of(numbered(4), held_out={"share": 0.0})
    assert (none.training.tolist(), none.held_out.tolist()) == ([0, 1, 2, 3], [])
    assert len(parts_of(numbered(4), held_out={"share": 0.01}).held_out) == 2
    with pytest.raises(UsageError, match="nothing to train on"):
        parts_of(numbered(4), held_out={"share": 0.3, "by": "topic"})
    assert not len(parts_of([], held_out={"share": 0.0}).training)


@pytest.mark.slow
def test_touche_without_its_judged_documents(collections: Path) -> None:
    """Proven by docnos: no judged document, and every other that has an example or is counted."""
    touche = collections / "touche"
    names = [
        "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels",
        "touche-task1-51-100-relevance.qrels",
    ]
    sources = tuple(str(touche / "qrels" / name) for name in names)
    corpus = open_corpus(touche / "argsme-subset.jsonl")
    judged = {
        line.split()[2] for source in sources for line in Path(source).read_text().splitlines()
    }
    everyone = {document.docno for document in corpus}
    silent = {d.docno for d in corpus if not any(map(str.isalnum, d.fields["premise"]))}
    settings = ExampleSettings(("premise",), length=200, unit="words", group="topic")
    found = made(corpus, settings, out=excluded(Without(qrels=sources)))
    trained = {one.docno for one in found.examples}
    counts = found.counts
    assert not trained & judged
    assert counts.documents == 4967
    assert counts.excluded == len(everyone & judged) == 725
    assert list(counts.excluded_by_source.values()) == [659, 92]
    assert counts.copies == 3
    assert len(everyone - judged - trained - silent) == counts.copies
    parts = parts_of(found.examples, held_out={"share": 0.1, "by": "topic"})
    train, held = (
        {found.examples[row].group for row in one} for one in (parts.training, parts.held_out)
    )
    assert train.isdisjoint(held)
