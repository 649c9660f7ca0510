"""``adducir show``."""

from pathlib import Path

from adducir.cli import common
from adducir.cli.command import optional
from adducir.cli.console import columns
from adducir.cli.console import show as line
from adducir.core.errors import InputError, UsageError
from adducir.corpora.reading import QrelsReading, QueryReading
from adducir.runs.reading import RunReading


class ShowOptions(RunReading, QrelsReading, QueryReading):
    runs: common.Runs
    topic: str | None = optional("The topic; without it, a model.", metavar="QID")
    topics: str | None = optional("The queries: a file or an ir_datasets id.", reads=True)
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    index: Path | None = optional("An index that stores the documents' texts.")
    term: str | None = optional("A term of an index: its documents.", rare=True)
    docno: str | None = optional("A document of an index: its terms.", rare=True)
    depth: common.Depth = 10
    allow_code: common.AllowCode = False


def show(settings: ShowOptions) -> None:
    """Show the hits of a topic, of two runs side by side; or what a model is.

    With --qrels grades are shown, with --index texts. A document's rank in the other run follows
    it. Without --topic, the only argument is a model (its folder, 'minilm' or a name on the Hub):
    what it is, how it reads texts, and what states that; or an index: its fields, settings and
    counts, with --set term=... a term's documents, with --set docno=... a document's terms.

    Examples:
        adducir show runs/bm25.trec.gz --topic 12
        adducir show runs/bm25.trec.gz runs/rm3.trec.gz --topic 12 -q bundled:qrels \
-i indexes/arguments
        adducir show minilm
        adducir show indexes/arguments --set term=school
    """
    if settings.topic is not None:
        _show_hits(settings, settings.topic)
    elif _is_index(settings.runs[0]):
        _show_index(settings)
    else:
        from adducir.rerankers.recipe import model_lines

        if len(settings.runs) != 1:
            raise UsageError("name one model, or give --topic to show runs.")
        for text in model_lines(str(settings.runs[0])):  # some take a while
            line(text)


def _show_hits(settings: ShowOptions, topic: str) -> None:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    from adducir.cli.hits import Screen, graded, texts_of, title_of
    from adducir.core.texts import visible
    from adducir.corpora.documents import text_of
    from adducir.indexes.engines import open_index

    if len(settings.runs) > 2:
        raise UsageError("at most two runs can be shown.", hint="Name one or two.")
    rankings = list[list[tuple[str, float]]]()
    for path in settings.runs:
        frame = settings.read_run(path).frame.filter(qid=topic)
        if not frame.height:
            raise InputError(f"the run lacks the topic {topic!r}.", path=path)
        rankings.append(list(zip(frame["docno"], frame["score"], strict=True)))
    qrels = settings.read_qrels(settings.qrels).to_dict() if settings.qrels else {}
    grades = qrels.get(topic, {})
    shown = [ranking[: settings.depth] for ranking in rankings]
    index = open_index(settings.index) if settings.index else None
    docnos = [docno for ranking in shown for docno, _ in ranking]
    documents = texts_of(index, docnos) if index else {}
    ranks = [{docno: n for n, (docno, _) in enumerate(ranking, 1)} for ranking in rankings]

    heading = f"topic {topic}"
    if settings.topics:
        heading += f": {settings.read_topics(settings.topics).to_dict().get(topic, '')}"
    table = Table(title=visible(heading), title_justify="left", box=None, pad_edge=False)
    table.add_column("", justify="right", style="bold cyan")
    longest = max(cell_len(visible(docno)) for docno in docnos)
    for n, name in enumerate(common.system_names(settings.runs).values()):
        table.add_column(visible(name), ratio=1, overflow="fold", min_width=longest)
        table.add_column("score", justify="right", style="dim", no_wrap=True)
        if settings.qrels:
            table.add_column("grade", justify="right", no_wrap=True)
        if len(rankings) == 2:
            table.add_column(f"in {'AB'[1 - n]}", justify="right", style="dim", min_width=4)
    for row in range(max(map(len, shown))):
        cells: list[Text | str] = [str(row + 1)]
        for n, ranking in enumerate(shown):
            docno, score = ranking[row] if row < len(ranking) else ("", None)
            named = Text(visible(docno))
            if docno in documents:
                document = documents[docno]
                text = title_of(document) or " ".join(text_of(document, [*document.fields]).split())
                named.append(f" {visible(text)[:120]}", style="dim")
            cells += [named, "" if score is None else f"{score:.4f}"]
            if settings.qrels:
                cells.append(graded(grades, docno) if docno else "")
            if len(rankings) == 2:
                cells.append(str(ranks[1 - n].get(docno, "–")) if docno else "")
        table.add_row(*cells)
    screen = Screen()  # wider than the terminal, rather than with broken docnos
    wide = screen.options.update_width(10_000)
    screen.width = max(screen.width, screen.measure(table, options=wide).minimum)
    screen.print(table)


def _is_index(path: Path) -> bool:
    from adducir.core.manifests import MANIFEST, read_manifest
    from adducir.indexes.kinds import KINDS

    if (path / MANIFEST).is_file():
        return read_manifest(path).kind in {*KINDS.values()}
    return path.is_dir() and any((*path.glob("segments_*"), *path.glob("params.index.json")))


def _show_index(settings: ShowOptions) -> None:
    from adducir.indexes.engines import open_index

    index, rows = open_index(settings.runs[0]), list[tuple[str, str]]()
    if settings.term is not None:
        terms = index.analysis.terms([settings.term])[0] or [settings.term]
        for entry in map(index.term, [settings.term] if settings.term in terms else terms):
            line(f"{entry.term}: df {entry.df:,}, cf {entry.cf:,}")
            rows += [(docno, f"{tf:g}") for docno, tf in entry.postings[: settings.depth].rows()]
    elif settings.docno is not None:
        rows = [(term, f"{tf:g}") for term, tf in index.vector(settings.docno).items()]
    else:
        for key, value in index.facts().items():
            line(f"{key.replace('_', ' ')}: {value}")
    if rows:
        line("\n".join(columns(rows)))
