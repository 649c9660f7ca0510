"""Pools of paragraphs by bigram BM25: by hand, against rank_bm25's kind of loop, on HotpotQA."""

import math
from pathlib import Path

import pytest

from adducir.core.errors import UsageError
from adducir.indexes.analysis import Analysis
from adducir.indexes.models import BM25
from adducir.studies.complementary_evidence.hotpotqa import (
    HotpotQuestion,
    paragraphs_of,
    read_hotpotqa,
)
from adducir.studies.complementary_evidence.paragraphs import Paragraphs
from adducir.studies.complementary_evidence.pools import STOP_WORDS, bigram_terms, bm25_pools

PARAGRAPHS = {
    "Kansas Song": "A fight song of the University of Kansas.",
    "University of Kansas": "A public university in Lawrence.",
    "Lawrence": "A city in Kansas with a university and a river.",
    "Rivers": "Water runs in them.",
    "Fish": "They swim.",
}
KEPT = Paragraphs(paragraphs=PARAGRAPHS.items())


def question(name: str, text: str, *gold: str) -> HotpotQuestion:
    facts = tuple((title, 0) for title in gold)
    return HotpotQuestion(name, text, None, None, None, facts, ())


FIGHT = question("q1", "The fight song of Lawrence's university?", "Kansas Song", "Fish")


def test_terms_are_words_and_pairs_without_stop_words() -> None:
    assert bigram_terms("The University of Kansas's fight song, Überall 2") == [
        *["university", "kansas", "s", "fight", "song", "überall", "2"],
        *["kansas s", "s fight", "fight song", "song überall", "überall 2"],
    ]
    assert bigram_terms("of the") == bigram_terms("") == []


def test_the_stop_words_are_lucenes() -> None:
    analysis = Analysis(stemmer="none")
    assert analysis.terms(sorted(STOP_WORDS)) == [[]] * 33
    assert analysis.terms(["from", "has", "were"]) == [["from"], ["has"], ["were"]]


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
def test_the_order_is_that_of_bm25_over_bigrams(k1: float, b: float) -> None:
    (one,) = bm25_pools([FIGHT], KEPT, model=BM25(k1=k1, b=b), gold="found")
    assert [passage.title for passage in one.passages] == plain_order(FIGHT.question, k1, b)


def test_found_leaves_the_pool_as_it_is() -> None:
    made = bm25_pools([FIGHT], KEPT, passages=2, gold="found")
    (one,) = made
    assert [passage.title for passage in one.passages] == plain_order(FIGHT.question, 0.9, 0.4)[:2]
    assert one.gold == (frozenset({0}),)
    assert one.missing == (1,)
    assert all(not labelled.label for labelled in one.sets)
    assert made.counts == (1, 0, 0, 1)


def test_always_puts_the_gold_into_the_last_places() -> None:
    made = bm25_pools([FIGHT], KEPT, passages=3)
    (one,) = made
    assert [passage.title for passage in one.passages] == [
        *plain_order(FIGHT.question, 0.9, 0.4)[:2],
        "Fish",
    ]
    assert one.gold == (frozenset({0, 2}),)
    assert one.missing == (0,)
    assert one.sets[0] == ((0, 2), True)
    assert made.counts == (1, 0, 0, 1)
    (pair,) = bm25_pools([FIGHT], KEPT, passages=2)
    assert [passage.title for passage in pair.passages] == ["Kansas Song", "Fish"]
    with pytest.raises(UsageError, match="no place for 2"):
        bm25_pools([FIGHT], KEPT, passages=1)


def test_gold_that_is_not_at_hand() -> None:
    unknown = question("q2", "Where do fish swim?", "Fish", "Sea")
    made = bm25_pools([FIGHT, unknown], KEPT, passages=3)
    assert [one.id for one in made] == ["q1"]
    assert made.counts == (2, 1, 0, 1)
    left = bm25_pools([FIGHT, unknown], KEPT, passages=3, gold="found")
    assert left[1].missing == (1,)
    assert left.counts == (2, 1, 0, 2)


def test_questions_without_facts_get_a_pool() -> None:
    made = bm25_pools([question("q3", "Fish?")], KEPT, passages=2)
    (one,) = made
    assert one.passages[0].title == "Fish"
    assert (one.gold, one.sets, one.missing) == ((), (), ())
    assert made.counts == (1, 0, 0, 1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="no paragraph"):
        bm25_pools([FIGHT], Paragraphs())
    with pytest.raises(UsageError, match="'always' or 'found'"):
        bm25_pools([FIGHT], KEPT, gold="never")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="depth"):
        bm25_pools([FIGHT], KEPT, passages=0)


@pytest.mark.slow
def test_hotpotqa(collections: Path) -> None:
    questions = list(read_hotpotqa(collections / "hotpotqa" / "hotpotqa.subset.jsonl"))
    paragraphs = paragraphs_of(questions)
    assert len(paragraphs) == 8811
    found = bm25_pools(questions, Paragraphs(paragraphs=paragraphs.items()), gold="found")
    always = bm25_pools(questions, Paragraphs(paragraphs=paragraphs.items()))
    for made in (found, always):
        assert all(len(one.passages) == 50 for one in made)
        assert made.counts.questions == 900
        assert made.counts.unknown == 344  # 556 have both true paragraphs among the 8,811
    assert len(found) == 900
    assert sum(one.missing == (0,) for one in found) == found.counts.found
    assert 344 < found.counts.found <= 556
    assert len(always) == always.counts.made == 556
    texts = {one.id: one for one in questions}
    for one in always:
        (gold,) = one.gold
        assert {one.passages[n].title for n in gold} == set(texts[one.id].gold_titles)
        assert one.missing == (0,)
        assert [labelled.label for labelled in one.sets] == [True] + [False] * 8
        assert set(one.sets[0].members) == gold
