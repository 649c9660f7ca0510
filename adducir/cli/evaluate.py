"""``adducir evaluate``."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from adducir.cli import common
from adducir.cli.command import option, optional, repeatable
from adducir.cli.console import note
from adducir.cli.tabled import IN_HTML, LOOK, MEASURES, MEASURING, Tabled
from adducir.core.errors import InputError, UsageError, said
from adducir.core.recipe import Needs, needs, without
from adducir.core.texts import listed, nearest, repeated
from adducir.corpora.reading import QrelsReading, QueryReading
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.judges.people import PeoplesEvaluator


class EvaluateOptions(Tabled, RunReading, QrelsReading, QueryReading):
    runs: common.Runs
    qrels: common.Qrels
    measures: list[str] = option(MEASURES, default=[], shown="nDCG@10 AP R@100", panel=MEASURING)
    skip_broken: bool = option("Skip unreadable runs, and list them.", default=False)
    per_topic: Annotated[
        bool, Needs("in HTML, which shows each topic anyway", lambda recipe: recipe.form != "html")
    ] = option("Show the values of each topic.", default=False, panel=LOOK)
    topics: Annotated[str | None, IN_HTML] = optional(
        "The queries, for the HTML report: a file or an ir_datasets id.",
        metavar="SOURCE",
        reads=True,
        panel=LOOK,
    )
    caption: str = option(
        "The title of the page or table; in LaTeX its caption.", default="", panel=LOOK
    )
    names: common.Names = repeatable(
        "Systems' names in the table, as OLD=NEW, comma-separated or repeated.",
        metavar="SYSTEM=NAME",
        panel=LOOK,
    )
    negative_grades: Literal["zero", "trec_eval"] = option(
        "Count negative grades as judged and not relevant, or leave them to trec_eval's rule.",
        default="zero",
        rare=True,
    )
    unjudged: bool = option(
        "Print how far unjudged documents could move nDCG@k, AP@k and RBP.",
        default=False,
        rare=True,
    )
    pool_seeds: common.PoolSeeds = False
    model_qrels: Annotated[str | None, needs("judge")] = optional(
        "A model's judgements of the topics of --qrels and of others, for prediction-powered means "
        "and differences.",
        reads=True,
        rare=True,
    )
    judge: str | None = optional(
        "Name and version of the model that made the judgements (of --qrels, or of model_qrels).",
        rare=True,
    )
    people: Annotated[common.Paths, without("model_qrels")] = repeatable(
        "The sheets of `adducir sample` with people's grades, or what its page saved, to correct "
        "the model's.",
        reads=True,
        rare=True,
    )
    uncorrected: Annotated[bool, without("people")] = option(
        "Test differences on the word of a model alone.", default=False, rare=True
    )


def evaluate(settings: EvaluateOptions) -> None:
    """Evaluate runs, test their differences and print the table.

    A system is named after its run's file, without the suffixes .gz, .trec, .txt, .run and .res;
    equal names are distinguished by their folders. Give baselines by name or path. Every topic of
    the qrels counts; a topic missing from a run counts 0.

    Examples:
        adducir evaluate runs/bm25.trec.gz runs/rm3.trec.gz -q bundled:qrels --baseline bm25
        adducir evaluate runs/*.trec.gz -q bundled:qrels -m 'nDCG@10 AP' --comparisons all-pairs \
-o table.tex
    """
    systems, named = _systems(settings)

    from adducir.core.files import file_digest
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.measures import (
        DEFAULT_MEASURES,
        is_measure,
        needs_subtopics,
        parse_measures,
    )
    from adducir.evaluation.scores import Scores, system_of
    from adducir.judges import notes
    from adducir.runs.write import metadata_for
    from adducir.statistics.comparison import compare
    from adducir.tables.build import build_table
    from adducir.tables.notes import unmatched
    from adducir.tables.report_data import ReportData
    from adducir.tables.run_facts import RunFacts, check_judged

    judge = settings.judge or notes.judge_of(settings.qrels)
    is_alone = judge and not (settings.people or settings.model_qrels)
    if settings.people and not judge:
        raise UsageError(notes.NOBODY_NAMED)
    if is_alone and not settings.uncorrected and (settings.differences or settings.equivalence):
        raise UsageError(f"all judgements are by {judge}: {said(notes.WORD_ALONE)}.")
    negative, measures = settings.negative_grades, settings.measures or DEFAULT_MEASURES
    read = partial(settings.read_qrels, subtopics=needs_subtopics(parse_measures(measures)))
    judged = read(settings.qrels)
    by_model = read(settings.model_qrels) if settings.model_qrels else None
    people: PeoplesEvaluator | None = None
    if settings.people:
        from adducir.judges import people as sampled

        about = settings.people, judged, str(judge), settings.measures
        people = sampled.PeoplesEvaluator.of(*about, negative=negative)
        judged, by_model = people.qrels, people.model_qrels
    evaluator = people or Evaluator(judged, measures, negative_grades=negative)
    if by_model is not None:
        check_judged(judged, by_model, str(judge))
    queries = settings.read_topics(settings.topics).to_dict() if settings.topics else {}
    parsed = evaluator.measures
    model = Evaluator(by_model, parsed, negative_grades=negative) if by_model else None
    facts = RunFacts(
        judged,
        parsed,
        systems=len(systems) if settings.form == "html" else 0,
        queries=queries,
        unjudged=settings.unjudged,
        model=model,
        judge=str(judge),
    )
    scores_of_runs = []
    for path, system in systems.items():
        try:
            # A search may find nothing; metadata beside a run show that this was intended.
            run = settings.read_run(path, allow_empty=metadata_for(path).is_file())
        except InputError as error:
            if error.absent and is_measure(str(path)):
                reason = f"{path} is a measure, but each option takes one value."
                raise UsageError(reason, hint="Join measures by commas: -m nDCG@10,AP.") from None
            if not settings.skip_broken:
                raise
            note(f"left out: {error}")
            continue
        scores_of_runs.append(evaluator.score(run, system=system))
        facts.add(run, system, system_of(system) if settings.pool_seeds else system)
    if not scores_of_runs:
        raise UsageError("none of the runs can be read.")
    scores = Scores.concat(scores_of_runs)
    for warning in unmatched(scores.evaluations, {}):
        note(warning)
    if settings.form == "csv" and (message := facts.misspelt()):  # which lacks notes
        note(f"Warning: {message}")
    pooled = scores.pooled() if settings.pool_seeds else scores
    comparison = compare(pooled, settings.testing(**named))
    names = _shown(settings.names, comparison.systems)
    by_whom: list[str] = []
    if people is not None:
        by_whom = [*people.notes(names, settings.style)]
    elif judge and is_alone:
        by_whom = [notes.alone_note(judge, tested=settings.uncorrected)]
    if judge:
        by_whom += notes.circular_note(judge, settings.qrels, systems)
    by_whom += notes.answer_notes(settings.qrels, systems)
    provenance = {"qrels": judged.source} | ({"judge": judge} if judge else {})
    provenance |= people.facts if people is not None else {}
    runs = {
        name: {"path": str(path), "sha256": file_digest(path)}
        for path, name in systems.items()
        if name in scores.systems
    }
    layout = settings.layout(
        {**provenance, "runs": runs},
        title=notes.titled(settings.caption, judge if is_alone else None),
        material=ReportData({"": facts.hits}),
        notes=[*by_whom, *facts.notes(comparison, settings.style, names=names)],
        system_names=names,
        evaluated=not settings.people,
        powered=facts.powered(comparison),
    )
    table = build_table(comparison, layout)
    settings.print(table, per_topic=settings.per_topic)


def _shown(renamings: Sequence[str], systems: Sequence[str]) -> dict[str, str]:
    """The names in the table of systems that are called otherwise there."""
    names = dict(zip(systems, systems, strict=True))
    hint = f"The systems are {', '.join(names)}; write SYSTEM=NAME."
    for name, _, shown in (text.partition("=") for text in renamings):
        if name not in names:
            raise UsageError(f"--names: unknown system {name!r}.", hint=hint)
        names[name] = shown.strip()
        if not names[name]:
            raise UsageError(f"--names: {name!r} is given no name.", hint=hint)
    if twice := repeated(names.values()):
        raise UsageError(f"--names: two systems are named {twice[0]!r}.", hint=hint)
    return {name: shown for name, shown in names.items() if shown != name}


def _systems(settings: EvaluateOptions) -> tuple[Mapping[Path, str], dict[str, Any]]:
    """Name the systems; a baseline file that is not among the runs is put first."""
    named = common.system_names(settings.runs)
    references = [*settings.baselines, *sorted(settings.named - {*settings.baselines})]
    others = [
        Path(name)
        for name in references
        if common.find_system(name, named) is None
        and Path(name).exists()
        and not Path(name).is_dir()
    ]
    named = common.system_names([*others, *settings.runs]) if others else named
    systems = {name: common.find_system(name, named) or name for name in references}
    for name in () if settings.pool_seeds else references:  # pooling names other systems
        if systems[name] not in named.values():
            near = nearest(name, named.values()) or "."
            neither = f"neither a system ({listed([*named.values()])}) nor an existing file"
            role = "baseline" if name in settings.baselines else "reference of the equivalence test"
            raise UsageError(f"the {role} {name!r} is {neither}{near}")
    changes: dict[str, Any] = {}
    if settings.baselines:
        changes["baseline"] = tuple(systems[name] for name in settings.baselines)
    if settings.against in systems:
        changes["against"] = systems[settings.against]
    return named, changes
