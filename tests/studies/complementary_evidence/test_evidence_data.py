"""HotpotQA with its pools, and MNLI-12: readers, the papers' constraints, what is left out."""

import bz2
import json
import math
from itertools import product
from pathlib import Path

import pytest

from adducir.core.errors import InputError, UsageError
from adducir.corpora.sources import open_corpus
from adducir.indexes.analysis import Analysis
from adducir.indexes.models import BM25
from adducir.studies.complementary_evidence.builders import (
    LABELS,
    STOP_WORDS,
    HotpotQuestion,
    bigram_terms,
    bm25_pools,
    build_mnli12,
    cuts,
    paragraphs_of_corpus,
    passage_of,
    read_hotpotqa,
    read_mnli,
    read_premises,
    with_passages,
)
from adducir.studies.complementary_evidence.questions import EvidenceQuestion

RECORD = {
    "_id": "5a7a",
    "question": "Which firm audits the park?",
    "answer": "Ernst & Young",
    "supporting_facts": [["InfoPark, Kochi", 0], ["InfoPark, Kochi", 3], ["Ernst &amp; Young", 1]],
    "context": [
        ["Other", ["One.", " Two."]],
        ["Ernst &amp; Young", ["A firm. ", " It audits."]],
        ["InfoPark, Kochi", ["A park."]],
        ["Other", ["Again."]],
    ],
}


def read(tmp_path: Path, **changes: object) -> EvidenceQuestion:
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps([{**RECORD, **changes}]))
    (question,) = read_hotpotqa(path)
    return with_passages(question, question.paragraphs)


def test_a_question_by_hand(tmp_path: Path) -> None:
    question = read(tmp_path)
    assert [one.id for one in question.passages] == ["Other", "Ernst_&_Young", "InfoPark,_Kochi"]
    assert [one.text for one in question.passages[:2]] == ["One. Two.", "A firm. It audits."]
    assert (question.gold, question.missing) == (((1, 2),), (0,))
    lacking = read(tmp_path, context=RECORD["context"][:2])
    assert (lacking.gold, lacking.missing) == (((1,),), (1,))
    assert read(tmp_path, supporting_facts=[]).gold == ()


@pytest.mark.parametrize("form", ["[\n{},\n{}\n]", "{}\r\n\r\n{}\n", "\ufeff{}{}"])
def test_arrays_and_lines(tmp_path: Path, form: str) -> None:
    path = tmp_path / "hotpot.json"
    named = {"id": "b", **{key: value for key, value in RECORD.items() if key != "_id"}}
    for part in (json.dumps(RECORD), json.dumps(named)):
        form = form.replace("{}", part, 1)
    path.write_text(form, encoding="utf-8")
    assert [question.id for question in read_hotpotqa(path)] == ["5a7a", "b"]


def abstracts(folder: Path, texts: dict[str, list]) -> Path:
    """The official abstracts' form: folders of bzip2 files of JSON lines."""
    for number, (title, text) in enumerate(texts.items()):
        path = folder / "abstracts" / ("AA", "BB")[number % 2] / f"wiki_{number:02}.bz2"
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"id": str(number), "title": title, "text": text, "text_with_links": text}
        path.write_bytes(bz2.compress(json.dumps(record).encode() + b"\n"))
    return folder / "abstracts"


def test_the_official_abstracts(tmp_path: Path) -> None:
    texts = {"Ernst &amp; Young": ["A firm. ", " It audits."], "Empty": [""], "Other": ["One."]}
    folder = abstracts(tmp_path, texts)
    found = {one.title: one.text for one in paragraphs_of_corpus(open_corpus(folder))}
    assert found == {"Ernst & Young": "A firm. It audits.", "Empty": "", "Other": "One."}
    # The same as of a question's own context, so that the two are one paragraph.
    assert passage_of("Ernst & Young", found["Ernst & Young"]) in read(tmp_path).passages
    nested = list(
        paragraphs_of_corpus(open_corpus(abstracts(tmp_path / "b", {"A": ["x"], "B": [["One."]]})))
    )
    assert [one.text for one in nested] == ["x", "One."]
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "12", "text": "A firm."}\n')
    with pytest.raises(InputError):
        list(paragraphs_of_corpus(open_corpus(path)))


PARAGRAPHS = {
    "Kansas Song": "A fight song of the University of Kansas.",
    "University of Kansas": "A public university in Lawrence.",
    "Lawrence": "A city in Kansas with a university and a river.",
    "Rivers": "Water runs in them.",
    "Fish": "They swim.",
}
KEPT = {title: f"{title}\n{text}" for title, text in PARAGRAPHS.items()}


