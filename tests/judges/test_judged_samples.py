"""Documents drawn for people, and a model's judgements corrected by what people say of them."""

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy.stats import t as student

from adducir import evaluate
from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.measures import parse_measure
from adducir.judges.corrected import CorrectedEvaluator, linear_kind
from adducir.judges.correction import Sampled, expected_gains
from adducir.judges.files import design_for
from adducir.judges.sampling import draw, inclusion_probabilities, pair_weights
from adducir.judges.sheets import Design, read_sheet, rows_for, write_sheet
from adducir.runs.run import Run


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.data())
def test_probabilities_sum_to_the_sample(sizes, data):
    topic = np.repeat(np.arange(len(sizes)), sizes)
    documents = data.draw(st.integers(1, len(topic)))
    weight = np.array(
        data.draw(st.lists(st.floats(0.1, 9), min_size=len(topic), max_size=len(topic)))
    )
    for probability in (
        inclusion_probabilities(topic, documents),
        inclusion_probabilities(topic, documents, weight),
    ):
        assert probability.sum() == pytest.approx(documents)
        assert probability.max() <= 1
        assert probability.min() > 0
        # Topics that are not exhausted get the same number of documents.
        expected = np.bincount(topic, probability)
        share = expected[expected < np.array(sizes) - 1e-9]
        assert share == pytest.approx(share[:1].repeat(len(share)))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.data())
def test_a_sample_has_its_size_overall_and_nearly_in_each_topic(sizes, data):
    topic = np.repeat(np.arange(len(sizes)), sizes)
    documents = data.draw(st.integers(1, len(topic)))
    probability = inclusion_probabilities(topic, documents)
    drawn = draw(topic, probability, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert drawn.sum() == documents
    assert drawn[probability > 1 - 1e-9].all()
    off = np.bincount(topic, drawn) - np.bincount(topic, probability)
    assert np.abs(off).max() < 2


def test_each_document_is_drawn_with_its_probability():
    topic = np.repeat([0, 1, 2], [5, 2, 9])
    weight = np.linspace(0.2, 1, 16)
    probability = inclusion_probabilities(topic, 7, weight)
    rng, draws = np.random.default_rng(3), 20_000
    seen = sum(draw(topic, probability, rng).astype(int) for _ in range(draws)) / draws
    error = np.sqrt(probability * (1 - probability) / draws)
    assert (np.abs(seen - probability) <= 4.5 * error + 1e-12).all()


def test_weights_tell_two_systems_apart_and_have_a_floor():
    first, second = np.array([1.0, 0.5, 0.4, 0.0]), np.array([0.0, 0.5, 0.3, 0.0])
    assert pair_weights([first, second]).tolist() == pytest.approx([1, 0.2, 0.2, 0.2])
    assert pair_weights([first, first]).tolist() == [1, 1, 1, 1]


@given(st.integers(0, 999))
def test_corrected_gains_are_people_s_on_average_whatever_the_model_says(seed):
    """Exact: over a document's two fates, with those of all other topics' documents fixed."""
    rng = np.random.default_rng(seed)
    topic, size = np.repeat(np.arange(4), 5), 20
    level, gain = rng.integers(-1, 3, size), rng.random(size)
    probability = rng.uniform(0.1, 1, size)
    drawn = rng.random(size) < probability
    for one in range(size):
        means = 0.0
        for fate, chance in ((True, probability[one]), (False, 1 - probability[one])):
            seen = np.where(topic == topic[one], np.arange(size) == one, drawn)
            seen[one] = fate
            sampled = Sampled.of(topic, level, np.where(seen, gain, np.nan), probability)
            means += chance * sampled.corrected[one]
        assert means == pytest.approx(gain[one])


def test_what_a_grade_lets_expect_comes_from_other_topics():
    topic, level = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, -1])
    gain, probability = np.array([1.0, 0.0, 0.25, np.nan, 0.5]), np.full(5, 0.5)
    expected = expected_gains(topic, level, gain, probability, prior=0.0)
    # Of grade 0, topic 0 sees topic 1's .25; of grade 1 nothing is known there.
    assert expected[0] == 0.25
    assert expected[4] == pytest.approx((1 + 0 + 0.25) / 3)
    mixed = expected_gains(topic, level, gain, probability, prior=1.0)
    assert mixed[0] == pytest.approx((0.25 + (0.25 + 0.5) / 2) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_of_a_pool_is_ppi_pys_and_the_interval_about_as_long(seed):
    """Where both apply: one mean over a pool of which a part is drawn, without topics."""
    rng = np.random.default_rng(seed)
    gain = (rng.random(3000) < 0.3).astype(float)
    level = (rng.random(3000) < np.where(gain > 0, 0.8, 0.2)).astype(int)
    topic, probability = np.arange(3000), np.full(3000, 0.1)
    drawn = np.isin(topic, rng.choice(3000, 300, replace=False))
    seen = np.where(drawn, gain, np.nan)
    expected = expected_gains(topic, level, seen, probability)
    values = Sampled.of(topic, level, seen, probability).corrected
    theirs = ppi_mean_pointestimate(gain[drawn], expected[drawn], expected, lam=1)
    assert values.mean() == pytest.approx(float(theirs[0]))
    low, high = ppi_mean_ci(gain[drawn], expected[drawn], expected, alpha=0.05, lam=1)
    width = 2 * 1.96 * values.std() / np.sqrt(3000)
    assert width == pytest.approx(float((high - low)[0]), rel=0.1)


def judged_collection(topics=12, documents=8, seed=5):
    rng = np.random.default_rng(seed)
    people = {
        f"q{t}": {f"d{n}": int(rng.integers(0, 3)) for n in range(documents)} for t in range(topics)
    }
    model = {
        q: {d: min(2, g + int(rng.integers(0, 2))) for d, g in of.items()}
        for q, of in people.items()
    }
    runs = {
        name: Run.of({q: {d: float(rng.random()) for d in of} for q, of in people.items()}, name)
        for name in ("one", "two")
    }
    return people, model, runs


def graded(design, people):
    rows = [(q, d, people[q][d]) for q, d in design.drawn.rows()]
    return pl.DataFrame(rows, schema=["qid", "docno", "grade"], orient="row")


MEASURES = "P(rel=2)@5 RBP(rel=1,p=0.5)@4 DCG@5 DCG(dcg=exp-log2)@3 SDCG(max_rel=2)@5"


def test_with_everything_judged_a_corrected_table_is_people_s():
    people, model, runs = judged_collection()
    design = Design.of(runs, 12 * 8, depth=8)
    evaluator = CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), MEASURES)
    for run in runs.values():
        ours, theirs = evaluator.score(run), evaluate(run, Qrels.of(people), MEASURES)
        ours, theirs = (
            one.frame.sort("measure", "qid")["value"].to_list() for one in (ours, theirs)
        )
        assert ours == pytest.approx(theirs)


