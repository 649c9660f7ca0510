"""Leak control: what a model must not be trained on, because it is tested on it.

A model trained on the conclusions of judged documents has seen test data. Three kinds of sources
list documents to leave out:

- ``qrels``: every judged document, whatever its grade;
- ``pools``: every listed document, one per line. A line has just the docno, ``qid docno``, ``qid Q0
  docno``, qrels' four columns or a run's six (trectools' pools, with ranks and scores 0);
- ``runs``: the ``depth`` best documents of every topic, and all tied with the last of them, because
  tools break ties differently.

Pools and runs may be file name patterns (``runs/2020/*.txt.gz``).

What a model was trained on nevertheless is compared with what it is tested on: of trainings before
they run by :class:`TrainedOn`, of trained models by the digests of queries that they keep.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import Field

from adducir.core.errors import InputError, gathering
from adducir.core.files import read_lines
from adducir.core.fingerprint import digest_of
from adducir.core.progress import progress
from adducir.core.recipe import Recipe, Several, as_tuple
from adducir.core.texts import same_text
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import source_path
from adducir.corpora.topics import Topics
from adducir.models.sources import RECIPES
from adducir.runs.docnos import absent
from adducir.runs.read import read_run
from adducir.training.data import same_number

QUERIES = "queries.npy"
"""The numbers (:func:`.same_number`) of the queries a model was trained on, beside its weights."""
_DOCNO_COLUMN = {1: 0, 2: 1, 3: 2, 4: 2, 6: 2}
"""The docno's column in a pool, by number of columns."""
_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class Excluded:
    by_source: dict[str, frozenset[str]]

    @cached_property
    def docnos(self) -> frozenset[str]:
        return frozenset[str]().union(*self.by_source.values())

    def __contains__(self, docno: object) -> bool:
        return docno in self.docnos

    def __len__(self) -> int:
        return len(self.docnos)

    def identity(self) -> dict[str, str]:
        """A digest of the docnos for fingerprints, independent of the sources' names."""
        return {"without": digest_of(sorted(self.docnos))}


@dataclass(frozen=True)
class TrainedOn:
    """What a model learns from, as far as that is known without reading its data.

    Attributes:
        queries: The numbers of its queries.
        corpus: The fingerprint of the corpus whose documents it learns from, judged or not.
        excluded: The docnos that it does not.
        key: The part of its recipe that leaves out more.
    """

    queries: frozenset[int] = frozenset()
    corpus: str = ""
    excluded: frozenset[str] = frozenset()
    key: str = "examples.without"

    def warnings(
        self, model: str, queries: Sequence[str], docnos: Collection[str], named: str
    ) -> Iterator[str]:
        """A line each if queries, or documents of its corpus, of a test set were trained on."""
        if seen := sum(same_number(query) in self.queries for query in queries):
            remedy = f"`{self.key}.topics` leaves them out"
            if not self.key.startswith("examples"):
                remedy = "train it on others"
            message = f"was trained on {seen:,} of the {len(queries):,} queries of {named}"
            yield f"{model} {message}: {remedy}"
        if self.corpus and (documents := len({*docnos} - self.excluded)):
            message = f"was trained on {documents:,} of the {len({*docnos}):,} documents judged"
            yield f"{model} {message} for {named}: `{self.key}.qrels` leaves them out"


def queries_of(model: Path) -> frozenset[int]:
    """The numbers of the queries that a trained model keeps; empty if it keeps none."""
    path = model.with_suffix("") if model.suffix in RECIPES else model
    if not (path / QUERIES).is_file():
        return frozenset()
    return frozenset(np.load(path / QUERIES, allow_pickle=False).tolist())


def note_seen(model: Path | None, topics: Topics) -> None:
    """Note topics that a model was trained on."""
    if model is not None:
        seen = TrainedOn(queries_of(model))
        for line in seen.warnings(str(model), topics.texts, (), topics.source):
            progress().note_once(line)


