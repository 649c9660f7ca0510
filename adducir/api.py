"""What ``import adducir`` offers as functions: from documents to a tested table.

Everything is taken as an object or by name: an index or its folder, a model or ``"bm25"``, topics,
qrels and runs as objects, files, data frames or dicts. What cannot be taken is a
:class:`~adducir.core.errors.UsageError`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, Unpack, overload

from adducir.core.errors import UsageError
from adducir.core.recipe import refusing
from adducir.core.texts import items_in, refuse_unless_path, typed
from adducir.corpora.documents import Corpus
from adducir.corpora.frames import TAKEN, Frame, Nested, Tabular, are_records, is_frame
from adducir.corpora.qrels import as_qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics, as_topics
from adducir.runs.read import as_run
from adducir.runs.run import Run
from adducir.statistics.arguments import TestingArguments

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures import Measure

    from adducir.corpora.qrels import Judged
    from adducir.evaluation.scores import Scores
    from adducir.experiments.experiment import Outcome
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.index import Index
    from adducir.indexes.models import Model
    from adducir.indexes.settings import IndexSettings
    from adducir.rerankers.recipe import Reranker
    from adducir.statistics.comparison import Comparison

PathLike = str | os.PathLike[str]
Runs: TypeAlias = "Run | PathLike | Frame | pd.Series[Any] | Nested | Iterable[NamedTuple]"
Queries: TypeAlias = "Topics | PathLike | Tabular | Mapping[str, str]"
Measures: TypeAlias = "str | Measure | Iterable[str | Measure] | None"
Grades: TypeAlias = Literal["zero", "trec_eval"]
Documents: TypeAlias = "Corpus | PathLike | Frame | Iterable[Mapping[str, Any]]"


@typed
def build_index(
    documents: Documents,
    path: PathLike,
    settings: "IndexSettings | str" = "lucene",
    *,
    threads: int | None = None,
    device: str = "auto",
    rebuild: bool = False,
) -> "Index":
    """Build an index, unless ``path`` already holds the one that would be built, and open it.

    Content and rankings do not depend on threads, except that device and batches affect the last
    digits of a network's vectors.

    Args:
        documents: A corpus, a file or folder, an ir_datasets id, a data frame, or dicts with a
            docno and texts.
        path: The index's folder.
        settings: An index's settings, or the name of a kind (``lucene``, ``memory``).
        threads: By default one per core.
        device: Where the encoder of a dense index runs.
        rebuild: Build it even if it is up to date.

    Returns:
        The index; ``index.manifest.counts`` has its numbers of documents, of ``empty`` ones without
        text, of terms and tokens.

    Raises:
        AdducirError: A document is malformed, a field is unknown, Java is missing, or ``path``
            holds something else.

    Example:
        >>> pets = [{"docno": "x", "text": "cats like fish"}, {"docno": "y", "text": "dogs run"}]
        >>> index = ad.build_index(pets, "pets", ad.MemorySettings(stemmer="krovetz"))
        >>> len(index), index.default_model
        (2, 'bm25')
    """
    from adducir.indexes.engines import open_index
    from adducir.indexes.kinds import INDEXES
    from adducir.models.running import Running

    folder, chosen = _path(path, "`path`"), INDEXES.chosen(settings)
    with refusing():
        chosen.refuse_idle(device=device != "auto", threads=threads is not None)
    chosen.build(as_corpus(documents), folder, Running(device, threads), rebuild=rebuild)
    return open_index(folder, device=device)


@typed
def search(
    index: "Index | PathLike",
    topics: Queries,
    model: "Model | str | None" = None,
    *,
    feedback: "FeedbackMethod | str | None" = None,
    depth: int | Literal["all"] | None = 1000,
    fold: str | None = None,
    encoder: PathLike | None = None,
    tag: str | None = None,
    threads: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Run:
    """Search an index for all topics, as ``adducir search`` does.

    Args:
        index: An index or its folder.
        topics: Topics, their file or ir_datasets id, a data frame (qid, query) or a dict.
        model: A retrieval model or its name; by default the index's.
        feedback: A feedback method or its name, to expand queries first.
        depth: Documents per topic at most; None for all with a query term.
        fold: Rank documents by their passages: ``firstp``, ``maxp``, ``sump`` or ``avgp``.
        encoder: Of token weights, the learned sparse encoder of the topics; of the folder of a
            dense index, the new name of its encoder, if it has moved.
        tag: The run's name; by default the model's and the method's.
        threads: By default one per core.
        parameters: Hyperparameters of the model and the feedback method, as in a file.

    Returns:
        The run, whose ``metadata`` state how it was made and are written by :func:`write_run`.

    Raises:
        AdducirError: The index does not support the model, or topics cannot be read.

    Example:
        >>> run = ad.search("pets", {"1": "cats"}, "bm25", feedback="rm3", parameters={"k1": 1.2})
        >>> run.tag, sorted(run.to_dict()["1"])
        ('bm25-rm3', ['x', 'z'])
    """
    from adducir.indexes.search import search_topics
    from adducir.indexes.search_settings import SearchSettings
    from adducir.models.running import Running

    named = None if encoder is None else _name(encoder, "`encoder`")
    stated: Any = {"model": model, "feedback": feedback, "depth": depth, "fold": fold}
    with refusing():
        settings = SearchSettings(**stated, encoder=named, parameters={**(parameters or {})})
    queries, opened = as_topics(topics), as_index(index, named)
    return search_topics(opened, queries, settings, tag=tag, running=Running(threads=threads)).run


@typed
def rerank(
    run: Runs,
    topics: Queries,
    texts: "Index | Documents",
    reranker: "Reranker | PathLike",
    *,
    depth: int = 100,
    fold: str | None = None,
    fields: Sequence[str] = (),
    tag: str | None = None,
    device: str = "auto",
) -> Run:
    """Rerank the best documents of a run with a neural model, as ``adducir rerank`` does.

    Args:
        run: The candidates.
        topics: The topics that were searched.
        texts: The index or the documents with the texts.
        reranker: A recipe, a folder, or a name such as ``maxsim:minilm``.
        depth: Documents per topic to rerank; the rest follow in their old order.
        fold: Rank documents by their reranked passages: ``firstp``, ``maxp``, ``sump``, ``avgp``.
        fields: The fields to read; by default the reranker's recipe's, or those indexed.
        tag: The new run's name; by default the old one with the reranker's.
        device: Where the model runs.

    Raises:
        AdducirError: A topic or a document of the run is not among the others, or the model fails.

    Example:
        >>> ad.rerank(run, {"1": "cats"}, "pets", "maxsim:minilm", tag="again").qids
        ['1']
    """
    from adducir.models.running import Running
    from adducir.rerankers.recipe import Reranker, open_reranker
    from adducir.rerankers.rerank import rerank as rerank_run
    from adducir.rerankers.rerank import reranked_part, texts_for
    from adducir.runs.kinds import RerankSettings
    from adducir.runs.write import facts_at, part_of, remade, reranked_method

    opened = reranker if isinstance(reranker, Reranker) else None
    name = opened.name if opened else _name(reranker, "`reranker`")
    with refusing():
        settings = RerankSettings(reranker=name, depth=depth, fold=fold, fields=fields)  # type: ignore[arg-type]
    candidates, queries = as_run(run), as_topics(topics)
    opened = opened or open_reranker(name, running=Running(device))
    source = as_index(texts) if _is_index(texts) else as_corpus(texts)  # type: ignore[arg-type]
    with TemporaryDirectory(prefix="adducir-", ignore_cleanup_errors=True) as scratch:
        docnos = reranked_part(candidates, depth, how := settings.fold).frame["docno"]
        read = texts_for(source, docnos, settings.fields, opened.fields, Path(scratch))
        found = rerank_run(candidates, queries, read, opened, depth=depth, fold=how, tag=tag)
    facts = candidates.metadata or (facts_at(candidates.path) if candidates.path else {})
    stages = reranked_method(part_of(facts, "method"), found.settings)
    return replace(found.run, metadata=remade(facts, stages))


@typed
def fuse(
    runs: "Iterable[Runs]",
    method: str = "rrf",
    *,
    weights: Sequence[float] | None = None,
    depth: int | Literal["all"] | None = 1000,
    tag: str | None = None,
    **hyperparameters: float | str | None,
) -> Run:
    """Fuse two or more runs topic by topic; a run that lacks a document adds nothing to it.

    Args:
        runs: Runs, files, frames or dicts.
        method: ``rrf``, ``combsum``, ``combmnz``, or a package's.
        weights: A number of 0 or more per run.
        depth: Documents per topic at most; None for all.
        tag: The new run's name; by default the method's.
        hyperparameters: The method's, such as ``k`` of ``rrf``.

    Raises:
        AdducirError: A run cannot be read, or runs, weights and hyperparameters do not fit.

    Example:
        >>> fused = ad.fuse([{"1": {"x": 2.0}}, {"1": {"y": 9.0, "x": 1.0}}], k=60)
        >>> fused.frame["docno"].to_list()
        ['x', 'y']
    """
    from adducir.runs import fusion
    from adducir.runs.kinds import FusionSettings

    every = [as_run(one, f"run{number}") for number, one in enumerate(items_in(runs, "`runs`"), 1)]
    stated: Any = {"method": method, "depth": depth, "parameters": hyperparameters}
    with refusing():
        settings = FusionSettings(**stated, weights=() if weights is None else tuple(weights))
    how = {"method": fusion.fused_method(settings, [str(run.path or run.tag) for run in every])}
    return replace(fusion.fuse(every, settings, tag), metadata=how)


@overload
def evaluate(  # type: ignore[overload-overlap]
    run: Runs, qrels: "Judged", measures: Measures = ..., *, negative_grades: Grades = ...
) -> "Scores": ...
@overload
def evaluate(
    run: Sequence[Runs], qrels: "Judged", measures: Measures = ..., *, negative_grades: Grades = ...
) -> "list[Scores]": ...
@typed
def evaluate(
    run: "Runs | Iterable[Runs]",
    qrels: "Judged",
    measures: Measures = None,
    *,
    negative_grades: Grades = "zero",
) -> "Scores | list[Scores]":
    """Evaluate a run, or several with the same judgements.

    A judged topic without documents counts 0, as with trec_eval's ``-c``.

    Args:
        run: A run, a file, a frame or a dict; or a list of these.
        qrels: Judgements, their file or ir_datasets id, a frame or a dict.
        measures: As ir_measures writes them, such as ``"nDCG@10 AP"``; by default the usual ones.
        negative_grades: They count as judged and not relevant, or as unjudged (``trec_eval``).

    Returns:
        Scores, a value per topic and measure; of a list of runs, a list of them.

    Raises:
        AdducirError: A run or the judgements cannot be read, or a measure is unknown.

    Example:
        >>> scores = ad.evaluate({"1": {"x": 2.0, "y": 1.0}}, {"1": {"y": 1}}, "RR AP")
        >>> scores.mean("RR")
        0.5
    """
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.measures import DEFAULT_MEASURES, needs_subtopics, parse_measures

    parsed = parse_measures(" ".join(DEFAULT_MEASURES) if measures is None else measures)
    judged = as_qrels(qrels, subtopics=needs_subtopics(parsed))
    evaluator = Evaluator(judged, parsed, negative_grades=negative_grades)
    if isinstance(run, Run | Mapping) or _is_path(run) or is_frame(run) or hasattr(run, "to_frame"):
        return evaluator.score(as_run(run))  # type: ignore[arg-type]
    runs = [*items_in(run, "`run`", TAKEN)]
    if are_records(runs):
        return evaluator.score(as_run(runs))
    return [evaluator.score(as_run(each, f"run{number}")) for number, each in enumerate(runs, 1)]


@typed
def compare(
    scores: "Scores | Iterable[Scores]", **settings: Unpack[TestingArguments]
) -> "Comparison":
    """Test systems for differences and for equivalence on all measures.

    Args:
        scores: What :func:`evaluate` returned for several runs.
        settings: ``baseline``, the system that the others are compared with, or several, and how
            to test: ``test``, ``correction``, ``alpha``, ``equivalence`` and the like
            (docs/statistics.md).

    Raises:
        AdducirError: Topics or measures differ, or a setting is unknown or has no effect.

    Example:
        >>> qrels = {"1": {"x": 1}, "2": {"y": 1}, "3": {"z": 1}}
        >>> good = ad.Run.of({"1": {"x": 2.0}, "2": {"y": 2.0}, "3": {"a": 1.0}}, tag="good")
        >>> poor = ad.Run.of({"1": {"y": 2.0}, "2": {"x": 2.0}, "3": {"a": 1.0}}, tag="poor")
        >>> comparison = ad.compare(ad.evaluate([good, poor], qrels, "RR"), baseline="poor")
        >>> round(comparison.to_polars().filter(measure="RR")["difference"].item(), 3)
        0.667
    """
    from adducir.evaluation.scores import Scores
    from adducir.statistics.comparison import compare as compare_scores

    every = [scores] if isinstance(scores, Scores) else [*items_in(scores, "`scores`")]
    return compare_scores(every, **settings)


@typed
def experiment(
    file: PathLike,
    overrides: Sequence[str] = (),
    *,
    rebuild: bool = False,
    allow_code: bool = False,
    threads: int | None = None,
    device: str = "auto",
) -> "Outcome":
    """Run an experiment file: build what is missing, evaluate, test, write all tables.

    Args:
        file: The experiment file.
        overrides: Changes of its keys, such as ``systems.BM25.k1=1.2``.
        rebuild: Build everything, even what exists.
        allow_code: Allow the file's Python code to run, and that of its models.
        threads: Threads of searches and networks; by default one per core.
        device: Where networks run.

    Returns:
        The tables, in ``tables`` by name and ``table`` for a single one, and their files.

    Raises:
        AdducirError: The file has errors, all with their lines, or something is not available.

    Example:
        >>> from pathlib import Path
        >>> Path("experiments").mkdir()
        >>> _ = Path("experiments/demo.yaml").write_text('''
        ... topics: {demo: {source: "bundled:topics", qrels: "bundled:qrels"}}
        ... corpora: {arguments: {source: "bundled:arguments"}}
        ... indexes: {arguments: {corpus: arguments, engine: memory}}
        ... systems: {BM25: {index: arguments}}
        ... measures: [RR]
        ... ''')
        >>> outcome = ad.experiment("experiments/demo.yaml")
        >>> outcome.table.to_polars()["system"].to_list()
        ['BM25']
    """
    from adducir.core.planning import allowing_code
    from adducir.experiments.experiment import plan_experiment, run_experiment
    from adducir.experiments.step import Context

    with allowing_code() if allow_code else nullcontext():
        plan = plan_experiment(_path(file, "`file`"), tuple(overrides), rebuild=rebuild)
        return run_experiment(plan, context=Context(threads, device), allow_code=allow_code)


@typed
def write_run(
    run: Runs,
    path: PathLike,
    metadata: Mapping[str, Any] | None = None,
    *,
    topics: Iterable[str] | None = None,
) -> None:
    """Write a run (gzip if the name ends in ``.gz``) and its metadata beside it.

    Scores are written in their shortest round-trip form and strictly decrease within a topic in
    double and single precision. The file appears whole or not at all; streams do not get metadata.

    Args:
        run: The run, a file, a frame or a dict.
        path: The file; ``-`` is standard output.
        metadata: Sections of ir_metadata to add, by default the run's own.
        topics: All qids that were searched: the metadata list those without documents.

    Raises:
        AdducirError: An id is empty or contains a blank, or the file cannot be written.

    Example:
        >>> ad.write_run(run, "cats.trec.gz")
        >>> ad.load_run("cats.trec.gz").tag
        'cats'
    """
    from adducir.runs.write import write_run as write

    place = _path(path, "`path`")
    write(as_run(run, place.name.partition(".")[0] or "run"), place, metadata, topics=topics)


def as_index(index: "Index | PathLike", encoder: str | None = None) -> "Index":
    from adducir.indexes.engines import open_index
    from adducir.indexes.index import Index

    if not isinstance(index, Index):
        return open_index(_path(index, "`index`"), encoder=encoder)
    if encoder is not None and not index.takes_weights:
        raise UsageError("`encoder` has no effect on an open index, unless of token weights.")
    return index


def as_corpus(documents: Documents) -> Corpus:
    is_source = _is_path(documents) or is_frame(documents)
    if not is_source and isinstance(documents, Corpus) and not isinstance(documents, Mapping):
        return documents
    return open_corpus(documents)  # type: ignore[arg-type]


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_index(texts: Any) -> bool:
    from adducir.core.manifests import MANIFEST
    from adducir.indexes.index import Index

    is_folder = _is_path(texts) and (_path(texts, "`texts`") / MANIFEST).is_file()
    return is_folder or isinstance(texts, Index)


def _name(value: Any, argument: str) -> str:
    refuse_unless_path(value, argument)
    return os.fspath(value)  # as it is written: "x/" is a folder, not a name on the Hub


def _path(value: Any, argument: str) -> Path:
    return Path(_name(value, argument))
