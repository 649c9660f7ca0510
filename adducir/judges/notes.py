"""What a table says of who judged."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from adducir.core.texts import counted
from adducir.judges.corrected import CorrectedEvaluator
from adducir.runs.write import metadata_for, part_of, read_metadata
from adducir.tables.style import Style


def judge_of(qrels: Sequence[str | Path]) -> str | None:
    """The model that made qrels, by the metadata beside them; None if people did, or unknown."""
    for source in qrels:
        if metadata_for(source).is_file():
            facts = part_of(read_metadata(source), "judge")
            if name := facts.get("name"):
                return str(name)
    return None


def titled(caption: str, alone: str | None) -> str:
    """The table's first line: a model that judged alone is named there."""
    if not alone:
        return caption
    said = f"judged by {alone} alone"
    return f"{caption} ({said})" if caption else f"J{said[1:]}"


def alone_note(judge: str, *, tested: bool) -> str:
    """The note of a table that rests on a model's word alone."""
    claim = (
        "A model's grades alone often give wrong differences with small p-values"
        if tested
        else "Differences are not tested"
    )
    return f"All grades are by {judge}. {claim}; people's grades of a random sample correct them."


def corrected_notes(
    evaluator: CorrectedEvaluator,
    judge: str,
    by_model: Mapping[str, Mapping[str, float]],
    names: Mapping[str, str],
    style: Style,
) -> Iterator[str]:
    """How a table was corrected, and what the model alone would say; ``by_model`` by system."""
    drawn, pairs = len(evaluator.design.drawn), len(evaluator.design.pairs)
    sentence = (
        f"Grades of {counted(pairs, 'document')} by {judge}, corrected by {drawn:,} that people "
        "judged, drawn at random within topics. Values of topics may be below 0 or above 1."
    )
    if evaluator.ungraded:
        sentence += f" {judge} did not grade {counted(evaluator.ungraded, 'document')}."
    yield sentence
    for measure in map(str, evaluator.measures):
        means = "; ".join(
            f"{names.get(system, system)} {style.number(values[measure])}"
            for system, values in by_model.items()
        )
        yield f"{measure} by {judge} alone: {means}."
