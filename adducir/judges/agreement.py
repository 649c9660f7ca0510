"""How far people and a model agree on the documents that both judged, and people among themselves.

A model that follows the length of texts agrees with people whose grades do, too, so the rank
correlation of grades with length stands beside the agreement.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from adducir.corpora.qrels import Qrels
from adducir.judges.sheets import settled
from adducir.statistics.agreement import Statistic, cohens_kappa, krippendorffs_alpha, votes_by_unit
from adducir.tables.style import Style

_FEW = 10
"""With fewer texts, a correlation with their length says nothing."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement with a model.

    Attributes:
        documents: How many both judged.
        same: The share of equal grades.
        kappa: Cohen's; NaN if undefined.
        alpha: Krippendorff's, ordinal; NaN if undefined.
        matrix: How often each of people's grades (rows) met each of the model's (columns).
        grades: The names of rows and columns.
        by_length: Spearman's correlation of the model's and of people's grades with the length of
            texts; NaN if lengths are unknown.
        people: Krippendorff's alpha among people, on documents that several judged.
        shared: How many those are.
    """

    documents: int
    same: float
    kappa: float
    alpha: float
    matrix: np.ndarray
    grades: tuple[int, ...]
    by_length: tuple[float, float]
    people: float
    shared: int

    @property
    def facts(self) -> dict[str, Any]:
        """For the table's details: figures, and the matrix by people's grade."""
        columns = [f"model {grade}" for grade in self.grades]
        figures = {
            "documents": self.documents,
            "equal grades": self.same,
            "Cohen's kappa": self.kappa,
            "Krippendorff's alpha": self.alpha,
            "model's grades by length": self.by_length[0],
            "people's grades by length": self.by_length[1],
            "alpha among people": self.people,
        }
        rows = {
            f"people {grade}": dict(zip(columns, row.tolist(), strict=True))
            for grade, row in zip(self.grades, self.matrix, strict=True)
        }
        return {name: value for name, value in figures.items() if value == value} | rows

    def sentence(self, judge: str, style: Style) -> str:
        numbers = [
            f"{name} {style.number(value)}"
            for name, value in (("kappa", self.kappa), ("alpha", self.alpha))
            if np.isfinite(value)
        ]
        text = (
            f"People and {judge} give the same grade to {self.same:.0%} of {self.documents:,} "
            f"documents ({', '.join(numbers) or 'kappa is undefined'})."
        )
        if np.isfinite(self.by_length[0]):
            model, people = map(style.number, self.by_length)
            text += f" Rank correlation with the texts' length: {judge} {model}, people {people}."
        if self.shared:
            text += (
                f" People among themselves, on {self.shared:,} documents: alpha "
                f"{style.number(self.people)}."
            )
        return text


def agreement_of(model: Qrels, grades: pl.DataFrame) -> Agreement:
    """Agreement of a model's qrels with people's grades.

    Args:
        model: The model's grades.
        grades: qid, docno, grade, person, characters (-1: unknown).
    """
    keys = ["qid", "docno"]
    lengths = grades.group_by(keys).agg(pl.col("characters").max())
    by_both = settled(grades).join(model.frame.rename({"grade": "model"}), on=keys)
    both = by_both.join(lengths, on=keys)
    people, by_model = both["grade"].to_numpy(), both["model"].to_numpy()
    names = np.unique(np.concatenate([people, by_model]))
    matrix = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(matrix, (np.searchsorted(names, people), np.searchsorted(names, by_model)), 1)
    length = both["characters"].to_numpy()
    known = length >= 0
    several = grades.filter(pl.len().over("qid", "docno") > 1)
    votes = [both.select(*keys, "grade"), both.select(*keys, pl.col("model").alias("grade"))]
    return Agreement(
        len(both),
        float(np.trace(matrix)) / max(1, len(both)),
        _value(cohens_kappa(people, by_model), len(both)),
        _alpha(pl.concat(votes)),
        matrix,
        tuple(names.tolist()),
        (_spearman(by_model[known], length[known]), _spearman(people[known], length[known])),
        _alpha(several),
        several.select(keys).n_unique(),
    )


def _alpha(votes: pl.DataFrame) -> float:
    """Krippendorff's alpha of several grades per document: columns qid, docno, grade."""
    _, table, values = votes_by_unit(votes.rename({"grade": "value"}), "qid", "docno")
    statistic = krippendorffs_alpha(table, values.astype(np.float64), "ordinal")
    return _value(statistic, len(table))


def _value(statistic: Statistic, units: int) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(statistic(np.ones((1, units)))[0]) if units else float("nan")


def _spearman(first: np.ndarray, second: np.ndarray) -> float:
    from scipy.stats import spearmanr

    if len(first) < _FEW or min(len(np.unique(first)), len(np.unique(second))) < 2:
        return float("nan")
    return float(spearmanr(first, second).statistic)
