"""``adducir nuggets``: create, assign, score."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adducir.cli import common
from adducir.cli.command import option, optional, repeatable
from adducir.cli.console import near, note
from adducir.cli.sample import SHEET
from adducir.cli.texts import TextSources
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe, needs, without
from adducir.core.texts import counted
from adducir.corpora.reading import QueryReading
from adducir.judges.files import design_for
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.judges.answers import Asked
    from adducir.judges.nuggets import Assigned, Bank, Nugget

OWN_PROMPTS = optional(
    "A folder with create.yaml, importance.yaml and assign.yaml, instead of the bundled ones.",
    rare=True,
)


class NuggetsCreateOptions(common.AskingModel, TextSources, QueryReading, RunReading):
    runs: common.Runs
    output: Path = option("The nuggets, in nuggetizer's JSON lines.", writes=common.JSONL)
    topics: common.Topics
    depth: int = option("How many top documents of each run are looked at.", default=10, ge=1)
    window: int = option("Documents that are looked at together.", default=5, ge=1)
    max_nuggets: int = option("Nuggets of a topic, at most.", default=30, ge=1)
    prompts: Path | None = OWN_PROMPTS


class NuggetsAssignOptions(common.AskingModel, TextSources, RunReading):
    texts_of: tuple[Path, ...] = option(
        "Generated responses (AutoJudge's reports, or JSON lines with qid and answer); or runs, "
        "with --index or --corpus.",
        metavar="FILE",
        argument=True,
    )
    nuggets: Path = option("The nuggets: nuggetizer's or AutoJudge's.", "-n")
    output: Path = option("The assignments, in nuggetizer's JSON lines.", writes=common.JSONL)
    depth: Annotated[int, needs("index", "corpus")] = option(
        "How many top documents of each run are looked at.", default=10, ge=1
    )
    prompts: Path | None = OWN_PROMPTS


class NuggetsResponsesOptions(Recipe):
    files: tuple[Path, ...] = option(
        "Responses: JSON lines with qid and answer, KILT's, or reports.",
        metavar="FILE",
        argument=True,
    )
    output: Path = option("The reports.", writes=common.JSONL)
    team: str = option("The team, for responses that do not say it.", default="unknown")


class NuggetsSampleOptions(Recipe):
    assigned: tuple[Path, ...] = option("Assignments.", metavar="FILE", argument=True)
    output: Path = option("The sheet for people.", writes=SHEET)
    size: int = option("How many nuggets of answers people judge.", "-n", ge=1)
    seed: int = option("Draws them.", default=0, ge=0)


class NuggetsScoreOptions(RunReading):
    assigned: tuple[Path, ...] = option("Assignments.", metavar="FILE", argument=True)
    output: Path = option("Values per topic, for `adducir compare`.", writes=common.CSV)
    nuggets: Path | None = optional(
        "The nuggets: topics of theirs that nobody's texts were assigned to count 0.", "-n"
    )
    runs: tuple[Path, ...] = repeatable(
        "The runs whose documents were looked at; can be repeated.", "-r"
    )
    depth: Annotated[int, needs("runs")] = option(
        "How many top documents of a run count together.", default=10, ge=1
    )
    people: Annotated[common.Paths, without("runs")] = repeatable(
        "The sheets of `adducir nuggets sample` with people's grades, or what its page saved, to "
        "correct the model's assignments.",
        reads=True,
        rare=True,
    )


def nuggets_create(settings: NuggetsCreateOptions) -> None:
    """Let a language model list the facts (nuggets) that an answer to each topic should contain.

    It looks at the top documents of all runs, a few at a time, and says which nuggets are vital.
    Unreadable answers are counted: the list stays as it was, a nugget without a readable importance
    is not vital.

    Examples:
        adducir nuggets create runs/*.trec.gz -t bundled:topics -c bundled:arguments \
-l llm/qwen.yaml -o nuggets.jsonl
    """
    settings.check_source()

    import polars as pl

    from adducir.judges.llm import open_llm
    from adducir.judges.nugget_files import write_banks
    from adducir.judges.nuggets import PROMPTS, NuggetWriter
    from adducir.judges.prompting import refuse_empty_queries

    model = open_llm(settings.llm)
    writer = NuggetWriter(model, settings.prompts or PROMPTS, settings.window, settings.max_nuggets)
    runs = [settings.read_run(path) for path in settings.runs]
    topics = settings.read_about(settings.topics)
    tops = [run.top(settings.depth).to_polars().select("qid", "docno", "rank") for run in runs]
    pairs = pl.concat(tops).group_by("qid", "docno").agg(pl.col("rank").min())
    pairs = pairs.sort("qid", "rank", "docno")
    by_docno = settings.by_docno(pairs["docno"])
    by_qid = pairs.partition_by("qid", as_dict=True)
    texts = {
        qid: [by_docno[docno] for docno in by_qid[qid,]["docno"]]
        for qid in topics
        if (qid,) in by_qid
    }
    refuse_empty_queries({qid: topics[qid]["query"] for qid in texts})
    statuses = Counter[str]()
    talks = [writer.talk(qid, topics[qid], some, statuses) for qid, some in texts.items()]
    bounds = [writer.bound(topics[qid], some) for qid, some in texts.items()]
    banks, record = settings.asked(model, talks, settings.output, bounds)
    said = _readable(statuses, settings.failures, record)
    write_banks(banks, settings.output)
    total = sum(len(bank.nuggets) for bank in banks)
    note(
        f"{near(settings.output)}: {counted(total, 'nugget')} of {counted(len(banks), 'topic')}"
        f" by {model.name}: {said}"
    )


def nuggets_assign(settings: NuggetsAssignOptions) -> None:
    """Let a language model say which nuggets generated responses, or retrieved texts, contain.

    Each nugget of a text is asked for alone: in full, in part, or not. What has no readable answer
    is `failed`, and counted.

    Examples:
        adducir nuggets assign responses.jsonl -n nuggets.jsonl -l llm/qwen.yaml -o assigned.jsonl
    """
    from adducir.judges.llm import open_llm
    from adducir.judges.nugget_files import read_banks, write_assigned
    from adducir.judges.nuggets import PROMPTS, assigning
    from adducir.judges.prompting import Prompt, open_prompt

    model = open_llm(settings.llm)
    prompt = open_prompt("assign.yaml", Prompt, settings.prompts or PROMPTS)
    banks = {bank.qid: bank for bank in read_banks(settings.nuggets)}
    items = list(_texts(settings, banks))
    if not items:
        raise UsageError("none of the texts belongs to a topic with nuggets.")
    statuses = Counter[str]()
    talks = [assigning(item, model, prompt, statuses) for item in items]
    assigned, record = settings.asked(model, talks, settings.output)
    said = _readable(statuses, settings.failures, record)
    write_assigned(assigned, settings.output)
    note(f"{near(settings.output)}: {counted(len(items), 'text')} by {model.name}: {said}")


def _texts(settings: NuggetsAssignOptions, banks: "Mapping[str, Bank]") -> "Iterator[Assigned]":
    """Each text with the nuggets of its topic: responses by system, or documents once."""
    from adducir.judges.nugget_files import read_responses
    from adducir.judges.nuggets import Assigned
    from adducir.judges.sampling import pooled

    if settings.index is None and settings.corpus is None:
        responses = read_responses(common.system_names(settings.texts_of))
        for system, qid, text in responses:
            if qid in banks:
                yield Assigned(qid, banks[qid].query, text, banks[qid].nuggets, system)
        if absent := sum(qid not in banks for _, qid, _ in responses):
            note(f"{counted(absent, 'response')} to topics without nuggets left out")
        return
    settings.check_source()
    runs = [settings.read_run(path) for path in settings.texts_of]
    pairs = pooled(runs, settings.depth, banks)
    texts = settings.by_docno(pairs["docno"])
    for qid, docno in pairs.iter_rows():
        yield Assigned(qid, banks[qid].query, texts[docno], banks[qid].nuggets, docno=docno)


def nuggets_responses(settings: NuggetsResponsesOptions) -> None:
    """Write generated responses as AutoJudge's reports, of any form that `assign` reads.

    Sentences cite documents by docno, the best first, whether they did by places in references, by
    confidences or by KILT's provenance. The file name is the run of lines that do not say it.

    Examples:
        adducir nuggets responses answers.jsonl --team owls -o reports.jsonl
    """
    from adducir.judges.files import write_lines
    from adducir.judges.nugget_files import read_reports

    reports = read_reports(common.system_names(settings.files))
    for report in reports:
        report["metadata"] = {"team_id": settings.team} | report["metadata"]
    write_lines(reports, settings.output)
    note(f"{near(settings.output)}: {counted(len(reports), 'report')}")


def nuggets_sample(settings: NuggetsSampleOptions) -> None:
    """Draw nuggets of answers for people to judge, so that a model's assignments can be corrected.

    People fill in the column `grade`: whether the text does not contain the fact (0), does in part
    (1) or in full (2); or use a page: adducir judge SHEET --by-hand. Then `adducir nuggets score
    --set people=SHEET` corrects the scores. The file beside the sheet, .design.json, has to stay.

    Examples:
        adducir nuggets sample assigned.jsonl -n 200 -o people.csv
    """
    from adducir.judges.nugget_files import read_assigned
    from adducir.judges.nugget_samples import nugget_pairs, sheet_of_nuggets
    from adducir.judges.sampling import draw_documents
    from adducir.judges.sheets import Design, write_sheet

    items, _ = read_assigned(common.system_names(settings.assigned))
    pairs = nugget_pairs(items)
    drawn = draw_documents(pairs.select("qid", "docno"), settings.size, settings.seed)
    design = Design(drawn, settings.seed)
    write_sheet(design, settings.output, sheet_of_nuggets(pairs.filter(drawn["drawn"])))
    note(
        f"{near(settings.output)}: {counted(settings.size, 'nugget')} of {len(pairs):,} in answers "
        f"of {counted(pairs['system'].n_unique(), 'system')}, "
        f"{counted(pairs['qid'].n_unique(), 'topic')}; keep {design_for(settings.output).name} "
        "beside it"
    )


def nuggets_score(settings: NuggetsScoreOptions) -> None:
    """Score how many nuggets systems' texts contain, per topic.

    Of vital and of all nuggets, counting only full support (strict) or partial support by half, as
    nuggetizer does, and the share with any support (coverage). Assignments that failed leave the
    score, and are counted. Of a run, the best assignment of its top documents counts. With people's
    grades of a sample (`adducir nuggets sample`) values are corrected: right on average, whatever
    the model says.

    Examples:
        adducir nuggets score assigned.jsonl -o nuggets.csv
    """
    from adducir.core.csv_files import CsvWriter
    from adducir.core.files import writing_text
    from adducir.judges.nugget_files import read_assigned, read_banks
    from adducir.judges.nugget_samples import corrected_scores
    from adducir.judges.nuggets import scored
    from adducir.judges.sheets import read_sheet

    stated = read_banks(settings.nuggets) if settings.nuggets else ()
    items, banks = read_assigned(common.system_names(settings.assigned), stated)
    if settings.people:
        design, grades = read_sheet(*settings.people)
        rows, left_out = corrected_scores(items, banks, design, grades)
        said = f"; corrected by {counted(len(grades), 'nugget')} that people judged"
    else:
        systems = dict[str, Any]()
        for item in items:
            if not item.docno:
                systems.setdefault(item.system, {})[item.qid] = item.nuggets
        if any(item.docno for item in items):
            systems |= _of_runs(settings, items)
        rows, left_out, failed = scored(systems, banks)
        said = f"; {counted(failed, 'assignment')} failed and left out" if failed else ""
        said += "; not corrected by people (adducir nuggets sample)"
    with writing_text(settings.output) as file:
        head = "system", "qid", "measure", "value", "higher_is_better"
        CsvWriter(file).rows([head, *((*row, "true") for row in rows)])
    if left_out:
        said += f"; {counted(len(left_out), 'topic')} without a readable vital nugget left out"
    note(
        f"{near(settings.output)}: {counted(len({row[0] for row in rows}), 'system')}, "
        f"{counted(len(banks) - len(left_out), 'topic')}{said}"
    )


def _of_runs(
    settings: NuggetsScoreOptions, items: "Sequence[Assigned]"
) -> "dict[str, dict[str, Sequence[Nugget]]]":
    import polars as pl

    from adducir.judges.nuggets import of_documents

    if not settings.runs:
        raise UsageError(
            "these are assignments of documents, so runs are needed to score.",
            hint="Name the runs: -r runs/bm25.trec.gz.",
        )
    by_pair = {(item.qid, item.docno): item.nuggets for item in items if item.docno}
    qids = {qid for qid, _ in by_pair}
    systems = dict[str, Any]()
    for path, name in common.system_names(settings.runs).items():
        documents: dict[str, list[Any]] = defaultdict(list)
        top = settings.read_run(path).top(settings.depth).frame
        for qid, docno in top.filter(pl.col("qid").is_in(qids)).select("qid", "docno").iter_rows():
            if (qid, docno) not in by_pair:
                raise InputError(
                    f"document {docno} of topic {qid} has no assignments.",
                    path=path,
                    hint="Assign the nuggets to this run's documents, too: adducir nuggets assign.",
                )
            documents[qid].append(by_pair[qid, docno])
        systems[name] = {qid: of_documents(some) for qid, some in documents.items()}
    return systems


def _readable(statuses: "Counter[str]", most: float, record: "Asked") -> str:
    """How answers ended, in words; more than a share that cannot be read are refused."""
    from adducir.judges.exchange import refuse_unreadable, told, unreadable_share

    share, counts = unreadable_share(statuses), told(statuses)
    refuse_unreadable(
        share, most, "answers are not readable", counts, record.path, common.WRITE_ANYWAY
    )
    return f"{counts}; {record.cached:,} cached"
