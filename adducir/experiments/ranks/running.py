"""Runs a planned study of ranks: training, ranking, measuring, testing, the tables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adducir.corpora.references import expanded
from adducir.encoders.ranking import SpanTask
from adducir.encoders.settings import ContextPart, LengthPart
from adducir.encoders.sources import EncoderSource, encoder_source
from adducir.experiments.evaluation.rank_files import read_ranks, write_ranks
from adducir.experiments.evaluation.ranks import GoldRanks
from adducir.experiments.ranks.planning import RanksPlan, Step
from adducir.experiments.ranks.ranking import Texts, by_bm25, by_encoder, by_late_interaction
from adducir.experiments.ranks.recipe import ContextRecipe, SystemRecipe, folder_name
from adducir.experiments.ranks.tables import by_key, stacked, without_values
from adducir.experiments.study_files import StudyOutcome, write_table
from adducir.experiments.tables.build import Layout
from adducir.experiments.tables.style import Style
from adducir.experiments.tables.table import ResultTable
from adducir.models.machine import choose_device, using_threads
from adducir.models.products import model_versions
from adducir.models.sources import model_source
from adducir.study.folders import name_in_study
from adducir.study.products import build, read_manifest
from adducir.study.progress import SILENT, Progress
from adducir.study.results import publishing_results, refuse_other_folder
from adducir.training.artifacts import train_model
from adducir.version import __version__

RANKS_FILE = "ranks.tsv"
_KIND = "ranks"
_MAKER_VERSION = 2


def run_study(
    plan: RanksPlan,
    *,
    device: str = "auto",
    threads: int | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> StudyOutcome:
    """Train and rank what is not there yet, measure, test, and write the tables.

    Args:
        plan: From :func:`adducir.experiments.ranks.planning.plan_study`.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of torch and BM25 while candidates are ranked; by default their own choice.
        rebuild: Make everything anew.
        progress: Told of each step.

    Raises:
        AdducirError: A model cannot be loaded, the disk is full, and the like.
    """
    refuse_other_folder(plan.output)
    plan.fetch(progress, rebuild=rebuild)
    work = _Work(plan, device, threads, rebuild, progress)
    for place, step in enumerate(plan.steps, 1):
        progress.note(f"{place} of {len(plan.steps)}: {step.data}, {step.system}, {step.context}")
        work.do(step)
    with publishing_results(plan.output, progress) as folder:
        tables, files = _write(plan, folder)
    placed = {key: plan.output / path.relative_to(folder) for key, path in files.items()}
    return StudyOutcome(tables, placed)


def _write(plan: RanksPlan, output: Path) -> tuple[dict[str, ResultTable], dict[str, Path]]:
    """All tables by data set, and their files."""
    tables: dict[str, ResultTable] = {}
    files: dict[str, Path] = {}
    for data in plan.data:
        folder = output / folder_name(data) if len(plan.data) > 1 else output
        sections = _sections(plan, data)
        table = tables[data if len(plan.data) > 1 else ""] = _table(plan, data, sections)
        made = write_table(folder, table, each="per-context")
        for key in plan.recipe.by:
            grouped = without_values(_table(plan, data, by_key(sections, key)))
            made |= {
                f"by-{key}.{kind}": path
                for kind, path in write_table(folder, grouped, name=f"by-{key}").items()
            }
        files |= {f"{data}/{kind}" if len(plan.data) > 1 else kind: p for kind, p in made.items()}
    return tables, files


class _Work:
    """The steps of a study; candidates that several contexts share are encoded once."""

    def __init__(
        self, plan: RanksPlan, device: str, threads: int | None, rebuild: bool, progress: Progress
    ) -> None:
        self.plan, self.device, self.threads = plan, device, threads
        self.rebuild, self.progress = rebuild, progress
        self._tasks: tuple[str, list[SpanTask]] = ("", [])
        self._kept: tuple[tuple[str, str], Texts] = (("", ""), {})
        self._trained: set[str] = set()

    def do(self, step: Step) -> None:
        """Train the step's encoder and rank with it, as far as that is not done."""
        self._train(step)
        recipe = self.plan.recipe
        system, read = recipe.systems[step.system], recipe.contexts[step.context]
        source = self._source(step, system)
        inputs = {"data": self.plan.data[step.data].identity}
        decides: dict[str, Any] = {
            "context": read.model_dump(mode="json"),
            "rouge": recipe.rouge,
        }
        if system.bm25:
            decides["bm25"] = system.bm25.model_dump(mode="json")
        else:
            decides |= {
                "kind": "colbert" if system.colbert else "maxsim" if system.maxsim else "vectors",
                "lengths": system.lengths.model_dump(mode="json"),
                "pooling": system.pooling,
                "precision": recipe.precision,
            }
            late = model_source(expanded(system.late), self.plan.folder) if system.late else None
            inputs["model"] = (late or source).identity()  # type: ignore[union-attr]

        def make(folder: Path) -> Mapping[str, Any]:
            with using_threads(self.threads):
                ranks = self._ranks(step, system, read, source)
            if not recipe.rouge:
                ranks = replace(ranks, rouge=None)
            write_ranks(folder / RANKS_FILE, {step.system: ranks})
            return {"contexts": len(ranks.qids)}

        build(
            step.output,
            kind=_KIND,
            recipe=decides,
            inputs=inputs,
            maker_version=_MAKER_VERSION,
            make=make,
            rebuild=self.rebuild,
            versions={} if system.bm25 else model_versions(),
            progress=self.progress,
        )

    def _train(self, step: Step) -> None:
        for link in step.chain:
            name = str(link.output)
            if name in self._trained:  # for another data set
                continue
            self.progress.note(f"encoder {link.output.relative_to(self.plan.folder)}")
            train_model(
                link.course(self.plan.folder),
                link.output,
                device=self.device,
                rebuild=self.rebuild,
                progress=self.progress,
            )
            self._trained.add(name)

    def _source(self, step: Step, system: SystemRecipe) -> EncoderSource | None:
        if step.chain:
            return encoder_source(str(step.chain[-1].output))
        if system.encoder:
            return encoder_source(expanded(system.encoder), self.plan.folder)
        return None

    def _ranks(
        self, step: Step, system: SystemRecipe, read: ContextRecipe, source: EncoderSource | None
    ) -> GoldRanks:
        if self._tasks[0] != step.data:
            self._tasks = step.data, list(self.plan.data[step.data].tasks())
        tasks = self._tasks[1]
        if system.bm25:
            return by_bm25(tasks, system.bm25, read, self.threads, rouge=self.plan.recipe.rouge)
        # A trained encoder is another one for each context.
        key = (step.data, str(step.output) if step.chain else step.system)
        if self._kept[0] != key:
            self._kept = key, {}
        kept, precision = self._kept[1], self.plan.recipe.precision
        if source is None:
            model = late_interaction(system, self.plan)
            model.to(choose_device(self.device))
            return by_late_interaction(model, tasks, kept, read, progress=self.progress)
        from adducir.encoders.model import DualEncoder

        masked = source.settings.context.mask if source.settings else False
        encoder = DualEncoder.load(
            source,
            context=ContextPart(**read.model_dump(), mask=masked),
            lengths=None if system.lengths == LengthPart() else system.lengths,
            pooling=system.pooling,
        )
        encoder.to(choose_device(self.device))
        return by_encoder(encoder, tasks, kept, precision=precision, progress=self.progress)


