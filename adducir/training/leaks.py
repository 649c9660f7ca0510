"""Leak control: which documents a model must not be trained on, since it is tested on them.

A model that weights terms by the conclusions of judged documents has seen what the test asks for.
Three kinds of sources say which documents to leave out:

- ``qrels``: every document that they judge, with whatever grade;
- ``pools``: every document that they list, in files with one document a line. A line has the docno
  alone, ``qid docno``, ``qid Q0 docno``, qrels' four columns or a run's six (trectools writes pools
  so, with all ranks and scores 0);
- ``runs``: the ``depth`` best documents of every topic, and all that tie with the last of them,
  since tools break ties differently.

Pools and runs may be named by a pattern for file names (``runs/2020/*.txt.gz``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from adducir.core.absent import gathering
from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_lines
from adducir.core.fingerprint import digest_of
from adducir.corpora.qrels import load_qrels
from adducir.runs.read import read_run
from adducir.runs.run import Run

DEFAULT_DEPTH = 50

_DOCNO_COLUMN = {1: 0, 2: 1, 3: 2, 4: 2, 6: 2}
"""Where the docno stands in a pool's line of so many columns."""

_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class Without:
    """What names the documents to leave out; see the module's text.

    Attributes:
        qrels: Files of judgements, or ir_datasets ids.
        pools: Files that list documents.
        runs: Files of runs in TREC's format.
        depth: How far down a run's documents are left out.

    Raises:
        UsageError: ``depth`` is less than 1.
    """

    qrels: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    depth: int = DEFAULT_DEPTH

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError(f"the depth of runs is at least 1, not {self.depth}.")


@dataclass(frozen=True)
class Excluded:
    """Documents to leave out.

    Attributes:
        by_source: The docnos that each source names, under the source as the user named it.
    """

    by_source: dict[str, frozenset[str]]

    @cached_property
    def docnos(self) -> frozenset[str]:
        """The docnos that some source names."""
        return frozenset[str]().union(*self.by_source.values())

    @property
    def named(self) -> dict[str, int]:
        """How many documents each source names."""
        return {source: len(docnos) for source, docnos in self.by_source.items()}

    def found(self, docnos: Iterable[str]) -> dict[str, int]:
        """How many of these docnos each source names: of a corpus, say."""
        here = frozenset(docnos)
        return {source: len(named & here) for source, named in self.by_source.items()}

    def __contains__(self, docno: object) -> bool:
        return docno in self.docnos

    def __len__(self) -> int:
        return len(self.docnos)

    def identity(self) -> dict[str, str]:
        """A digest of the docnos, for fingerprints; what the sources are called is not in it."""
        return {"without": digest_of(sorted(self.docnos))}


NOBODY = Excluded({})
"""Leaves no document out."""


def excluded(without: Without, *, locate: Callable[[str], str] = str) -> Excluded:
    """Read the docnos that the sources name.

    Args:
        without: The sources.
        locate: Gives the path of a source as the user wrote it, or an ir_datasets id, so that a
            recipe's paths can start at its study's folder. Of a pattern it gets the folder.

    Raises:
        InputError: A source cannot be read, is of another kind than said, or a pattern fits no
            file; with file and line.
        MachineError: ir_datasets cannot download judgements.
    """
    found: dict[str, frozenset[str]] = {}

    def add(source: str, docnos: Iterable[str]) -> None:
        found[source] = found.get(source, frozenset()).union(docnos)

    def add_qrels(source: str) -> None:
        add(source, load_qrels(locate(source)).frame["docno"])

    def add_files(source: str, docnos_of: Callable[[Path], frozenset[str]]) -> None:
        for path in _files(source, locate):
            add(source, docnos_of(path))

    with gathering() as each:
        for source in without.qrels:
            each(partial(add_qrels, source))
        for source in without.pools:
            each(partial(add_files, source, pool_docnos))
        for source in without.runs:
            each(partial(add_files, source, partial(run_docnos, depth=without.depth)))
    return Excluded(found)


def pool_docnos(path: Path) -> frozenset[str]:
    """The docnos that a pool lists; see the module's text for the formats.

    Raises:
        InputError: The file cannot be read, is empty, or has a line of another number of columns
            than its first, or than any format.
    """
    docnos: set[str] = set()
    columns = 0
    for number, line in read_lines(path):
        cells = line.split()
        if not cells:
            continue
        columns = columns or len(cells)
        if len(cells) not in _DOCNO_COLUMN or len(cells) != columns:
            raise _wrong_columns(path, number, len(cells), columns)
        docnos.add(cells[_DOCNO_COLUMN[columns]])
    if not docnos:
        raise InputError("there are no documents in it.", path=path)
    return frozenset(docnos)


def run_docnos(path: Path, depth: int) -> frozenset[str]:
    """The docnos of a run down to a depth, with all that tie with the last of them.

    Raises:
        InputError: The file is no run; or it is a pool in a run's format, without an order.
    """
    run = read_run(path)
    _refuse_pool(run, path, depth)
    last = run.frame.with_columns(rank=pl.Series(run.ranks)).with_columns(
        cut=pl.col("score").filter(pl.col("rank") < depth).min().over("qid")
    )
    return frozenset(last.filter(pl.col("score") >= pl.col("cut"))["docno"])


def _refuse_pool(run: Run, path: Path, depth: int) -> None:
    if run.depth > depth and run.frame["score"].n_unique() == 1:
        raise InputError(
            f"every score is {run.frame['score'][0]:g}, so that no {depth} of a topic's documents "
            "are its best: this is a pool in a run's format.",
            path=path,
            hint="Name it under `pools`, where all its documents count.",
        )


def _wrong_columns(path: Path, line: int, count: int, first: int) -> InputError:
    plural = "column" if count == 1 else "columns"
    before = "" if count == first else f" where the lines before have {first}"
    return InputError(
        f"there are {count} {plural}{before}.",
        path=path,
        line=line,
        hint="A pool's lines are all of one form: docno; qid docno; qid Q0 docno; those of qrels; "
        "those of runs.",
    )


def _files(source: str, locate: Callable[[str], str]) -> Sequence[Path]:
    """The file of a source, or those that its pattern fits, sorted."""
    folder, _, name = source.rpartition("/")
    if not _PATTERN.intersection(source):
        return [Path(locate(source)).expanduser()]
    if _PATTERN.intersection(folder):
        raise InputError(
            f"the pattern {source!r} has its signs in a folder's name.",
            hint="Only a file's name may be a pattern; name each folder by itself.",
        )
    place = Path(locate(folder or ".")).expanduser()
    found = sorted(path for path in place.glob(name) if path.is_file())
    if not found:
        raise InputError(f"no file is called like {name!r}.", path=place, absent=True)
    return found
