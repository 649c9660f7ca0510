"""KILT's R-precision and Recall@k: of Wikipedia pages, not of passages.

Petroni et al. (NAACL 2021), section 5, as ``kilt/eval_retrieval.py`` counts. A question has one or
several *evidence sets*: the pages behind each of its answers. The pages of an answer's passages
count once each, in the order of their first passage.

* R-precision: of the R pages of an evidence set, the share among the first R pages found; the best
  over the sets.
* Recall@k: the share of evidence sets that are whole among the first k places. A set takes one
  place, that of its last page found; a page of no set takes one, too.
"""

from collections.abc import Iterable, Sequence

Sets = Sequence[Sequence[str]]
"""Evidence sets: the pages behind each answer."""


def r_precision(pages: Iterable[str], evidence: Sets) -> float:
    """R-precision, 0 to 1; 0 where there is no evidence."""
    found = list(dict.fromkeys(pages))
    values = (_share(found, list(dict.fromkeys(one))) for one in evidence)
    return max(values, default=0.0)


def recall_at(k: int, pages: Iterable[str], evidence: Sets) -> float:
    """Recall@k, 0 to 1; 0 where there is no evidence."""
    left = [set(one) for one in dict.fromkeys(map(frozenset, evidence))]
    if not left:
        return 0.0
    places: list[int] = []  # a set that is found in part by its number, or one of these two
    whole, none = -1, -2
    for page in dict.fromkeys(pages):
        holding = [number for number, pages_left in enumerate(left) if page in pages_left]
        for number in holding:
            if number in places:
                places.remove(number)
            left[number].remove(page)
            places.append(number if left[number] else whole)
        if not holding:
            places.append(none)
    return places[:k].count(whole) / len(left)


def _share(found: Sequence[str], wanted: Sequence[str]) -> float:
    return len(set(found[: len(wanted)]) & set(wanted)) / len(wanted) if wanted else 0.0