def asked(name: str, text: str, *gold: str) -> HotpotQuestion:
    return HotpotQuestion(text, (), name, tuple((title, 0) for title in gold))


FIGHT = asked("q1", "The fight song of Lawrence's university?", "Kansas Song", "Fish")


def test_terms_are_words_and_pairs_without_stop_words() -> None:
    assert bigram_terms("The University of Kansas's fight song, Überall 2") == [
        *["university", "kansas", "s", "fight", "song", "überall", "2"],
        *["kansas s", "s fight", "fight song", "song überall", "überall 2"],
    ]
    assert Analysis(stemmer="none").terms(sorted(STOP_WORDS)) == [[]] * 33


def plain_order(text: str, k1: float, b: float) -> list[str]:
    """Titles in the order of Lucene's BM25 formula, by a plain loop."""
    terms = {t: bigram_terms(f"{t}\n{body}") for t, body in PARAGRAPHS.items()}
    mean = sum(map(len, terms.values())) / len(terms)
    scores = dict.fromkeys(terms, 0.0)
    for term in bigram_terms(text):
        n = sum(term in words for words in terms.values())
        idf = math.log(1 + (len(terms) - n + 0.5) / (n + 0.5))
        for title, words in terms.items():
            tf = words.count(term)
            scores[title] += idf * tf / (tf + k1 * (1 - b + b * len(words) / mean))
    return sorted(scores, key=lambda title: -scores[title])


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.5, 0.75)])
def test_pools_as_bm25_makes_them(k1: float, b: float) -> None:
    order = plain_order(FIGHT.question, k1, b)
    model = BM25(k1=k1, b=b)
    (whole,), _ = bm25_pools([FIGHT], KEPT, model=model, gold="found")
    assert [passage.title for passage in whole.passages] == order
    (two,), counts = bm25_pools([FIGHT], KEPT, passages=2, model=model, gold="found")
    assert [passage.title for passage in two.passages] == order[:2]
    assert (two.gold, two.missing) == (((0,),), (1,))
    assert (counts["unknown"], counts["found"]) == (0, 0)


def test_pools_with_all_gold_paragraphs() -> None:
    (one,), _ = bm25_pools([FIGHT], KEPT, passages=3)
    two = plain_order(FIGHT.question, 0.9, 0.4)[:2]
    assert [passage.title for passage in one.passages] == [*two, "Fish"]
    assert (one.gold, one.missing) == (((0, 2),), (0,))
    with pytest.raises(UsageError):
        bm25_pools([FIGHT], KEPT, passages=1)
    unknown, free = asked("q2", "Where do fish swim?", "Fish", "Sea"), asked("q3", "Fish?")
    made, counts = bm25_pools([FIGHT, unknown, free], KEPT, passages=2)
    assert [question.id for question in made] == ["q1", "q3"]
    assert (counts["unknown"], counts["found"]) == (1, 0)
    assert (made[1].passages[0].title, made[1].gold) == ("Fish", ())


def sentence(name: str, words: int = 12) -> str:
    return " ".join(f"{name}{n}" for n in range(words))


def pairs_of(premise: str, words: int = 12) -> list[tuple]:
    return [(premise, sentence(f"{premise}-{label}-", words), label) for label in LABELS]


def premises_of(folder: Path, pairs: list[tuple]):
    names = ("premise", "hypothesis", "label")
    lines = (json.dumps(dict(zip(names, pair, strict=True))) for pair in pairs)
    (folder / "dev.jsonl").write_text("\n".join(lines))
    return read_premises([folder / "dev.jsonl"])


OFFICIAL = {"gold_label": "neutral", "sentence1": "P p", "sentence2": "H h", "pairID": "1n"}


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (OFFICIAL, ("P p", "H h", "neutral")),
        ({**OFFICIAL, "gold_label": "-"}, ("P p", "H h", None)),
        ({"premise": "P", "hypothesis": "H", "label": 0}, ("P", "H", "entailment")),
        ({"premise": "P", "hypothesis": "H", "label": -1}, ("P", "H", None)),
    ],
)
def test_the_published_formats(tmp_path: Path, record: dict, wanted: tuple) -> None:
    path = tmp_path / "mnli"
    path.write_text(json.dumps(record) + "\n\n")
    ((_, pair),) = read_mnli(path)
    assert (pair.premise, pair.hypothesis, pair.label) == wanted
    official = [tmp_path / f"multinli_1.0_dev_{half}matched.jsonl" for half in ("", "mis")]
    for one in official:
        one.write_text(json.dumps({**record, "gold_label": "neutral", "label": 1}))
    assert read_premises(official)[0][0].id == "multinli_1.0_dev_matched:1"