def test_corrected_intervals_cover_where_a_biased_model_does_not():
    covered = alone = 0
    for seed in range(60):
        people, model, runs = judged_collection(30, 12, seed)
        top = set(runs["one"].top(5).frame.select("qid", "docno").rows())
        model = {
            q: {d: 2 if (q, d) in top else g for d, g in of.items()} for q, of in model.items()
        }
        design = Design.of(runs, 120, depth=5, seed=seed)
        evaluator = CorrectedEvaluator.of(
            Qrels.of(model), design, graded(design, people), "P(rel=2)@5"
        )
        gap = [evaluator.score(runs[name]).values("P(rel=2)@5") for name in runs]
        by_people, by_model = (
            [evaluate(runs[n], Qrels.of(judged), "P(rel=2)@5").mean("P(rel=2)@5") for n in runs]
            for judged in (people, model)
        )
        values, true = gap[0] - gap[1], by_people[0] - by_people[1]
        reach = student.ppf(0.975, 29) * values.std(ddof=1) / np.sqrt(30)
        covered += abs(values.mean() - true) <= reach
        alone += abs(by_model[0] - by_model[1] - true) <= reach
    assert covered >= 54  # topics' own variance is in the intervals, but not in these populations
    assert alone <= 20


@pytest.mark.parametrize(
    ("measures", "reason"),
    [
        (("AP", "nDCG@10", "Bpref", "P(judged_only=True)@5", "RR@10"), "sum of the documents'"),
        (("RBP(rel=1)",), "cutoff"),
    ],
)
def test_measures_that_are_not_sums_are_refused_with_the_reason(measures, reason):
    for measure in measures:
        with pytest.raises(UsageError, match=reason):
            linear_kind(parse_measure(measure))


