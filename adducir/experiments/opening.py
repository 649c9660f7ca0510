"""Opens what an experiment file names: corpora, topics, judgements, given runs, measures.

Everything is opened before anything runs, and every fault is kept for one message.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import polars as pl

from adducir.corpora.documents import Corpus
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.references import file_path, source_path
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics, load_topics
from adducir.experiments.evaluation import providers, vectorised
from adducir.experiments.evaluation.evaluate import Evaluator
from adducir.experiments.evaluation.measures import Measure, parse_measure, parse_measures
from adducir.experiments.expansion import Expansion, open_expansion
from adducir.experiments.faults import Faults
from adducir.experiments.recipe import (
    CorpusRecipe,
    ExperimentRecipe,
    IndexRecipe,
    SystemRecipe,
    TopicsRecipe,
)
from adducir.experiments.reranking import Reranking, open_reranking
from adducir.experiments.tuning.folds import Folds
from adducir.experiments.tuning.pool import JudgedTopics, Pool
from adducir.indexes.analysis import Analysis
from adducir.indexes.build import IndexSettings, settled
from adducir.indexes.building import EngineName, fingerprint_of_index
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.study.errors import InputError
from adducir.study.progress import Progress
from adducir.study.yaml import KeyPath


@dataclass(frozen=True)
class TopicSet:
    """Topics, their judgements, and what evaluates runs of them: one group of columns."""

    name: str
    topics: Topics
    qrels: Qrels
    evaluator: Evaluator


@dataclass(frozen=True)
class OpenedIndex:
    """An index as it is to be, its fields named; the fingerprint covers corpus and settings."""

    engine: EngineName
    settings: IndexSettings
    fingerprint: str


@dataclass
class Opened:
    """What the file's names stand for.

    Attributes:
        corpora: By name.
        expansions: How those of them are made that are expanded.
        indexes: By name, those that a system searches or reads documents of.
        rerankings: By system.
        topic_sets: By name.
        measures: In the file's order, each once.
        measure_names: Printed names, by the measures' exact names.
        given_runs: By system and topic set.
        pool: The judged topics of all topic sets, if a system is tuned.
        folds: Their folds, by tuned system.
    """

    corpora: dict[str, Corpus] = field(default_factory=dict)
    expansions: dict[str, Expansion] = field(default_factory=dict)
    indexes: dict[str, OpenedIndex] = field(default_factory=dict)
    rerankings: dict[str, Reranking] = field(default_factory=dict)
    topic_sets: dict[str, TopicSet] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    measure_names: dict[str, str] = field(default_factory=dict)
    given_runs: dict[tuple[str, str], Run] = field(default_factory=dict)
    pool: Pool | None = None
    folds: dict[str, Folds] = field(default_factory=dict)


def open_all(
    recipe: ExperimentRecipe,
    faults: Faults,
    folder: Path,
    progress: Progress,
) -> Opened:
    """Open every source of an experiment file.

    Args:
        recipe: What the file says.
        faults: Takes what cannot be opened.
        folder: Where relative paths start.
        progress: Told what ir_datasets downloads.
    """
    opening = _Opening(recipe, faults, folder, progress)
    opening.measures()
    opening.measure_names()
    for name, corpus in recipe.corpora.items():
        if corpus.expand is None:
            opening.corpus(name, corpus)
    for name, corpus in recipe.corpora.items():
        if corpus.expand is not None:
            opening.expansion(name, corpus, opening.opened.corpora.get(corpus.expand))
    for name, index in recipe.indexes.items():
        opening.index(name, index)
    for name, topics in recipe.topics.items():
        opening.topics(name, topics)
    for name, system in recipe.systems.items():
        opening.runs(name, system)
        opening.reranking(name, system)
        opening.tuning(name, system)
    return opening.opened


@dataclass
class _Opening:
    """The opening of one file's sources."""

    recipe: ExperimentRecipe
    faults: Faults
    folder: Path
    progress: Progress
    opened: Opened = field(default_factory=Opened)

    def measures(self) -> None:
        """Keep the measures, each of which can be computed and fits the depth."""
        found: dict[Measure, None] = {}
        for number, text in enumerate(self.recipe.measures):
            place = ("measures", number)
            for measure in self.faults.opening(place, partial(parse_measures, text)) or ():
                if self._can_compute(place, measure):
                    found[measure] = None
        self.opened.measures = tuple(found)

    def _can_compute(self, place: KeyPath, measure: Measure) -> bool:
        """Whether a measure can be computed; its faults are kept."""
        computed_by = self.faults.opening(place, partial(_computed_by, measure))
        cutoff = getattr(measure, "params", {}).get("cutoff") or 0
        most = self.recipe.most
        if most is not None and cutoff > most:
            what = f"{measure} needs {cutoff} documents a topic; `depth` is {most}"
            self.faults.add(place, what)
        return computed_by is not None

    def measure_names(self) -> None:
        """Keep printed names of measures, however the file spells these.

        Names of other measures do no harm: ``--set measures=...`` may have left those out.
        """
        for text, name in self.recipe.table.measure_names.items():
            place = ("table", "measure_names", text)
            measure = self.faults.opening(place, partial(parse_measure, text))
            self.opened.measure_names[str(measure)] = name

    def corpus(self, name: str, corpus: CorpusRecipe) -> None:
        """Open a corpus; its documents are not read."""
        place = ("corpora", name, "source")
        source = self._source(place, str(corpus.source))
        if source is None:
            return
        open_it = partial(
            open_corpus,
            source,
            docno_field=corpus.docno_field,
            format=corpus.format,
            progress=self.progress,
        )
        found = self.faults.opening(place, open_it)
        if found is not None:
            self.opened.corpora[name] = found

    def expansion(self, name: str, corpus: CorpusRecipe, base: Corpus | None) -> None:
        """Open a corpus that is another one expanded; nothing is trained or weighed.

        Where the other one could not be opened, the model's recipe is looked at all the same.
        """
        open_it = partial(open_expansion, corpus, base, self.folder, self.progress)
        found = self.faults.opening(("corpora", name, "model"), open_it)
        if found is not None:
            self.opened.expansions[name] = found
            self.opened.corpora[name] = found.corpus

    def index(self, name: str, index: IndexRecipe) -> None:
        """Settle how an index is to be built, if a system searches it or reads its documents."""
        analysis = self.faults.opening(
            ("indexes", name, "stopwords"), partial(_analysis, index, self.folder)
        )
        corpus = self.opened.corpora.get(index.corpus)
        is_used = any(name in (one.index, one.texts) for one in self.recipe.systems.values())
        if analysis is None or corpus is None or not is_used:
            return
        settings = IndexSettings(
            index.fields, analysis, index.positions, index.vectors, index.accurate_length
        )
        found = self.faults.opening(
            ("indexes", name), partial(_opened_index, index.engine, corpus, settings)
        )
        if found is not None:
            self.opened.indexes[name] = found

    def topics(self, name: str, topics: TopicsRecipe) -> None:
        """Load topics and judgements that fit together."""
        place = ("topics", name)
        found = self._topics((*place, "source"), topics)
        qrels = self._qrels((*place, "qrels"), topics)
        if found is None or qrels is None:
            return
        if set(found.qids).isdisjoint(qrels.qids):
            first, other = found.qids[0], qrels.qids[0]
            what = f"topics and qrels have no qid in common (such as {first!r} and {other!r})"
            self.faults.add(place, what)
            return
        if self.recipe.comparison is not None and len(qrels.qids) < 2:
            self.faults.add((*place, "qrels"), "a test needs judgements of two topics or more")
        evaluator = self.faults.opening((*place, "qrels"), partial(self._evaluator, qrels))
        if evaluator is not None:
            self.opened.topic_sets[name] = TopicSet(name, found, qrels, evaluator)

    def _topics(self, place: KeyPath, topics: TopicsRecipe) -> Topics | None:
        source = self._source(place, topics.source)
        if source is None:
            return None
        load = partial(load_topics, source, field=topics.field, progress=self.progress)
        return self.faults.opening(place, load)

    def _qrels(self, place: KeyPath, topics: TopicsRecipe) -> Qrels | None:
        named = (topics.qrels,) if isinstance(topics.qrels, str) else topics.qrels
        sources = [source for one in named if (source := self._source(place, one)) is not None]
        if len(sources) < len(named):
            return None
        return self.faults.opening(place, partial(load_qrels, sources, progress=self.progress))

    def _evaluator(self, qrels: Qrels) -> Evaluator:
        measures = self.opened.measures or "NumRet"  # for want of one without a fault
        evaluator = Evaluator(qrels, measures, negative=self.recipe.negative_grades)
        # Some faults, such as grades that a measure does not know, show only at work.
        one = qrels.frame.head(1).select("qid", "docno", score=pl.lit(1.0))
        evaluator.score(Run(one, "trial"))
        return evaluator

    def runs(self, name: str, system: SystemRecipe) -> None:
        """Read the runs that a system is given as."""
        if isinstance(system.run, dict):
            for topic_set, source in system.run.items():
                self._run(("systems", name, "run", topic_set), name, topic_set, source)
        elif system.run is not None and len(self.recipe.topics) == 1:
            (topic_set,) = self.recipe.topics
            self._run(("systems", name, "run"), name, topic_set, system.run)

    def _run(self, place: KeyPath, name: str, topic_set: str, source: str) -> None:
        run = self.faults.opening(place, lambda: read_run(file_path(source, self.folder)))
        if run is None:
            return
        judged = self.opened.topic_sets.get(topic_set)
        if judged is not None and set(run.qids).isdisjoint(judged.qrels.qids):
            first, other = run.qids[0], judged.qrels.qids[0]
            what = f"{run.path}: none of its topics is judged in `{topic_set}`"
            self.faults.add(place, f"{what} (such as {first!r}; judged is, say, {other!r})")
        self.opened.given_runs[name, topic_set] = run

    def reranking(self, name: str, system: SystemRecipe) -> None:
        """Open a system's reranker; nothing is trained or loaded."""
        if system.rerank is None:
            return
        open_it = partial(open_reranking, system, self.folder, self.progress)
        found = self.faults.opening(("systems", name, "by"), open_it)
        if found is not None:
            self.opened.rerankings[name] = found

    def tuning(self, name: str, system: SystemRecipe) -> None:
        """Check the objective of a tuned system and make its folds."""
        if system.tune is None:
            return
        place = ("systems", name, "tune")
        objective = (*place, "objective")
        measure = self.faults.opening(objective, partial(parse_measure, system.tune.objective))
        if measure is not None:
            self._can_compute(objective, measure)
        if self.opened.topic_sets.keys() < self.recipe.topics.keys():
            return
        self.opened.pool = self.opened.pool or self._pool()
        make = partial(system.tune.make_folds, self.opened.pool, self._fold_file)
        folds = self.faults.opening((*place, "folds"), make)
        if folds is not None:
            self.opened.folds[name] = folds

    def _pool(self) -> Pool:
        """All judged topics; sources are told as the file writes them."""
        sets = []
        for name, topic_set in self.opened.topic_sets.items():
            said = self.recipe.topics[name]
            source = said.qrels if isinstance(said.qrels, str) else " + ".join(said.qrels)
            topics = replace(topic_set.topics, source=said.source)
            sets.append(JudgedTopics(name, topics, replace(topic_set.qrels, source=source)))
        return Pool.of(sets)

    def _fold_file(self, source: str) -> Path:
        return file_path(source, self.folder)

    def _source(self, place: KeyPath, source: str) -> str | None:
        """The source to open; None where there is none."""
        return self.faults.opening(place, partial(source_path, source, self.folder))


def _computed_by(measure: Measure) -> str:
    return "adducir" if vectorised.is_vectorised(measure) else providers.provider_of(measure)


def _opened_index(engine: EngineName, corpus: Corpus, settings: IndexSettings) -> OpenedIndex:
    settings = settled(corpus, settings)
    return OpenedIndex(engine, settings, fingerprint_of_index(engine, corpus, settings))


def _analysis(index: IndexRecipe, folder: Path) -> Analysis:
    if index.stopwords in ("lucene", "none"):
        return Analysis.of(index.stemmer, index.stopwords)
    path = file_path(index.stopwords, folder)
    if not path.is_file():
        raise InputError(
            f"{index.stopwords!r} is no stop list.",
            mend="Give `lucene`, `none`, or a file with one stop word a line.",
        )
    return Analysis.of(index.stemmer, path)
