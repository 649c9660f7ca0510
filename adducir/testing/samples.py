"""What kinds of each family are tried on, and what must hold of what they make of it."""

import gzip
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adducir.runs.run import Run
    from adducir.studies.complementary_evidence.questions import EvidenceQuestion
    from adducir.tables.table import ResultTable

Make = Callable[[], Any]
"""Makes the kind anew: what it does must not depend on what it did before."""


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _run() -> "Run":
    from adducir.runs.run import Run

    scores = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"c": 0.5}, "3": {"d": 2.0, "a": -1.0}}
    return Run.of(scores, tag="sample")


def fusion(make: Make, name: str, sample: str | None) -> None:
    """Two runs: a finite contribution of each row, the same every time."""
    import numpy as np

    del sample
    run = _run()
    first, again = (np.asarray(make().contributions(run)) for _ in range(2))
    _must(first.shape == (len(run),), f"{name}: {first.shape} contributions of {len(run)} rows.")
    _must(bool(np.isfinite(first).all()), f"{name}: contributions that are no numbers.")
    _must(np.array_equal(first, again), f"{name}: other contributions the second time.")
    counts = np.ones(len(run))
    _must(make().combined(first, counts).shape == first.shape, f"{name}: combined loses documents.")


def formats(make: Make, name: str, sample: str | None) -> None:
    """A file: docnos without blanks, growing lines, the same plain and compressed."""
    if sample is None:
        return
    with tempfile.TemporaryDirectory() as place:
        ending = next(iter(make().suffixes), ".txt")
        plain, packed = Path(place) / f"a{ending}", Path(place) / f"a{ending}.gz"
        plain.write_text(sample, encoding="utf-8")
        packed.write_bytes(gzip.compress(sample.encode()))
        first, again, other = (
            list(make().read(path, None, path.parent)) for path in (plain, plain, packed)
        )
        end = make().record_end
    _must(first == again, f"{name}: other documents the second time.")
    documents = [document for _, document in first]
    _must(bool(documents), f"{name}: no documents in the sample.")
    if end:
        _must(documents == [one for _, one in other], f"{name}: other documents where compressed.")
    lines = [line for line, _ in first]
    _must(lines == sorted(lines) and lines[0] >= 1, f"{name}: its lines are {lines}.")
    for docno, fields in documents:
        _must(docno.split() == [docno], f"{name}: {docno!r} is no docno.")
        is_text = all(isinstance(one, str) for pair in fields.items() for one in pair)
        _must(is_text, f"{name}: a field of {docno} is no text.")


def _table() -> "ResultTable":
    from adducir.corpora.qrels import Qrels
    from adducir.evaluation.evaluator import evaluate
    from adducir.statistics.comparison.comparison import compare
    from adducir.tables.builder import build_table

    qrels = Qrels.of({"1": {"a": 1, "c": 0}, "2": {"c": 1}, "3": {"a": 1}})
    scores = [evaluate(_run(), qrels, "AP P@1", system=name) for name in ("one & <two>", "three")]
    return build_table(compare(scores, baseline="three"), scores)


def tables(make: Make, name: str, sample: str | None) -> None:
    """A table of two systems: a text with both means, ending in a line break, always the same."""
    del sample
    table = _table()
    first, again = make().render(table), make().render(table)
    _must(isinstance(first, str) and first.endswith("\n"), f"{name}: no text that ends in \\n.")
    _must(first == again, f"{name}: another text the second time.")
    _must("three" in first, f"{name}: the system 'three' is not in its text.")


def tests(make: Make, name: str, sample: str | None) -> None:
    """Pairs of systems: p of (0, 1], the same seen from either side."""
    import numpy as np

    del sample
    values = np.array([[0.1, 0.5, 0.3, 0.9], [0.2, 0.4, 0.1, 0.5], [0.1, 0.5, 0.3, 0.9]])
    first, again = (make().pairs(values, [0, 1, 0], [1, 0, 2]) for _ in range(2))
    _must(first == again, f"{name}: other results the second time.")
    there, back, same = first
    _must(all(0 < one.p <= 1 for one in first), f"{name}: a p that is none.")
    _must(same.p == 1, f"{name}: p = {same.p} of a system and itself.")
    turned = make().mirrored(there).statistic
    _must(abs(turned - back.statistic) < 1e-9, f"{name}: {turned} is not {back.statistic}.")
    _must(abs(there.p - back.p) < 1e-9, f"{name}: one-sided, or not paired.")
    _must(bool(make().title), f"{name}: it has no title.")