def test_a_file_without_pairs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mnli").write_text("")
    with pytest.raises(UsageError):
        read_premises([tmp_path / "mnli"])


def test_cuts_lie_near_the_middle() -> None:
    """At most an eighth of the words from it, or half a word."""
    assert cuts(11, 6) == []
    assert cuts(13, 6) == [6, 7]
    assert cuts(15, 6) == [6, 7, 8, 9]
    assert cuts(32, 6) == list(range(12, 21))
    assert cuts(2, 1) == [1]


def test_a_question_of_mnli12_by_hand(tmp_path: Path) -> None:
    more = [("P", "too short", "entailment"), *pairs_of("P"), *pairs_of("X")]
    premises, _ = premises_of(tmp_path, [*more, (" P ", sentence("late"), "entailment")])
    questions, _ = build_mnli12(premises)
    assert [question.id for question in questions] == ["dev:1", "dev:5"]
    first = questions[0]
    texts = {passage.id: passage.text for passage in first.passages}
    names = [f"{label}-{part}" for label, part in product(LABELS, (1, 2))]
    assert set(texts) == {*names, *(f"other-{name}" for name in names)}
    assert texts["entailment-1"] == " ".join(f"P-entailment-{n}" for n in range(6))
    assert texts["other-neutral-2"] == " ".join(f"X-neutral-{n}" for n in range(6, 12))
    (gold,) = first.gold
    assert {first.passages[number].id for number in gold} == {"entailment-1", "entailment-2"}
    assert [one.label for one in first.sets] == [True] + [False] * 8


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    again = pairs_of("R")
    again[2] = ("R", again[0][1].rsplit(" ", 1)[0] + " not", "contradiction")
    pairs = [*pairs_of("A"), *pairs_of("B"), *pairs_of("short", 11), *pairs_of("two")[:2], *again]
    premises, read = premises_of(tmp_path, [*pairs, ("A", "whatever", "-")])
    assert (read["pairs"], read["unlabelled"], len(premises)) == (15, 1, 5)
    questions, left_out = build_mnli12(premises)
    assert left_out == {"incomplete": 1, "short": 1, "repeated": 1}
    assert {question.question for question in questions} == {"A", "B"}
    alone, left_out = build_mnli12(premises[:1])
    assert (alone, left_out["repeated"]) == ([], 1)


def test_a_seed_determines_and_a_premises_cut_is_its_own(tmp_path: Path) -> None:
    premises, _ = premises_of(tmp_path, [pair for n in range(8) for pair in pairs_of(f"P{n}", 30)])
    made, _ = build_mnli12(premises, seed=1)
    assert made == build_mnli12(premises, seed=1)[0]
    assert made != build_mnli12(premises, seed=2)[0]
    for one, two in zip(made, build_mnli12(premises[:4], seed=1)[0], strict=False):
        own = [{p.id: p.text for p in q.passages if "other" not in p.id} for q in (one, two)]
        assert own[0] == own[1]


def test_the_papers_constraints_hold_on_the_real_collection(collections: Path) -> None:
    path = collections / "mnli" / "dev_matched.6000.jsonl"
    labels: dict[str, dict[str, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        premise = " ".join(pair["premise"].split())
        labels.setdefault(premise, {})[" ".join(pair["hypothesis"].split())] = pair["label"]
    premises, _ = read_premises([path])
    questions, left_out = build_mnli12(premises)
    assert len(premises) == len(labels) == 3125
    assert left_out == {"incomplete": 3125 - 587, "short": 523, "repeated": 8}
    places = set()
    for question in questions:
        texts = {passage.id: passage.text for passage in question.passages}
        assert len(question.passages) == 12
        assert all(len(text.split()) > 5 for text in texts.values())
        for label in LABELS:
            own = f"{texts[f'{label}-1']} {texts[f'{label}-2']}"
            assert labels[question.question][own] == label
            other = f"{texts[f'other-{label}-1']} {texts[f'other-{label}-2']}"
            assert other not in labels[question.question]
            words = len(own.split())
            assert abs(2 * len(texts[f"{label}-1"].split()) - words) <= max(words / 4, 1)
        (gold,) = question.gold
        assert sorted(question.passages[n].id for n in gold) == ["entailment-1", "entailment-2"]
        true = {texts["entailment-1"], texts["entailment-2"]}
        assert sum(passage.text in true for passage in question.passages) == 2
        places |= {*gold}
    assert places == set(range(12))  # no position gives the gold set away
