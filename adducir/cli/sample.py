"""``adducir sample``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import model_validator

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import columns, near, note, show
from adducir.cli.texts import TextSources
from adducir.core.errors import UsageError
from adducir.core.recipe import Keyed, needs, without
from adducir.core.texts import counted, nearest
from adducir.corpora.reading import QueryReading
from adducir.judges.files import design_for
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.judges.sheets import Design
    from adducir.runs.run import Run

SHEET = Writes("file", (".csv",), lambda path, _: [path, design_for(path)])


class SampleOptions(TextSources, QueryReading, RunReading):
    runs: common.Runs
    output: Annotated[Path | None, without("widths")] = optional(
        "The sheet for people.", writes=SHEET
    )
    documents: int | None = optional("How many documents people judge.", "-n", ge=1)
    whole_topics: int | None = optional(
        "Draw this many topics instead, of whose pools people judge every document: for measures "
        "that are not sums of gains, such as nDCG and AP.",
        ge=3,
    )
    topics: str | None = optional("An ir_datasets id, or a file with the topics.", reads=True)
    depth: int = option("How many top documents of each run are in the pool.", default=10, ge=1)
    extend: Annotated[Path | None, without("whole_topics")] = optional(
        "The sheet of an earlier sample, which lacks documents of these runs: draw from those, "
        "to be judged in addition.",
        metavar="SHEET",
    )
    widths: Annotated[Path | None, without("extend")] = optional(
        "A model's qrels: say how wide intervals would be for several sizes, with these grades "
        "for people's, and stop.",
        metavar="QRELS",
    )
    measure: Annotated[str, needs("widths")] = option(
        "The measure of `widths`.", default="P@10", rare=True
    )
    between: Annotated[common.Names, needs("documents"), without("extend")] = repeatable(
        "The systems whose differences matter most: documents that tell them apart are drawn up "
        "to five times as often. Intervals between other systems become wider.",
        metavar="SYSTEM",
        shown="all alike",
    )
    seed: int = option("Draws the documents.", default=0, ge=0)

    @model_validator(mode="after")
    def _has_a_size(self) -> "SampleOptions":
        sizes = self.documents is not None, self.whole_topics is not None
        if all(sizes) or not (any(sizes) or self.widths or self.extend):
            raise ValueError(Keyed("give either {} or {}", "documents", "whole_topics"))
        for name in () if self.widths else ("output", "topics"):
            if getattr(self, name) is None:
                raise ValueError(Keyed("{} is missing", name))
        return self


def sample(settings: SampleOptions) -> None:
    """Draw documents for people to judge, so that a model's judgements can be corrected.

    The pool is the top documents of all runs. Each topic gets about the same number of documents.
    People fill in the column `grade`; the file beside the sheet, which ends in .design.json, says
    how documents were drawn, and has to stay there. `adducir evaluate --set people=people.csv`
    corrects the model's judgements. A pool that grows by new runs keeps its sample: --extend.

    Examples:
        adducir sample runs/*.trec.gz -t bundled:topics -c bundled:arguments -n 40 -o people.csv
        adducir sample new.trec.gz -t bundled:topics -c bundled:arguments -n 10 \
--extend people.csv -o more.csv
    """
    if settings.widths is None:
        settings.check_source()
    names = common.system_names(settings.runs)

    from adducir.core.files import file_digest
    from adducir.judges.sheets import Design, rows_for, write_sheet

    for name in settings.between:
        if name not in names.values():
            near_names = nearest(name, names.values()) or f" ({', '.join(names.values())})."
            raise UsageError(f"--between: {name!r} is not one of the systems{near_names}")
    runs = {name: settings.read_run(path) for path, name in names.items()}
    if settings.widths is not None or settings.output is None or settings.topics is None:
        show("\n".join(_widths(settings, runs)))
        return
    topics = settings.read_about(settings.topics)
    digests = {name: file_digest(path) for path, name in names.items()}
    size = settings.documents or settings.whole_topics or 0
    if settings.extend is None:
        design = Design.of(
            runs,
            size,
            depth=settings.depth,
            seed=settings.seed,
            between=settings.between,
            digests=digests,
            whole_topics=settings.whole_topics is not None,
        )
        drawn = design.drawn
    else:
        old = Design.read(settings.extend)
        _check_extension(settings, old)
        design, drawn = old.with_runs(runs, size, seed=settings.seed, digests=digests)
    texts = settings.by_docno(drawn["docno"])
    write_sheet(design, settings.output, rows_for(drawn, topics, texts))
    note(
        f"{near(settings.output)}: {counted(len(drawn), 'document')} of "
        f"{len(design.pairs):,} in the top {design.depth} of {counted(len(design.runs), 'run')}"
        f", {counted(design.pairs['qid'].n_unique(), 'topic')}; "
        f"keep {design_for(settings.output).name} beside it"
    )


def _check_extension(settings: SampleOptions, old: "Design") -> None:
    if "depth" in settings.model_fields_set and settings.depth != old.depth:
        raise UsageError(f"the earlier sample was drawn from the top {old.depth}.")
    if old.topics is None and settings.documents is None:
        raise UsageError("--documents is missing: how many of the new ones people judge.")
    if old.topics is not None and settings.documents is not None:
        raise UsageError(
            "--documents has no effect: whole topics were drawn, so all new documents of these "
            "are judged."
        )


def _widths(settings: SampleOptions, runs: "Mapping[str, Run]") -> list[str]:
    """A table of sample sizes and widths of intervals."""
    from adducir.corpora.qrels import load_qrels
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.measures import parse_measure
    from adducir.judges.corrected import linear_kind
    from adducir.judges.planning import planned_topic_widths, planned_widths
    from adducir.judges.sheets import Design

    measure, model = parse_measure(settings.measure), load_qrels(settings.widths or "")
    if settings.whole_topics is None:
        tops = [run.top(settings.depth).to_polars() for run in runs.values()]
        pairs = Design.of(runs, 1, depth=settings.depth).pairs
        rows = planned_widths(pairs, tops, model, linear_kind(measure))
    else:
        evaluator = Evaluator(model, [measure])
        rows = planned_topic_widths([evaluator.values(run)[:, 0] for run in runs.values()])
    unit = "documents" if settings.whole_topics is None else "topics"
    head = unit, "a useless model", "a perfect model"
    return [
        f"{measure}: width of the widest 95% interval of "
        f"{'a difference' if len(runs) > 1 else 'the mean'}, by how many people judge",
        *columns([head, *((f"{n:,}", f"{a:.3f}", f"{b:.3f}") for n, a, b in rows)]),
    ]
