"""MNLI-12: the readers, the paper's constraints, and what is left out."""

import json
from itertools import product
from pathlib import Path

import pytest

from adducir.core.errors import InputError, UsageError
from adducir.studies.complementary_evidence.mnli import LABELS, NliPair, read_mnli
from adducir.studies.complementary_evidence.mnli12 import (
    build_mnli12,
    cuts,
    group_premises,
    split_premises,
)


def sentence(name: str, words: int = 12) -> str:
    return " ".join(f"{name}{n}" for n in range(words))


def pairs_of(premise: str, words: int = 12) -> list[NliPair]:
    return [NliPair(premise, sentence(f"{premise}-{label}-", words), label) for label in LABELS]


def grouped(pairs: list[NliPair], name: str = "dev.jsonl"):
    return group_premises([(Path(name), enumerate(pairs, 1))])


OFFICIAL = {"gold_label": "neutral", "sentence1": "P p", "sentence2": "H h", "pairID": "1n"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (json.dumps(OFFICIAL), NliPair("P p", "H h", "neutral")),
        (json.dumps({**OFFICIAL, "gold_label": "-"}), NliPair("P p", "H h", None)),
        ('{"premise": "P", "hypothesis": "H", "label": 0}', NliPair("P", "H", "entailment")),
        ('{"premise": "P", "hypothesis": "H", "label": 2}', NliPair("P", "H", "contradiction")),
        ('{"premise": "P", "hypothesis": "H", "label": -1}', NliPair("P", "H", None)),
        (
            'gold_label\tgenre\tsentence1\tsentence2\tlabel1\tlabel2\nentailment\tx\t"P\tH\te',
            NliPair('"P', "H", "entailment"),
        ),
        (
            "index\tsentence1\tsentence2\tgold_label\n0\tP\tH\tcontradiction",
            NliPair("P", "H", "contradiction"),
        ),
    ],
)
def test_the_published_formats(tmp_path: Path, text: str, wanted: NliPair) -> None:
    path = tmp_path / "mnli"
    path.write_text(text + "\n\n")
    ((_, pair),) = read_mnli(path)
    assert pair == wanted


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (json.dumps(OFFICIAL) + "\n{", 2, "not JSON"),
        (json.dumps(OFFICIAL) + "\n[1]", 2, "not a JSON object"),
        (json.dumps(OFFICIAL) + '\n{"premise": "P", "label": 1}', 2, "no pair of sentences"),
        (json.dumps({**OFFICIAL, "gold_label": "maybe"}), 1, "'maybe' is no label"),
        (json.dumps({**OFFICIAL, "sentence1": None}), 1, "must be text"),
        ("sentence1\tsentence2\n", 1, "no pair of sentences"),
        ("sentence1\tsentence2\tgold_label\na\tb\tneutral\tc", 2, "4 columns, the header 3"),
        ("sentence1\tsentence2\tgold_label\na\tb", 2, "no pair of sentences"),
        ("", None, "empty"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    path = tmp_path / "mnli.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        list(read_mnli(path))
    assert error.value.line == line


@pytest.mark.parametrize(
    ("words", "least", "wanted"),
    [
        (11, 6, []),
        (12, 6, [6]),
        (13, 6, [6, 7]),
        (14, 6, [6, 7, 8]),
        (16, 6, [6, 7, 8, 9, 10]),
        (15, 6, [6, 7, 8, 9]),
        (32, 6, [12, 13, 14, 15, 16, 17, 18, 19, 20]),
        (2, 1, [1]),
    ],
)
def test_cuts_lie_near_the_middle(words: int, least: int, wanted: list[int]) -> None:
    """At most an eighth of the words from it, or half a word."""
    assert cuts(words, least) == wanted


def test_a_question_by_hand() -> None:
    made = build_mnli12(grouped(pairs_of("P") + pairs_of("X")))
    assert [question.id for question in made.questions] == ["dev:1", "dev:4"]
    first = made.questions[0]
    assert first.question == "P"
    texts = {passage.id: passage.text for passage in first.passages}
    names = [f"{label}-{part}" for label, part in product(LABELS, (1, 2))]
    assert set(texts) == {*names, *(f"other-{name}" for name in names)}
    assert texts["entailment-1"] == " ".join(f"P-entailment-{n}" for n in range(6))
    assert texts["entailment-2"] == " ".join(f"P-entailment-{n}" for n in range(6, 12))
    assert texts["other-neutral-2"] == " ".join(f"X-neutral-{n}" for n in range(6, 12))
    (gold,) = first.gold
    assert {first.passages[number].id for number in gold} == {"entailment-1", "entailment-2"}
    assert [one.label for one in first.sets] == [True] + [False] * 8


def test_what_is_left_out_is_counted() -> None:
    repeated = pairs_of("R")
    repeated[2] = NliPair("R", repeated[0].hypothesis.rsplit(" ", 1)[0] + " not", "contradiction")
    pairs = [
        *pairs_of("A"),
        *pairs_of("B"),
        *pairs_of("short", 11),
        *pairs_of("two")[:2],
        *repeated,
        NliPair("A", "whatever", None),
    ]
    made = build_mnli12(grouped(pairs))
    assert made.dropped._asdict() == {
        "pairs": 15,
        "unlabelled": 1,
        "premises": 5,
        "incomplete": 1,
        "short": 1,
        "repeated": 1,
        "questions": 2,
    }
    assert {question.question for question in made.questions} == {"A", "B"}
    shorter = build_mnli12(grouped(pairs), min_words=5)
    assert {"A", "B", "short"} <= {question.question for question in shorter.questions}


def test_a_premise_alone_has_no_other() -> None:
    made = build_mnli12(grouped(pairs_of("P")))
    assert made.questions == []
    assert made.dropped.repeated == 1


def test_of_several_hypotheses_the_first_long_one_counts() -> None:
    more = [NliPair("P", "too short", "entailment"), *pairs_of("P"), *pairs_of("X")]
    more.append(NliPair(" P ", sentence("later"), "entailment"))
    made = build_mnli12(grouped(more))
    texts = [passage.text for passage in made.questions[0].passages]
    assert any("P-entailment-0" in text for text in texts)
    assert not any("later" in text for text in texts)


def test_a_seed_determines_and_a_premises_cut_is_its_own() -> None:
    pairs = [pair for n in range(8) for pair in pairs_of(f"P{n}", 30)]
    made = build_mnli12(grouped(pairs), seed=1).questions
    assert made == build_mnli12(grouped(pairs), seed=1).questions
    assert made != build_mnli12(grouped(pairs), seed=2).questions
    fewer = build_mnli12(grouped(pairs[:12]), seed=1).questions
    for one, two in zip(made, fewer, strict=False):
        own = [{p.id: p.text for p in q.passages if "other" not in p.id} for q in (one, two)]
        assert own[0] == own[1]


def test_files_of_one_name_and_other_nonsense() -> None:
    with pytest.raises(UsageError, match="two files are named dev"):
        group_premises([(Path("a/dev.jsonl"), []), (Path("b/dev.tsv"), [])])
    with pytest.raises(UsageError, match="1 word or more"):
        build_mnli12(grouped(pairs_of("P")), min_words=0)


def test_parts_share_no_segment() -> None:
    pairs = [pair for n in range(200) for pair in pairs_of(f"P{n}")]
    parts = split_premises(grouped(pairs), {"train": 0.7, "test": 0.3})
    texts = [
        {passage.text for question in build_mnli12(part).questions for passage in question.passages}
        for part in parts.values()
    ]
    assert len(parts["train"].premises) + len(parts["test"].premises) == 200
    assert texts[0].isdisjoint(texts[1])


def test_the_papers_constraints_hold_on_the_real_collection(collections: Path) -> None:
    path = collections / "mnli" / "dev_matched.6000.jsonl"
    labels: dict[str, dict[str, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        premise = " ".join(pair["premise"].split())
        labels.setdefault(premise, {})[" ".join(pair["hypothesis"].split())] = pair["label"]
    premises = group_premises([(path, read_mnli(path))])
    made = build_mnli12(premises)
    assert made.dropped.premises == len(labels) == 3125
    assert made.dropped.incomplete == 3125 - 587  # 587 have one hypothesis of each label
    assert made.dropped.short + made.dropped.repeated + made.dropped.questions == 587
    assert made.dropped.short == 523  # 64 have three of 12 words or more
    assert len(made.questions) == made.dropped.questions > 50
    places = set()
    for question in made.questions:
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
        assert [one.label for one in question.sets] == [True] + [False] * 8
        assert all(set(one.members) != gold for one in question.sets[1:])
        places |= gold
    assert places == set(range(12))  # no position gives the gold set away
