"""Opens what a retrieval experiment names, and settles its indexes."""

from collections.abc import Sequence
from functools import partial

from adducir.corpora.documents import Corpus
from adducir.experiments.context import Context
from adducir.experiments.planner import Planner
from adducir.experiments.retrieval.consistency import clashing_files, inconsistencies
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.retrieval.index_step import IndexStep, index_path
from adducir.experiments.retrieval.study import Entries, RetrievalStudy
from adducir.experiments.retrieval.topics import open_topics
from adducir.experiments.study import Finding


class _Opened(RetrievalStudy):
    def findings(self, context: Context) -> Sequence[Finding]:
        """The table."""
        from adducir.experiments.retrieval.table import result_table

        return [Finding(result_table(self, context), each="per-topic")]


def open_study(recipe: Entries, planner: Planner) -> RetrievalStudy:
    """Open every source of an experiment file, and settle its indexes."""
    study = _Opened(recipe, planner)
    planner.errors.extend(inconsistencies(recipe, study.names))
    for name, system in recipe.systems.items():
        planner.errors.extend(system.check(name, study))
    if study.add_seeds("corpora", "indexes", "systems"):
        planner.errors.extend(clashing_files(study.recipe))
    recipe = study.recipe
    for name, corpus in sorted(recipe.corpora.items(), key=lambda item: item[1].stage):
        corpus.open(name, study)
    open_topics(study)
    _settle_indexes(study)
    for name, system in recipe.systems.items():
        system.open(name, study)
    return study


def _settle_indexes(study: RetrievalStudy) -> None:
    used = study.systems_used()
    for name, index in study.recipe.indexes.items():
        corpus = study.corpora.get(index.corpus)
        index.check(name, study)
        if corpus is None or name not in used:
            continue
        path = index_path(study.planner.folder, name)
        step = index.step(name, path, corpus, study)
        if step is None:
            continue
        study.indexes[name] = step
        why = study.planner.opening(("indexes", name), step.why)
        if why is not None:
            study.planner.opening(("indexes", name, "fields"), partial(_look, corpus.corpus, step))


def _look(corpus: Corpus, step: IndexStep) -> None:
    """Look for the fields of an index in its corpus; a dry run notes a large one as not read."""
    refuse_unknown_fields(corpus, step.fields or corpus.default_fields)