def corrections(make: Make, name: str, sample: str | None) -> None:
    """A family of tests: no p becomes smaller, none above 1, and their order does not matter."""
    import numpy as np

    from adducir.statistics.corrections.correction import PairFamily
    from adducir.statistics.tests.randomisation import pairwise

    del sample
    values = np.random.default_rng(0).random((4, 10)) * [[1], [0.6], [0.9], [1]]
    first, second = np.array([0, 0, 2, 1, 3]), np.array([1, 2, 1, 3, 3])
    results = pairwise(values, first.tolist(), second.tolist(), 1024, 0)
    p = np.array([one.p for one in results])
    found = make().of_pairs(PairFamily(p, values, first, second))
    turned = make().of_pairs(PairFamily(p[::-1], values, first[::-1], second[::-1]))
    _must(found.shape == p.shape, f"{name}: {found.shape} of {p.shape} p-values.")
    _must(bool(((found >= p) & (found <= 1)).all()), f"{name}: {found} of {p}.")
    _must(np.array_equal(turned[::-1], found), f"{name}: order matters.")


def measures(make: Make, name: str, sample: str | None) -> None:
    """A run and qrels: a finite value a topic, 0 of one that the run lacks unless it counts."""
    import numpy as np

    from adducir.corpora.qrels import Qrels
    from adducir.evaluation.judgements import Judgements
    from adducir.evaluation.lists import Lists
    from adducir.evaluation.ranked_topics import RankedJudgements, RankedTopics

    del sample
    qrels = {"1": {"a": 1, "c": 2, "z": 0}, "2": {"c": 1}, "9": {"a": 1}}
    judgements, run = Judgements.prepare(Qrels.of(qrels), "zero"), _run()
    ranked = RankedTopics.of(run, judgements)
    first, again = (
        np.asarray(make().values(Lists(RankedJudgements.find(run, ranked, judgements))))
        for _ in range(2)
    )
    _must(first.shape == (3,), f"{name}: {first.shape} values of 3 topics.")
    _must(bool(np.isfinite(first).all()), f"{name}: values that are no numbers.")
    _must(np.array_equal(first, again), f"{name}: other values the second time.")
    if not make().is_descriptive:
        _must(first[2] == 0, f"{name}: {first[2]} of a topic that the run lacks.")


def encoders(make: Make, name: str, sample: str | None) -> None:
    """Three texts: vectors of one width, each by its text alone."""
    import numpy as np

    from adducir.core.errors import AdducirError

    del sample
    texts = ["free buses", "teacher tenure", "free buses and trains"]
    try:
        whole = {side: np.asarray(make().encode(texts, side)) for side in ("query", "document")}
    except AdducirError as error:
        if error.absent:
            return  # its model is not here
        raise
    for side, found in whole.items():
        alone = np.asarray(make().encode(texts[1:2], side))
        _must(found.ndim == 2 and len(found) == 3, f"{name}: {found.shape} of three texts.")
        _must(bool(np.isfinite(found).all()), f"{name}: vectors that are no numbers.")
        _must(np.allclose(alone[0], found[1], atol=1e-4), f"{name}: a text's neighbours matter.")
    _must(whole["query"].shape == whole["document"].shape, f"{name}: two widths.")


def rerankers(make: Make, name: str, sample: str | None) -> None:
    """A kind without weights: the same scores, or the same order, every time."""
    import numpy as np

    from adducir.models.sources import ModelSource

    del sample
    kind = make()
    source = ModelSource(name)
    if kind.base and not type(kind).model_fields["base"].is_required():
        return  # of a pretrained model, which may not be here
    if kind.base:
        return
    texts = ["free buses", "teacher tenure"]
    if kind.is_listwise:
        first, again = (make().load(source).order("buses", texts) for _ in range(2))
        _must(sorted(first) == [0, 1], f"{name}: {first} is no order of two texts.")
    else:
        pairs = [("buses", text) for text in texts]
        first, again = (make().load(source).scores(pairs) for _ in range(2))
        _must(first.shape == (2,), f"{name}: {first.shape} scores of two texts.")
    _must(np.array_equal(first, again), f"{name}: another result the second time.")
    _must(bool(kind.scale(source)), f"{name}: it does not say what its scores are.")


def _question() -> "EvidenceQuestion":
    from adducir.studies.complementary_evidence.questions import EvidenceQuestion, Passage

    passages = tuple(Passage(f"p{n}", "A title", f"text {n}") for n in range(3))
    return EvidenceQuestion("q1", "Who?", passages)


def selectors(make: Make, name: str, sample: str | None) -> None:
    """Sets of the question's own passages, each once, always the same."""
    del sample
    question = _question()
    (first,), (again,) = (make().choose([question]) for _ in range(2))
    _must(first == again, f"{name}: another set the second time.")
    own = {passage.id for passage in question.passages}
    is_set = len(set(first.chosen)) == len(first.chosen)
    _must(first.id == question.id and is_set and set(first.chosen) <= own, f"{name}: {first}.")


SAMPLES: Mapping[str, Callable[[Make, str, str | None], None]] = {
    one.__name__: one
    for one in (
        fusion,
        formats,
        tables,
        tests,
        corrections,
        measures,
        encoders,
        rerankers,
        selectors,
    )
}
"""By the family's name."""
