"""What the report of a retrieval experiment shows beyond its table."""

from dataclasses import dataclass, field

import polars as pl

from adducir.evaluation.recall_curve import interpolated_precision
from adducir.experiments.retrieval.answers import part_of, run_facts
from adducir.experiments.retrieval.opened import TopicSet
from adducir.experiments.retrieval.snippets import snippets
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.shown import training_seconds
from adducir.runs.run import Run
from adducir.tables.material import Cost, Material, TopicHits, hits_held


@dataclass
class Shown:
    """What the report shows of runs that are read one by one, by topic set and system.

    Attributes:
        hits: The first documents of each topic.
        precision: The interpolated precision at eleven levels of recall.
    """

    hits: dict[str, dict[str, pl.DataFrame]] = field(default_factory=dict)
    precision: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)

    def add(self, system: str, topic_set: TopicSet, run: Run, systems: int) -> None:
        """Put a run's part aside; so many systems are to come."""
        held = hits_held(len(topic_set.qrels.qids), systems)
        self.hits.setdefault(topic_set.name, {})[system] = run.top(held).frame
        curve = interpolated_precision(run, topic_set.qrels)
        self.precision.setdefault(topic_set.name, {})[system] = curve


def material(study: RetrievalStudy, shown: Shown) -> Material:
    """Queries, hits and judgements, and what systems cost as their runs' metadata say."""
    several = len(study.topic_sets) > 1
    return Material(
        topics={
            name if several else "": TopicHits(
                dict(zip(one.topics.qids, one.topics.queries, strict=True)),
                shown.hits[name],
                one.qrels.frame,
                shown.precision[name],
            )
            for name, one in study.topic_sets.items()
        },
        snippets=snippets(study, shown.hits),
        costs={name: _cost(study, name) for name in study.recipe.systems},
    )


def _cost(study: RetrievalStudy, system: str) -> Cost:
    """Its time per topic over all topic sets, and the size of the index that it searches."""
    seconds, topics = 0.0, 0
    for name in study.topic_sets:
        facts = run_facts(study.run_of(system, name).path) or {}
        time = str(part_of(facts, "resources", "runtime").get("wallclock", ""))
        count = part_of(facts, "run file").get("topics")
        if not time.endswith(" s") or not isinstance(count, int):
            return Cost()
        seconds, topics = seconds + float(time.removesuffix(" s")), topics + count
    index = study.recipe.systems[system].needs_index(system, study)
    folder = study.indexes[index].path if index in study.indexes else None
    size = None
    if folder is not None and folder.is_dir():
        size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    trained = training_seconds([study.run_of(system, name) for name in study.topic_sets])
    return Cost(1000 * seconds / topics if topics else None, size, trained)
