"""What the report of a retrieval experiment shows beyond its table."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from adducir.experiments.outcome import training_seconds
from adducir.experiments.retrieval.answers import part_of, run_facts
from adducir.experiments.retrieval.snippets import snippets
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.weights import weights
from adducir.tables.hits import HitCollector
from adducir.tables.material import Cost, Material


def collectors(study: RetrievalStudy) -> dict[str, HitCollector]:
    """What takes in the runs of each topic set."""
    systems = len(study.rows)
    return {
        name: HitCollector(
            one.qrels,
            systems,
            dict(zip(one.topics.qids, one.topics.queries, strict=True)),
            one.evaluator.measures,
        )
        for name, one in study.topic_sets.items()
    }


def material(study: RetrievalStudy, collected: Mapping[str, HitCollector]) -> Material:
    """Queries, hits and judgements, and what systems cost as their runs' metadata say."""
    topics = {name: one.found() for name, one in collected.items()}
    texts = snippets(study, {name: one.runs for name, one in topics.items()})
    return Material(
        topics=topics if len(topics) > 1 else {"": next(iter(topics.values()))},
        snippets=texts,
        weights=weights(study, texts),
        costs={
            name: _mean([_cost(study, one) for one in systems])
            for name, systems in study.rows.items()
        },
    )


def _mean(costs: Sequence[Cost]) -> Cost:
    """The mean cost of a system's runs; None of what is not known of each."""

    def mean(each: Sequence[float | None]) -> float | None:
        known = [one for one in each if one is not None]
        return fmean(known) if len(known) == len(each) else None

    size = mean([one.index_bytes for one in costs])
    return Cost(
        mean([one.milliseconds for one in costs]),
        None if size is None else round(size),
        mean([one.training_seconds for one in costs]),
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
