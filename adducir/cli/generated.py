"""``adducir generated``."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import adducir
from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import READ, SOURCE
from adducir.cli.ranks import Baselines
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adducir.evaluation.generation.kind import TextMeasures
    from adducir.evaluation.generation.texts import Generated, Reference


class Group(StrEnum):
    """Groups of measures (:mod:`adducir.evaluation.generation`)."""

    ANSWERS = "answers"
    GROUNDING = "grounding"
    KNOWLEDGE = "knowledge"
    KILT = "kilt"
    MSMARCO = "msmarco"


def generated(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="TEXTS",
            help="Generated texts, JSONL of Adducir, KILT or MS MARCO; each file is a system.",
            show_default=False,
        ),
        SOURCE,
    ],
    references: Annotated[
        list[Path],
        typer.Option(
            "--references",
            "-r",
            metavar="FILE",
            help="Contexts with targets, KILT's or MS MARCO's references; can be repeated.",
        ),
        SOURCE,
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="GROUP",
            help="answers, grounding, knowledge, kilt, msmarco; with commas or repeated.",
            show_default="those of the first four that there are data for",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", metavar="CORPUS", help="Where the texts of passages are, by their docnos."
        ),
        READ,
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Training targets, in the forms of the references: Novel-F1's common words.",
            show_default="the references",
        ),
        READ,
    ] = None,
    mass: Annotated[
        float,
        typer.Option(
            "--mass", min=0, max=1, help="Share of all words that the common words make up."
        ),
    ] = 0.5,
    depth: Annotated[
        int, typer.Option("--depth", min=1, help="Add the best of so many texts of each input.")
    ] = 1,
    baseline: Baselines = None,
    test: opts.TestName = None,
    correction: opts.CorrectionName = None,
    family: opts.FamilyName = None,
    alpha: opts.Alpha = None,
    permutations: opts.Permutations = None,
    seed: opts.Seed = None,
    confidence: opts.Confidence = None,
    show: opts.Shown = None,
    decimals: opts.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Evaluate generated texts against answers and passages.

    F1, Novel-F1, Knowledge-F1, ROUGE-L, of answers and of the passages that texts were generated
    from; KILT's and MS MARCO's measures as their scripts compute
    them. An input without a text counts 0 and is reported.
    """
    testing = opts.Testing(
        tuple(baseline or ()),
        test,
        correction,
        family,
        alpha,
        None,
        None,
        permutations,
        seed,
        confidence,
    )
    details = testing.details(show)
    groups = _groups(measures)

    from adducir.cli import names
    from adducir.cli.tables import show_table
    from adducir.core.files import file_digest
    from adducir.evaluation.generation.files import read_all_references, read_generated
    from adducir.evaluation.generation.passages import passages_of
    from adducir.evaluation.generation.words import common_words
    from adducir.tables.builder import Layout
    from adducir.tables.generated import generated_table
    from adducir.tables.style import Style

    right = read_all_references(references)
    trained = read_all_references(train) if train else right
    systems: dict[str, dict[str, Generated]] = {}
    for path in files:
        name = Path(names.stem(path)).stem
        if name in systems:
            raise UsageError(f"two files are systems called {name}.", hint="Rename one of them.")
        systems[name] = read_generated(path)
    common = common_words((text for one in trained.values() for text in one.answers), mass)
    passages = passages_of(corpus, right, systems.values()) if corpus else {}
    digests = {str(path): file_digest(path) for path in (*files, *references, *(train or []))}
    used = _measures(groups, right, systems, common, passages, depth)
    layout = Layout(
        style=Style(decimals=decimals, details=details),
        provenance={"adducir": adducir.__version__, "files": digests},
        notes=_note(used, len(common), mass, bool(train)),
    )
    table = generated_table(
        systems,
        right,
        used,
        testing=testing.arguments() if testing.differences else {},
        layout=layout,
    )
    show_table(table, format_name, output)


def _groups(texts: "Sequence[str] | None") -> list[Group]:
    try:
        return list(dict.fromkeys(Group(text) for text in options.listed(texts)))
    except ValueError as error:
        raise UsageError(f"--measures: {error}.", hint=f"Choose of {', '.join(Group)}.") from error


def _measures(
    groups: "Sequence[Group]",
    references: "Mapping[str, Reference]",
    systems: "Mapping[str, Mapping[str, Generated]]",
    common: "Sequence[str]",
    passages: "Mapping[str, str]",
    depth: int,
) -> "list[TextMeasures]":
    """The measures that were asked for, or else those that there are data for."""
    from adducir.evaluation.generation.answers import Answers, Knowledge
    from adducir.evaluation.generation.grounding import Grounding
    from adducir.evaluation.generation.kilt import Kilt, pages_of
    from adducir.evaluation.generation.msmarco import MsMarco

    made: dict[Group, TextMeasures] = {
        Group.ANSWERS: Answers(common, depth),
        Group.GROUNDING: Grounding(common, passages, depth),
        Group.KNOWLEDGE: Knowledge(passages, depth),
        Group.KILT: Kilt(),
        Group.MSMARCO: MsMarco(),
    }
    if groups:
        return [made[group] for group in groups]
    right = references.values()
    outputs = [text for some in systems.values() for one in some.values() for text in one.outputs]
    there = {
        Group.ANSWERS: any(one.answers for one in right),
        Group.GROUNDING: bool(outputs)
        and all(text.passage is not None or text.docno in passages for text in outputs),
        Group.KNOWLEDGE: any(docno in passages for one in right for docno in one.gold),
        Group.KILT: any(one.evidence for one in right)
        and all(any(map(pages_of, some.values())) for some in systems.values()),
    }
    return [made[group] for group, known in there.items() if known]


def _note(
    used: "Sequence[TextMeasures]", common: int, mass: float, trained: bool
) -> tuple[str, ...]:
    """What Novel-F1's common words are."""
    if not any("Novel-F1" in one.names for one in used):
        return ()
    where = "the training targets" if trained else "the references: no --train was given"
    return (f"Novel-F1: {common:,} common words make up {mass:.0%} of the words of {where}.",)