def documents_left(
    corpus: Corpus,
    excluded: Excluded,
    text: Callable[[Document], str],
    counts: dict[str, Any],
    judged: Collection[str] = (),
) -> Iterator[Document]:
    """The documents that are neither named nor copies (by ``text``); fills ``counts``.

    Those of ``judged``, and of what names documents to leave out, that the corpus lacks are noted.
    """

    def digest(document: Document) -> str:
        return digest_of([same_text(text(document))])

    named = (document for document in corpus if document.docno in excluded) if len(excluded) else ()
    copies = frozenset(map(digest, named)) - {digest_of([""])}
    tally = Counter[str](documents=0, excluded=0, copies=0)
    unseen = {*judged, *excluded.docnos}
    with progress().doing("reading documents", corpus.size_hint(), "documents"):
        for document in refuse_duplicates(corpus):
            progress().advance(1)
            unseen.discard(document.docno)
            tally["documents"] += 1
            if document.docno in excluded:
                tally["excluded"] += 1
            elif copies and digest(document) in copies:
                tally["copies"] += 1
            else:
                yield document
    by_source = {name: len(docnos - unseen) for name, docnos in excluded.by_source.items()}
    counts.update(tally, excluded_by_source=by_source)
    if lost := unseen.intersection(judged):
        progress().note_once(absent(lost, len(set(judged)), "judged", "the corpus"))
    for source, docnos in excluded.by_source.items():
        if not by_source[source]:
            message = "and the corpus share no docnos: is it for another version?"
            progress().note_once(f"{source} {message}")
        elif missing := docnos & unseen:
            message = absent(missing, len(docnos), "named", "the corpus")
            progress().note_once(f"{source}: {message}")


class WithoutPart(Recipe):
    """Sources of documents to leave out; see the module's docstring."""

    qrels: Several = ()
    """Qrels whose judged documents are left out, whatever the grade."""
    pools: Several = ()
    """Files that list documents to leave out."""
    runs: Several = ()
    """Runs whose best documents for every topic are left out."""
    depth: Annotated[int, Field(ge=1)] = 50
    """How many documents per topic of the runs, and all tied with the last."""

    @property
    def of_documents(self) -> bool:
        """Whether documents are named."""
        return bool(self.qrels or self.pools or self.runs)

    def excluded(self, folder: Path) -> Excluded:
        by_source: dict[str, frozenset[str]] = {}

        def add(kind: str, source: str) -> None:
            if kind == "qrels":
                named = [frozenset(load_qrels(source_path(source, folder)).frame["docno"])]
            elif kind == "pools":
                named = [pool_docnos(path) for path in _files(source, folder)]
            else:
                named = [run_docnos(path, self.depth) for path in _files(source, folder)]
            by_source[source] = by_source.get(source, frozenset()).union(*named)

        with gathering() as opening:
            for kind in ("qrels", "pools", "runs"):
                for source in as_tuple(getattr(self, kind)):
                    opening(partial(add, kind, source))
        return Excluded(by_source)


def pool_docnos(path: Path) -> frozenset[str]:
    """The docnos in a pool; see the module's docstring for formats."""
    docnos: set[str] = set()
    columns = 0
    for number, line in read_lines(path):
        cells = line.split()
        if not cells:
            continue
        columns = columns or len(cells)
        if len(cells) not in _DOCNO_COLUMN or len(cells) != columns:
            raise InputError(
                f"this line has {len(cells)} columns"
                f"{f', but the first has {columns}' if len(cells) != columns else ''}.",
                path=path,
                line=number,
                hint="A pool has one of these formats: docno; qid docno; qid Q0 docno; "
                "qrels; or runs.",
            )
        docnos.add(cells[_DOCNO_COLUMN[columns]])
    if not docnos:
        raise InputError("it contains no documents.", path=path)
    return frozenset(docnos)


def run_docnos(path: Path, depth: int) -> frozenset[str]:
    """The docnos of a run to a depth, with all tied with the last of them."""
    run = read_run(path)
    if run.depth > depth and run.frame["score"].n_unique() == 1:
        raise InputError(
            f"every score is {run.frame['score'][0]:g}, so a topic's best {depth} documents are "
            "undefined: this is a pool in run format.",
            path=path,
            hint="Name it under `pools`, where all documents count.",
        )
    last = run.frame.with_columns(rank=pl.Series(run.ranks)).with_columns(
        cut=pl.col("score").filter(pl.col("rank") < depth).min().over("qid")
    )
    return frozenset(last.filter(pl.col("score") >= pl.col("cut"))["docno"])


def _files(source: str, start: Path) -> Sequence[Path]:
    if not _PATTERN.intersection(source):
        return [Path(source_path(source, start)).expanduser()]
    folder, _, name = source.rpartition("/")
    place = Path(source_path(folder or ".", start)).expanduser()
    paths = sorted(path for path in place.glob(name) if path.is_file())
    if not paths:
        raise InputError(f"no file matches {name!r}.", path=place, absent=True)
    return paths