def late_interaction(system: SystemRecipe, plan: RanksPlan) -> Any:
    """A system's model of late interaction, reading as many tokens as the file says."""
    from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe, Reading

    source, lengths = model_source(expanded(system.late), plan.folder), system.lengths
    if system.colbert:
        own = ColBERTRecipe()
        reading = Reading(
            lengths.context or own.query_length,
            lengths.span or own.document_length,
            markers=own.markers,
        )
    else:
        reading = Reading(
            lengths.context or MaxSimRecipe(base=system.late).query_length,
            lengths.span,
            markers=None,
            special=False,
            fill=False,
        )
    model = LateInteraction.load(source, reading)
    model.precision = plan.recipe.precision
    return model


def _sections(plan: RanksPlan, data: str) -> dict[str, dict[str, GoldRanks]]:
    """The standings of a data set's systems, by context."""
    found: dict[str, dict[str, GoldRanks]] = {}
    for step in plan.steps:
        if step.data == data:
            (ranks,) = read_ranks(step.output / RANKS_FILE, step.system).values()
            found.setdefault(step.context, {})[step.system] = ranks
    return {name: found[name] for name in plan.recipe.contexts if name in found}


def _table(
    plan: RanksPlan, data: str, sections: Mapping[str, Mapping[str, GoldRanks]]
) -> ResultTable:
    recipe = plan.recipe
    table = recipe.table
    title = table.caption or recipe.description
    several = len(plan.data) > 1
    layout = Layout(
        title=f"{title.rstrip('.')}: {data}" if several else title,
        label=(table.label or f"tab:{plan.path.stem}") + (f"-{data}" if several else ""),
        style=Style(decimals=table.decimals, leading_zero=table.leading_zero, details=table.show),
        measure_names=table.measure_names,
        system_names=table.system_names,
        notes=plan.learnt.get(data, []),
        provenance=_provenance(plan, data),
    )
    return stacked(sections, recipe, layout)


def _provenance(plan: RanksPlan, data: str) -> dict[str, Any]:
    ranks = {
        f"{step.system}, {step.context}": read_manifest(step.output).fingerprint
        for step in plan.steps
        if step.data == data
    }
    return {"adducir": __version__, "file": name_in_study(plan.path), "ranks": ranks}
