"""``adducir proxy score``."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import adducir
from adducir.cli import agreement_options as opts
from adducir.cli import options
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
    confidence: opts.Confidence = 0.95,
    samples: opts.Samples = 2000,
    seed: opts.Seed = 0,
    decimals: opts.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Score the choices of judges and models: accuracy, intervals and agreement.

    A judge is named after the file, without its ending, unless a column rater says otherwise.
    """
    inputs = [key, *(choices or []), *(runs or [])]
    if not choices and not runs:
        raise UsageError("there is nothing to score.", hint="Name files of choices, or --run.")

    from adducir.cli.tables import show_table
    from adducir.evaluation.agreement.summary import Drawing
    from adducir.evaluation.proxy.files import read_key
    from adducir.tables.proxy import Look, proxy_table
    from adducir.tables.style import Style

    answers = read_key(key)
    judges = _judges(choices or [], answers)
    models, notes = _models(runs or [], answers)
    look = Look(
        by_group=by_group,
        drawing=Drawing(samples, seed, confidence),
        notes=notes,
        style=Style(decimals=decimals),
        provenance={"adducir": adducir.__version__, **_digests(inputs)},
    )
    show_table(proxy_table(answers, judges, models, look), format_name, output)


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


def _digests(paths: Iterable[Path]) -> dict[str, dict[str, str]]:
    from adducir.core.files import file_digest

    return {"files": {str(path): file_digest(path) for path in paths}}
