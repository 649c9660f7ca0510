"""``adducir proxy score``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import adducir
from adducir.cli.agreement_options import Drawing
from adducir.cli.evaluate_options import Printing, digests
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.evaluation.proxy.choices import Choices
    from adducir.evaluation.proxy.files import Key


def proxy_score(
    key: Annotated[Path, option("The key of the task.", metavar="FILE"), SOURCE],
    choices: Annotated[
        list[Path] | None,
        argument(
            "The task file filled in, one per judge, or all judges' with a column rater.", "CHOICES"
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        option("A model's run: it chooses the candidate it scores highest; repeatable.", "--run"),
    ] = None,
    by_group: Annotated[bool, option("Also show the groups of the items.")] = False,
    *,
    drawing: Drawing,
    printing: Printing,
) -> None:
    """Score the choices of judges and models: accuracy, intervals and agreement.

    A judge is named after the file, without its ending, unless a column rater says otherwise.
    """
    inputs = [key, *(choices or []), *(runs or [])]
    if not choices and not runs:
        raise UsageError("there is nothing to score.", hint="Name files of choices, or --run.")

    from adducir.evaluation.proxy.files import read_key
    from adducir.tables.proxy import Look, proxy_table

    answers = read_key(key)
    judges = _judges(choices or [], answers)
    models, notes = _models(runs or [], answers)
    look = Look(
        by_group=by_group,
        drawing=drawing.drawing(),
        notes=notes,
        style=printing.style(),
        provenance={"adducir": adducir.__version__, "files": digests(inputs)},
    )
    printing.show(proxy_table(answers, judges, models, look))


def _judges(paths: Sequence[Path], key: "Key") -> "list[Choices]":
    from adducir.cli.names import stem
    from adducir.evaluation.proxy.choices import read_choices

    found: list[Choices] = []
    for path in paths:
        name = Path(stem(path)).stem
        for one in read_choices(path, key, name):
            if one.name in [other.name for other in found]:
                raise UsageError(
                    f"{path} holds choices of {one.name}, as a file before it.",
                    hint="Give every judge a file name, or a rater, of their own.",
                )
            found.append(one)
    return found


def _models(paths: Sequence[Path], key: "Key") -> "tuple[list[Choices], list[str]]":
    """The models' choices, and what is to be said about candidates that they do not score."""
    from adducir.cli.names import system_names
    from adducir.evaluation.proxy.choices import choices_of_scores
    from adducir.evaluation.proxy.loading import scores_of
    from adducir.runs.read import read_run

    found, notes = [], []
    for path, name in system_names(paths).items():
        scores = scores_of(read_run(path), key.answers)
        choices, partial = choices_of_scores(name, scores, key)
        found.append(choices)
        if partial:
            notes.append(
                f"{name} lacks scores of candidates of {partial:,} items; these come last there."
            )
    return found, notes
