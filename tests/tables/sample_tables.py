"""Made-up tables for the tests of the renderers. The figures are nobody's."""

import random
from statistics import fmean

from adducir.tables.style import Style
from adducir.tables.table import Column, Equivalence, ResultTable, Row, TableCell, Versus

FOOTER = (
    "Means over 6 topics.",
    "Paired t-test against BM25, Holm's correction over the 3 tests of each measure, alpha 0.05.",
    "1 topic without results counts 0: QLD 17.",
)
NASTY = r"50%_of{A&B}|~^\$#<script>alert('x')</script>"


def versus(baseline: str, difference: float, verdict: str = "none", **more: object) -> Versus:
    """A comparison with every figure known."""
    known: dict[str, object] = {
        "p": 0.0123,
        "p_corrected": 0.0369,
        "ci": (difference - 0.02, difference + 0.02),
        "effect": difference * 10,
        "wins": 4,
        "ties": 1,
        "losses": 1,
    }
    return Versus(baseline, difference, verdict, **{**known, **more})  # type: ignore[arg-type]


def small(style: Style | None = None) -> ResultTable:
    """Three systems, two measures, one baseline."""
    columns = (
        Column("nDCG(judged_only=True)@5", topics=("1", "2", "3", "4", "5", "17")),
        Column("Bpref", topics=("1", "2", "3", "4", "5", "17")),
    )
    rows = (
        Row(
            "BM25",
            (
                TableCell(0.61249, 6, values=(0.5, 0.6, 0.7, 0.8, 0.45, 0.62494)),
                TableCell(0.4, 6, best=True, values=(0.4,) * 6),
            ),
        ),
        Row(
            "BM25+RM3",
            (
                TableCell(
                    0.7,
                    6,
                    best=True,
                    versus=(versus("BM25", 0.08751, "better"),),
                    values=(0.7, 0.9, 0.7, 0.6, 0.6, 0.7),
                ),
                TableCell(
                    0.39,
                    6,
                    versus=(versus("BM25", -0.01, p=0.4, p_corrected=0.4),),
                    equivalence=Equivalence("BM25", True, 0.0002),
                    values=(0.39,) * 6,
                ),
            ),
        ),
        Row(
            "QLD",
            (
                TableCell(
                    0.2,
                    6,
                    versus=(versus("BM25", -0.41249, "worse"),),
                    equivalence=Equivalence("BM25+RM3", False, 0.99),
                    values=(0.2, 0.4, 0.2, 0.2, 0.2, 0.0),
                ),
                TableCell(None, 0),
            ),
        ),
    )
    return ResultTable(
        columns,
        rows,
        ("BM25",),
        title="Made-up figures",
        footer=FOOTER,
        facts={"alpha": 0.05, "against": "best"},
        style=style or Style(),
    )


def wide(style: Style | None = None, topics: int = 49) -> ResultTable:
    """Sections of corpus variants, two years, four measures each, two baselines."""
    draw = random.Random(7)
    columns = tuple(
        Column(
            measure,
            year,
            label,
            descriptive=measure.startswith("Judged"),
            topics=tuple(f"{year[-2:]}-{n}" for n in range(1, topics + 1)),
        )
        for year in ("Touché 2020", "Touché 2021")
        for measure, label in (
            ("nDCG(judged_only=True)@5", ""),
            ("Bpref", ""),
            ("Judged@5", ""),
            ("R@100", ""),
        )
    )
    systems = ("DirichletLM", "BM25", "BM25+RM3(terms=10,docs=8,weight=.5)", "QLD+RM3")
    variants = ("Original", "DeepCT, topic and conclusion", "DeepCT, no judged documents")
    rows = []
    first: tuple[TableCell, ...] = ()
    second: tuple[TableCell, ...] = ()
    for variant in variants:
        for system in systems:
            cells = []
            for place, _ in enumerate(columns):
                values = tuple(min(1.0, max(0.0, draw.gauss(0.55, 0.25))) for _ in range(topics))
                mean = fmean(values)
                found = []
                for name, row in (("DirichletLM", first), ("BM25", second)):
                    if not row or (variant == variants[0] and name == system):
                        continue
                    base = row[place].mean or 0.0
                    verdict = (
                        "better"
                        if mean - base > 0.04
                        else "worse"
                        if mean - base < -0.04
                        else "none"
                    )
                    found.append(versus(name, mean - base, verdict))
                cells.append(
                    TableCell(
                        mean,
                        topics,
                        versus=tuple(found),
                        equivalence=Equivalence("BM25", mean > 0.57, 0.01) if rows else None,
                        values=values,
                    )
                )
            if variant == variants[0] and system == "DirichletLM":
                first = tuple(cells)
            if variant == variants[0] and system == "BM25":
                second = tuple(cells)
            name = system if variant == variants[0] else f"{system} [{variant}]"
            rows.append(Row(name, tuple(cells), system, variant))
    return ResultTable(
        columns,
        with_best(rows),
        ("DirichletLM", "BM25"),
        title="Made-up figures in the shape of a paper's table",
        label="tab:wide",
        footer=FOOTER,
        facts={"alpha": 0.05, "against": "best"},
        provenance={"command": "adducir experiment experiments/wide.yaml", "runs": {"BM25": "ab"}},
        style=style or Style(),
    )


def with_best(rows: list[Row]) -> tuple[Row, ...]:
    """The rows with the greatest mean of each column as best."""
    from dataclasses import replace

    tops = [max(row.cells[place].mean or 0 for row in rows) for place in range(len(rows[0].cells))]
    return tuple(
        replace(
            row,
            cells=tuple(
                replace(cell, best=cell.mean == top)
                for cell, top in zip(row.cells, tops, strict=True)
            ),
        )
        for row in rows
    )


def nasty() -> ResultTable:
    """Names made to break every format's syntax."""
    column = Column("P@5|x", "50% & more_", topics=("<1>",))
    names = (NASTY, "[bracket]", "*star* `code` --rm3", "Ünïcode → κ=½", "line\nbreak")
    rows = tuple(
        Row(name, (TableCell(0.5, 1, values=(0.5,)),), section="A & <b>") for name in names
    )
    return ResultTable((column,), rows, title="Fish & <i>Chips</i> 100%", footer=("a_b & <u>",))
