"""Selected sets and their gold sets, read from files and checked against each other."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError, UsageError
from adducir.core.names import TextFile
from adducir.evaluation.scores import Scores
from adducir.studies.complementary_evidence.record import EvidenceQuestion
from adducir.studies.complementary_evidence.record_files import read_questions
from adducir.studies.complementary_evidence.selected import SelectedSet, read_selected
from adducir.studies.complementary_evidence.sets import set_scores, upper_bound


class _Pools(Mapping[str, frozenset[str]]):
    """The candidates of questions, in a file: many ids each, of which few are looked at."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._ids = TextFile()

    def add(self, question: EvidenceQuestion) -> None:
        """Keep the ids of a question's passages, which have no white space."""
        self._places[question.id] = len(self._ids)
        self._ids.append(" ".join(passage.id for passage in question.passages))

    def __getitem__(self, qid: str) -> frozenset[str]:
        return frozenset(self._ids[self._places[qid]].split())

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True)
class GoldSets:
    """What is true of questions.

    Attributes:
        gold: The gold sets of each question that has some, as passages' ids.
        pools: The candidates of every question.
    """

    gold: Mapping[str, tuple[frozenset[str], ...]]
    pools: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, questions: Iterable[EvidenceQuestion]) -> "GoldSets":
        """The gold labels of questions.

        Raises:
            UsageError: Two questions have one id, or none has a gold set.
        """
        gold: dict[str, tuple[frozenset[str], ...]] = {}
        pools = _Pools()
        for question in questions:
            if question.id in pools:
                raise UsageError(f"the question {question.id!r} comes twice.")
            pools.add(question)
            if question.gold:
                gold[question.id] = question.gold_ids
        if not gold:
            raise UsageError("no question has a gold set, so that there is nothing to measure.")
        return cls(gold, pools)

    def scores(self, system: str, chosen: Mapping[str, Sequence[str]]) -> Scores:
        """EM, F1 and Cover of selected sets; those of questions without a gold set are ignored.

        Raises:
            UsageError: A passage is chosen twice.
        """
        unknown = self.pools.keys() - self.gold.keys()
        counted = {qid: members for qid, members in chosen.items() if qid not in unknown}
        return set_scores(system, counted, self.gold)

    def bound(
        self, systems: Iterable[Mapping[str, Collection[str]]], name: str = "upper bound"
    ) -> Scores:
        """What no selection from the pools can exceed.

        Where all sets hold equally many passages (but for smaller pools, which are taken whole), it
        is the best selection of so many; otherwise the best of any number.

        Args:
            systems: The selected sets of each system, by question.
        """
        taken = [(len(members), qid) for one in systems for qid, members in one.items() if members]
        size = max(taken, default=(1, ""))[0]
        if any(count < min(size, len(self.pools.get(qid, ()))) for count, qid in taken):
            return upper_bound(self.pools, self.gold, system=name)
        return upper_bound(self.pools, self.gold, size=size, system=name)


def read_gold_sets(paths: Sequence[Path]) -> GoldSets:
    """The gold sets of the questions of files.

    Raises:
        InputError: A file cannot be read.
        UsageError: A question is in two files, or none has a gold set.
    """
    return GoldSets.of(question for path in paths for question in read_questions(path))


def read_sets(path: Path, gold: GoldSets) -> dict[str, tuple[str, ...]]:
    """The selected sets of a file, by question.

    Raises:
        InputError: It cannot be read, or a passage is none of its question's; with the line.
    """
    return checked(path, read_selected(path), gold)


def checked(
    path: Path, chosen: Iterable[SelectedSet], gold: GoldSets
) -> dict[str, tuple[str, ...]]:
    """Chosen sets by question, checked to be of the question's passages.

    Raises:
        InputError: A passage is none of its question's.
    """
    found: dict[str, tuple[str, ...]] = {}
    for one in chosen:
        odd = set(one.chosen) - gold.pools.get(one.id, frozenset(one.chosen))
        if odd:
            raise InputError(
                f"for question {one.id} the passage {min(odd)!r} was chosen, which it has not.",
                path=path,
                hint="Were these sets chosen for other questions? Name their file.",
            )
        found[one.id] = one.chosen
    return found
