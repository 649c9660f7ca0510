"""What the report of a retrieval experiment shows beyond its table."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from adducir.core.errors import ArtifactError
from adducir.corpora.documents import Document, text_of
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.runs import run_facts
from adducir.experiments.step import ModelStep, Step, training_log
from adducir.experiments.study import Trial
from adducir.indexes.documents import DocumentStore
from adducir.runs.metadata import part_of
from adducir.tables.hits import HitCollector
from adducir.tables.material import WORD, Cost, Material

if TYPE_CHECKING:
    from adducir.deepct.expansion import ExpandedCorpus
    from adducir.experiments.retrieval.study import RetrievalStudy


def collectors(study: "RetrievalStudy") -> dict[str, HitCollector]:
    """What takes in the runs of each topic set."""
    return {
        name: HitCollector(
            one.qrels,
            len(study.recipe.systems),
            dict(zip(one.topics.qids, one.topics.queries, strict=True)),
        )
        for name, one in study.topic_sets.items()
    }


def material(study: "RetrievalStudy", collected: Mapping[str, HitCollector]) -> Material:
    """Queries, hits and judgements, and what systems cost as their runs' metadata say."""
    topics = {name: one.found() for name, one in collected.items()}
    texts = snippets(study, {name: one.runs for name, one in topics.items()})
    return Material(
        topics=topics if len(topics) > 1 else {"": next(iter(topics.values()))},
        snippets=texts,
        weights=weights(study, texts),
        costs={
            name: _mean([_cost(study, name, seed) for seed in study.seeds(name)])
            for name in study.recipe.systems
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


def _cost(study: "RetrievalStudy", system: str, seed: int | None) -> Cost:
    """Its time per topic over all topic sets, and the size of the index that it searches."""
    seconds, topics = 0.0, 0
    steps = [study.run(Trial(system, name, seed)) for name in study.topic_sets]
    for step in steps:
        facts = run_facts(step.path) or {}
        time = str(part_of(facts, "resources", "runtime").get("wallclock", ""))
        count = part_of(facts, "run file").get("topics")
        if not time.endswith(" s") or not isinstance(count, int):
            return Cost()
        seconds, topics = seconds + float(time.removesuffix(" s")), topics + count
    size = None
    if name := study.recipe.systems[system].index_name(study):
        files = [one for one in study.index(name, seed).path.rglob("*") if one.is_file()]
        size = sum(one.stat().st_size for one in files) if files else None
    times = [training_log(model.path).get("seconds") for model in _models(steps)]
    trained = sum(time for time in times if time) if any(times) else None
    return Cost(1000 * seconds / topics if topics else None, size, trained)


def _models(steps: Iterable[Step]) -> set[ModelStep]:
    """All trainings that steps are made from."""
    found: set[ModelStep] = set()
    for step in steps:
        found |= {step} if isinstance(step, ModelStep) else set()
        found |= _models(step.inputs)
    return found


LENGTH = 240
"""Characters of a snippet."""


def snippets(
    study: "RetrievalStudy", hits: Mapping[str, Mapping[str, pl.DataFrame]]
) -> dict[str, str]:
    """The first characters of hits, as they stand beside the indexes, by docno.

    The file says of which documents: ``none``, the ``judged`` ones, or ``all``. Texts of corpora as
    they are come first; of weighted words, those that were weighted are read.
    """
    wanted, docnos = study.recipe.table.snippets, set[str]()
    for name, runs in hits.items() if wanted != "none" else ():
        judged = study.topic_sets[name].qrels.frame.select("qid", "docno")
        for frame in runs.values():
            if wanted == "judged":
                frame = frame.join(judged, on=["qid", "docno"], how="semi")
            docnos.update(frame["docno"].unique().to_list())
    found: dict[str, str] = {}
    indexes = study.indexes.values() if docnos else ()
    for index in sorted(indexes, key=lambda one: _expanded(one) is not None):
        fields, corpus = index.fields, _expanded(index)
        if corpus is not None:
            from adducir.deepct.expansion import WEIGHTED

            read = [corpus.settings.text if one == WEIGHTED else (one,) for one in fields]
            fields = tuple(dict.fromkeys(one for many in read for one in many))
        for docno, document in _documents(index, docnos - found.keys()):
            found[docno] = " ".join(text_of(document, fields).split())[:LENGTH]
    return found


def _documents(index: IndexStep, docnos: Collection[str]) -> Iterator[tuple[str, Document]]:
    """Documents beside an index; none where it is not there, for no run to be made needs it."""
    with suppress(ArtifactError):
        store = DocumentStore(index.path)
        for docno in sorted(docnos):
            if docno in store:
                yield docno, store.get(docno)


def _expanded(index: IndexStep) -> "ExpandedCorpus | None":
    """The corpus of an index, where its words are weighted by DeepCT."""
    corpus: Any = index.corpus
    return corpus if hasattr(corpus, "rendering") else None


def weights(
    study: "RetrievalStudy", snippets: Mapping[str, str]
) -> dict[str, Mapping[str, Sequence[int]]]:
    """For each system that searches documents weighted by DeepCT its weights of snippets' words.

    The weight of a word is taken from what was indexed: its count in the field of weighted words
    over the count of a word of weight 1. A word of several passages has the sum of its weights in
    them. Of a system of several runs they are those of its first run, whose hits the report shows.
    """
    found: dict[str, Mapping[str, Sequence[int]]] = {}
    known: dict[Path, dict[str, Sequence[int]]] = {}
    for row, system in study.recipe.systems.items() if snippets else ():
        if not (name := system.index_name(study)):
            continue
        index = study.index(name, study.seeds(row)[0])
        corpus = _expanded(index)
        if corpus is None:
            continue
        from adducir.deepct.expansion import WEIGHTED

        if index.path not in known:
            known[index.path] = {
                docno: _weights_of(snippets[docno], document.fields.get(WEIGHTED, ""), corpus)
                for docno, document in _documents(index, snippets)
            }
        found[row] = known[index.path]
    return found


def _weights_of(text: str, weighted: str, corpus: "ExpandedCorpus") -> list[int]:
    """The weight of each word of a text in hundredths."""
    from adducir.deepct.words import words

    counts = Counter(weighted.lower().split())
    known = iter(words(text, whole=corpus.settings.tokenization == "lucene"))
    word, found = next(known, None), []
    for match in WORD.finditer(text):
        # What is one word here may be a part of one of DeepCT's ("well-known"), never more.
        while word is not None and word.end <= match.start():
            word = next(known, None)
        inside = word is not None and word.start < match.end()
        count = counts.get(word.text.lower(), 0) if word is not None and inside else 0
        share = count / corpus.rendering.scale
        weight = round(100 * (share**2 if corpus.rendering.transform == "sqrt" else share))
        found.append(max(weight, 1) if count else 0)
    return found
