"""``adducir judge``."""

from pathlib import Path
from typing import Annotated

from pydantic import model_validator

from adducir.cli import common
from adducir.cli.command import Writes, option, optional
from adducir.cli.console import near, note
from adducir.cli.texts import TextSources
from adducir.core.errors import UsageError
from adducir.core.recipe import Keyed, needs, without
from adducir.core.texts import counted, shortened
from adducir.corpora.reading import QueryReading
from adducir.judges.files import judgements_for
from adducir.runs.reading import RunReading


def _written(path: Path, recipe: "JudgeOptions") -> list[Path]:
    return [path] if recipe.by_hand else [path, judgements_for(path)]


class JudgeOptions(common.AskingModel, TextSources, QueryReading, RunReading):
    runs: common.Runs
    output: Path = option(
        "The qrels; judgements and metadata are beside them. Or the page, .html.",
        writes=Writes("file", (".qrels", ".txt", ".html"), _written),
    )
    by_hand: bool = option(
        "Write a page on which people judge a sheet of `adducir sample`, given as RUN.",
        default=False,
    )
    llm: Annotated[str | None, without("by_hand")] = optional(common.LLM)  # type: ignore[assignment]
    topics: Annotated[str | None, without("by_hand")] = optional(
        "An ir_datasets id, or a file with the topics.", reads=True
    )
    depth: int = option("How many top documents of each run are judged.", default=10, ge=1)
    prompt: str = option("A bundled prompt (graded, binary), or a file.", "-p", default="graded")
    repeat: int = option(
        "The number of the repeat: another one asks again, which shows the judge's own noise.",
        default=0,
        ge=0,
    )
    choices: Annotated[str | None, needs("by_hand")] = optional(
        "Grades and their labels on the page.",
        rare=True,
        shown="0=off the topic,1=related,2=answers in part,3=answers fully",
    )
    question: Annotated[str | None, needs("by_hand")] = optional("What the page asks.", rare=True)

    @model_validator(mode="after")
    def _is_complete(self) -> "JudgeOptions":
        if not self.by_hand and (self.llm is None or self.topics is None):
            lacking = "llm" if self.llm is None else "topics"
            raise ValueError(Keyed("{} is missing; or use {}", lacking, "by_hand"))
        if self.by_hand != (self.output.suffix.lower() == ".html"):
            message = "{} writes .html, and a model's judgements .qrels or .txt"
            raise ValueError(Keyed(message, "by_hand"))
        return self


def judge(settings: JudgeOptions) -> None:
    """Let a language model judge the top documents of runs, or people on a page.

    The texts of topics and documents are sent to the server that the file names. Answers are kept
    in a cache: killed work goes on where it stopped, and a second call costs nothing. A pair
    without a readable answer stays unjudged. A table from such qrels needs people's judgements of
    a sample to be believed: see `adducir sample`. With --by-hand they judge it on a page, which
    works offline and by keyboard, and saves what `adducir evaluate --set people=...` reads.

    Examples:
        adducir judge runs/*.trec.gz -t bundled:topics -c bundled:arguments -l llm/qwen.yaml \
-o model.qrels --dry-run
        adducir judge people.csv --by-hand -o people.html
    """
    if settings.by_hand:
        _write_page(settings)
        return
    settings.check_source()

    from adducir.judges.exchange import refuse_unreadable, told
    from adducir.judges.grading import ModelJudgements, judging
    from adducir.judges.llm import open_llm
    from adducir.judges.prompting import Prompt, open_prompt, refuse_empty_queries
    from adducir.judges.sampling import pooled

    # The recipe has refused to go without a model and topics.
    model, prompt = open_llm(settings.llm or ""), open_prompt(settings.prompt, Prompt)
    runs = [settings.read_run(path) for path in settings.runs]
    topics = settings.read_about(settings.topics or "")
    pairs = pooled(runs, settings.depth, topics)
    refuse_empty_queries(
        {qid: topics[qid]["query"] for qid in pairs["qid"].unique(maintain_order=True)}
    )
    texts = settings.by_docno(pairs["docno"])
    talk = judging(pairs, topics, texts, model, prompt, settings.repeat)
    if settings.dry_run:
        long = [len(texts[docno].split()) > prompt.words for docno in pairs["docno"]]
        note(f"{counted(sum(long), 'text')} cut")
    (frame,), record = settings.asked(model, [talk], settings.output)
    judged = ModelJudgements(frame, model, prompt, record)
    statuses = counts = told(judged.statuses)
    if len(unparsed := judged.frame.filter(status="unparsed")["answer"]):
        counts += f", such as {shortened(unparsed[0])!r}"
    what, most = "pairs have no grade", settings.failures
    refuse_unreadable(judged.ungraded, most, what, counts, record.path, common.WRITE_ANYWAY)
    more = {"runs": list(map(str, settings.runs)), "depth": settings.depth}
    judged.write(settings.output, more)
    note(
        f"{near(settings.output)}: {counted(len(pairs), 'pair')} by {model.name}: {statuses}; "
        f"{record.cached:,} cached, {counted(int(judged.frame['cut'].sum()), 'text')} cut"
    )


def _write_page(settings: JudgeOptions) -> None:
    from adducir.judges.by_hand import page_for

    if len(settings.runs) > 1:
        raise UsageError(
            "--by-hand takes one sheet.",
            hint="Draw documents of all runs with adducir sample; -n as large as the pool takes "
            "all.",
        )
    (sheet,) = settings.runs
    page = page_for(sheet, settings.choices, settings.question, common.stem(settings.output))
    page.write(settings.output)
    note(
        f"{near(settings.output)}: {counted(len(page.items), 'text')} to rate; it works offline, "
        "in any browser, for several people"
    )
