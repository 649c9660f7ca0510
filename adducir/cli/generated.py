"""``adducir generated``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adducir.evaluation.generation.kind import TextMeasures
    from adducir.evaluation.generation.texts import Generated, Reference


Group = Literal["answers", "grounding", "knowledge", "kilt", "msmarco"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Groups of measures (:mod:`adducir.evaluation.generation`)."""


def generated(
    files: Annotated[
        list[Path],
        argument(
            "Generated texts, JSONL of Adducir, KILT or MS MARCO; each file is a system.", "TEXTS"
        ),
        SOURCE,
    ],
    references: Annotated[
        list[Path],
        option(
            "Contexts with targets, KILT's or MS MARCO's references; can be repeated.",
            "-r",
            metavar="FILE",
        ),
        SOURCE,
    ],
    measures: Annotated[
        list[str] | None,
        option(
            "answers, grounding, knowledge, kilt, msmarco; with commas or repeated.",
            "-m",
            metavar="GROUP",
            shown="those of the first four that there are data for",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        option("Where the texts of passages are, by their docnos.", metavar="CORPUS"),
        SOURCE,
    ] = None,
    train: Annotated[
        list[Path] | None,
        option(
            "Training targets, in the forms of the references: Novel-F1's common words.",
            metavar="FILE",
            shown="the references",
        ),
        SOURCE,
    ] = None,
    mass: Annotated[
        float, option("Share of all words that the common words make up.", min=0, max=1)
    ] = 0.5,
    depth: Annotated[int, option("Add the best of so many texts of each input.", min=1)] = 1,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Evaluate generated texts against answers and passages.

    F1, Novel-F1, Knowledge-F1, ROUGE-L, of answers and of the passages that texts were generated
    from; KILT's and MS MARCO's measures as their scripts compute
    them. An input without a text counts 0 and is reported.
    """
    groups = _groups(measures)

    from adducir.cli import names
    from adducir.evaluation.generation.files import read_all_references, read_generated
    from adducir.evaluation.generation.passages import passages_of
    from adducir.evaluation.generation.words import common_words
    from adducir.tables.generated import generated_table

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
    used = _measures(groups, right, systems, common, passages, depth)
    layout = replace(
        printing.layout(testing, files=opts.digests([*files, *references, *(train or [])])),
        notes=_note(used, len(common), mass, bool(train)),
    )
    printing.show(generated_table(systems, right, used, testing=testing.arguments(), layout=layout))


def _groups(texts: "Sequence[str] | None") -> list[Group]:
    named = dict.fromkeys(options.listed(texts))
    if unknown := [name for name in named if name not in GROUPS]:
        raise UsageError(
            f"--measures knows no {unknown[0]!r}.", hint=f"Choose of {', '.join(GROUPS)}."
        )
    return [group for name in named for group in GROUPS if group == name]


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
        "answers": Answers(common, depth),
        "grounding": Grounding(common, passages, depth),
        "knowledge": Knowledge(passages, depth),
        "kilt": Kilt(),
        "msmarco": MsMarco(),
    }
    if groups:
        return [made[group] for group in groups]
    right = references.values()
    outputs = [text for some in systems.values() for one in some.values() for text in one.outputs]
    there: dict[Group, bool] = {
        "answers": any(one.answers for one in right),
        "grounding": bool(outputs)
        and all(text.passage is not None or text.docno in passages for text in outputs),
        "knowledge": any(docno in passages for one in right for docno in one.gold),
        "kilt": any(one.evidence for one in right)
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