def test_documents_outside_the_pool_are_refused():
    people, model, runs = judged_collection()
    design = Design.of({"one": runs["one"]}, 20, depth=3)
    evaluator = CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), "P@3")
    evaluator.score(runs["one"])
    with pytest.raises(UsageError, match="not in the pool"):
        evaluator.score(runs["two"])
    with pytest.raises(UsageError, match="top 3"):
        CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), "P@5")


def test_pairs_that_the_model_did_not_grade_count_what_people_think_of_the_others():
    people, model, runs = judged_collection()
    del model["q3"]["d0"], model["q4"]["d1"]
    design = Design.of(runs, 40, depth=8)
    evaluator = CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), "P@5")
    assert evaluator.ungraded == 2
    assert np.isfinite(evaluator.score(runs["one"]).values("P@5")).all()


@pytest.fixture
def sheet(tmp_path):
    people, _, runs = judged_collection()
    design, path = Design.of(runs, 30, depth=4, seed=2), tmp_path / "people.csv"
    topics, texts = {"q1": {"query": "=what?"}}, {"d1": 'a "text",\nof lines'}
    write_sheet(design, path, rows_for(design.drawn, topics, texts))
    return people, path


def fill(path, people):
    lines = path.read_text().replace('"a ""text"",\nof lines"', "text").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    path.write_text(
        "\n".join([lines[0], *(f"{','.join(r[:4])},{people[r[0]][r[2]]}" for r in rows)])
    )
    return rows


def test_a_sheet_is_blind_and_comes_back(sheet):
    people, path = sheet
    head = path.read_text().splitlines()[0]
    assert head == "qid,query,docno,text,grade"
    qids = [row[0] for row in fill(path, people)]
    assert qids != sorted(qids)
    design, grades = read_sheet(path)
    assert set(grades.select("qid", "docno").rows()) == set(design.drawn.rows())
    assert all(people[q][d] == g for q, d, g in grades.rows())


def test_what_a_sheet_may_not_be(sheet):
    people, path = sheet
    with pytest.raises(InputError, match="grade is missing") as error:
        read_sheet(path)
    assert error.value.line
    fill(path, people)
    whole = path.read_text()
    lines = whole.splitlines()
    for wrong, message in {
        "\n".join(lines[:-1]): "not in the sheet",
        "\n".join([*lines, lines[-1]]): "twice",
        "\n".join([*lines, "q1,,nosuch,,1"]): "not drawn",
        "\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",yes"]): "not an integer",
        whole.replace("grade", "mark", 1): "'grade' is missing",
    }.items():
        path.write_text(wrong)
        with pytest.raises(InputError, match=message):
            read_sheet(path)


def test_a_changed_or_missing_design_is_refused(sheet):
    people, path = sheet
    fill(path, people)
    place = design_for(path)
    facts = json.loads(place.read_text())
    facts["pairs"][0][2] /= 2
    place.write_text(json.dumps(facts))
    with pytest.raises(InputError, match="changed"):
        read_sheet(path)
    place.unlink()
    with pytest.raises(InputError, match="missing"):
        read_sheet(path)


def test_scaled_dcg_is_ndcg_where_the_best_documents_abound():
    qrels = Qrels.of({"q": {f"d{n}": 3 for n in range(20)} | {"x": 1, "y": 0}})
    run = Run.of({"q": {"d1": 5.0, "x": 4.0, "y": 3.0, "z": 2.0, "d2": 1.0}}, "r")
    scores = evaluate(run, qrels, "SDCG(max_rel=3)@5 nDCG@5 DCG@5")
    assert scores.mean("SDCG(max_rel=3)@5") == pytest.approx(scores.mean("nDCG@5"))
    discounts = [3, 1 / np.log2(3), 0, 0, 3 / np.log2(6)]
    assert scores.mean("DCG@5") == pytest.approx(sum(discounts))
    # ir_measures scales grades between min_rel and max_rel, and clips others.
    scaled = evaluate(run, qrels, "SDCG(min_rel=1,max_rel=2)@2").mean("SDCG(min_rel=1,max_rel=2)@2")
    assert scaled == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert all(
        a > b for a, b in pairwise(linear_kind(parse_measure("DCG@9")).discounts(np.arange(9)))
    )
