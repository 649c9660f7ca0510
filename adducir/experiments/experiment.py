"""From an experiment file to its tables.

The whole file is read and everything that it names is opened before anything is built. Steps with
up-to-date artifacts are skipped, and so are artifacts that nothing else needs.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from adducir.core.artifacts import MISSING, clear_up_if_free, publishing_results
from adducir.core.config import load, read
from adducir.core.errors import ArtifactError, InputError, UsageError, in_files, speaking
from adducir.core.files import study_folder, writing_text
from adducir.core.fingerprint import is_known
from adducir.core.planning import planning
from adducir.core.progress import progress
from adducir.experiments.sections import Planner
from adducir.experiments.step import Context, ModelStep, Step, shown, training_log, with_inputs
from adducir.experiments.tasks import TASKS, Study, StudyTable
from adducir.tables.formats import TABLES, render
from adducir.tables.report_data import Curve
from adducir.tables.table import ResultTable


@speaking(in_files)
def plan_experiment(
    path: Path,
    overrides: tuple[str, ...] = (),
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
) -> "ExperimentPlan":
    """Read an experiment file with ``overrides`` (``key.key=value``), check it, and plan it.

    Nothing is built. ``rebuild``: plan to build everything, even what exists. ``dry_run``: plan
    without what is not available, without downloads or reading large files
    (:mod:`adducir.core.planning`); this plan is for reading only, and its planner's notes list
    what is missing. ``folder`` is the study's, where artifacts go and relative paths start; by
    default the one that contains ``experiments/``. All errors are one InputError; a MachineError if
    the only problem is a failed download.
    """
    document = load(path)
    try:
        task = TASKS.kind(str(document.data.get("task", "retrieval")))
    except UsageError as error:
        line = document.line_of(("task",))
        raise InputError(error.what, path=path, line=line, hint=error.hint) from error
    reading = read(document, task, overrides)
    folder = study_folder(path) if folder is None else folder.absolute()
    planner = Planner(reading, folder, overrides, dry_run=dry_run)
    if reading.refused:
        planner.check()
    recipe, errors = reading.in_part()
    for problem in errors:
        planner.add(problem.path, problem.what)
    # A recipe reduced to its valid sections may not make sense.
    with planning(is_dry=dry_run), suppress(Exception) if reading.errors else nullcontext():
        plan = ExperimentPlan(recipe.study(planner), planner, dry_run=dry_run, rebuild=rebuild)
        if planner.output.is_file():
            message = f"{planner.output}: this is a file, but a folder for the tables is needed"
            ending = ": the experiment file's name needs an ending, such as .yaml"
            planner.add((), message + ending * planner.output.samefile(path))
    planner.check()
    return plan


class ExperimentPlan:
    """A checked and opened experiment: ``steps`` in order, ``goals`` those to evaluate."""

    def __init__(
        self, study: Study, planner: Planner, *, dry_run: bool = False, rebuild: bool = False
    ) -> None:
        self.study, self.planner, self.dry_run, self.rebuild = study, planner, dry_run, rebuild
        self.output = planner.output
        self.goals = tuple(study.goals())
        self.steps = tuple(with_inputs((*study.others(), *self.goals)))
        makers: dict[str, Step] = {}  # by path, ignoring case
        for step in self.steps:
            place = unicodedata.normalize("NFC", str(step.path)).casefold()
            rival = makers.setdefault(place, step)
            if rival.fingerprint != step.fingerprint and {rival.kept, step.kept} != {"read"}:
                message = f"its files would be those of `{'.'.join(map(str, rival.place))}`"
                self.planner.add(step.place, f"{message}: {self.shown(step.path)}")

    def shown(self, path: Path) -> str:
        return shown(path, self.planner.folder)

    def state(self) -> dict[Step, str | None]:
        """Why each step has to run now; None if it does not."""
        with planning(is_dry=self.dry_run):
            reasons = {step: step.why() for step in self.steps}
        for step, why in reasons.items():
            if self.rebuild and step.kept == "keep" and why != MISSING:
                reasons[step] = "everything is rebuilt"
        return reasons

    def needed(self, state: Mapping[Step, str | None]) -> list[Step]:
        needed = {step for step in self.goals if state[step] is not None}
        for step in reversed(self.steps):
            if step in needed:
                needed.update(step_ for step_ in step.inputs if state[step_] is not None)
        return [step for step in self.steps if step in needed]

    def make(self, context: Context, *, allow_code: bool = False) -> list[Step]:
        """Run the steps needed now, each with inputs as planned."""
        needed = self.needed(self.state())
        kept_steps = [step for step in self.goals if step.kept == "keep"]
        if kept := sum(step not in needed for step in kept_steps):
            share = f"all {kept}" if kept == len(kept_steps) else f"{kept} of {len(kept_steps)}"
            progress().note(f"{share} {self.study.makes} exist and are kept")
        _clear_up(set(self.steps) - set(needed), needed)
        code = dict(step.runs_code for step in needed if step.runs_code is not None)
        if code:
            from adducir.experiments.code import require_consent

            require_consent(code, self.planner.folder, allow_code)
        self.planner.fetch({place[:2] for step in needed for place in step.reads})
        for line in self.study.leaks:
            progress().note(line)
        for step in needed:
            for before in step.inputs:
                if why := before.why():
                    raise ArtifactError(
                        f"this is not what was planned ({why}): its data have changed since, or "
                        "another experiment has written here.",
                        path=before.path,
                        hint="Run this again; use different names for what two experiments build "
                        "differently.",
                    )
            step.make(context)
        _clear_up(needed)
        return needed

    def lines(self) -> list[str]:
        lines, state = list[tuple[str, str]](), self.state()
        needed = set(self.needed(state))
        all_known = all(is_known(step.fingerprint) for step in self.steps)
        with planning(is_dry=self.dry_run):
            for step in sorted(self.steps, key=lambda step_: step_.stage):
                why, title = state[step], step.title(self.shown)
                if why is None:
                    lines.append((step.kept, title))
                elif all_known and step not in needed:
                    needless = f"every {self.study.makes[:-1]} that needs it is there"
                    lines.append(("skip", f"{title}: {needless}"))
                else:
                    lines.append((step.verb, title + ("" if why == MISSING else f": {why}")))
            lines += [("warn", leak) for leak in self.study.leaks]
            lines += [*self.study.warnings(), ("write", f"{self.shown(self.output)}/")]
        return [f"{verb:6} {text}" for verb, text in lines]


def _clear_up(steps: Iterable[Step], but: Iterable[Step] = ()) -> None:
    """Remove what killed or finished work left beside steps that are not running."""
    at_work = {place for step in but for place in (step.path, *step.chunk_places)}
    for place in {place for step in steps for place in (step.path, *step.chunk_places)} - at_work:
        clear_up_if_free(place)


@dataclass(frozen=True)
class Outcome:
    # its tables by name; ``""`` for a single one
    tables: Mapping[str, ResultTable]
    # their files: the format, or ``NAME/format`` where there are several tables; the CSV of all
    # queries is of the format ``per-topic`` and the like
    files: Mapping[str, Path]
    made: Sequence[Path] = ()  # the artifacts built now, without existing ones
    runs: Sequence[Path] = ()  # the evaluated runs that were built now

    @property
    def table(self) -> ResultTable:
        return next(iter(self.tables.values()))


@speaking(in_files)
def run_experiment(
    plan: ExperimentPlan, *, context: Context | None = None, allow_code: bool = False
) -> Outcome:
    """Run a plan's missing steps, evaluate, test, and write the tables.

    Only one process at a time runs an experiment. Files on disk are evaluated, and the tables
    appear all at once. ``context`` does not affect figures, except that device and batches affect
    the last digits of networks'. ``allow_code``: allow the file's Python code to run, also in
    future for this study; without it, code is a UsageError.
    """
    if plan.dry_run:
        raise UsageError("a plan of a dry run cannot be executed.", hint="Plan it without dry_run.")
    context = replace(context or Context(), folder=plan.planner.folder, rebuild=plan.rebuild)
    with publishing_results(plan.output) as folder, context:
        made_steps = plan.make(context, allow_code=allow_code)
        results = [_with_steps(result, plan) for result in plan.study.result_tables(context)]
        written = {key: path for result in results for key, path in _write(folder, result).items()}
    return Outcome(
        {result.name: result.table for result in results if result.is_printed},
        {key: plan.output / path.relative_to(folder) for key, path in written.items()},
        [step.path for step in made_steps],
        [step.path for step in made_steps if step in plan.goals],
    )


def _write(folder: Path, result: StudyTable) -> dict[str, Path]:
    folder = folder / result.folder
    texts = {
        key: (f"{result.file}{kind.ending}", kind().rendered(result.table))
        for key, kind in TABLES.kinds().items()
    }
    if result.file == "table":
        texts["html"] = ("report.html", texts["html"][1])
    if result.each is not None:
        topics_text = render(result.table, "csv", per_topic=True)
        texts[result.each] = (f"{result.each}.csv", topics_text)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.values():
        with writing_text(folder / name) as handle:
            handle.write(text if text.endswith("\n") else text + "\n")
    before = f"{result.name}/" if result.name else ""
    before += "" if result.file == "table" else f"{result.file}."
    return {before + key: folder / name for key, (name, _) in texts.items()}


def _with_steps(result: StudyTable, plan: ExperimentPlan) -> StudyTable:
    """A table whose report shows the plan's graph of steps and the training losses."""
    titles = {step: step.title(plan.shown) for step in plan.steps}
    graph = tuple(
        (title, tuple(titles[before] for before in step.inputs if before in titles))
        for step, title in titles.items()
    )
    curves, epochs = {}, {}
    for step in plan.steps:
        log, name = training_log(step.path), plan.shown(step.path)
        if log:
            from adducir.training.trainable import kept_epoch

            epochs[name] = kept_epoch(log)
        if isinstance(step, ModelStep):
            rows = log.get("validations", ())
            training, validation = (
                tuple((row["step"], row[key]) for row in rows if row.get(key) is not None)
                for key in ("training_loss", "validation_loss")
            )
            curves[name] = Curve(training, validation, log.get("best_step"))
    kept = {name: epoch for name, epoch in epochs.items() if epoch}
    material = replace(result.table.material, plan=graph, curves=curves)
    provenance = {**result.table.provenance, **({"epochs kept": kept} if kept else {})}
    return replace(result, table=replace(result.table, material=material, provenance=provenance))
