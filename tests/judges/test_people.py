"""People's grades: pages, several people, pools that grow, whole topics, agreement, sizes."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa
from test_judged_samples import graded, judged_collection

from adducir import evaluate
from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.evaluation.measures import parse_measure
from adducir.judges.agreement import agreement_of
from adducir.judges.by_hand import page_for, parse_choices
from adducir.judges.corrected import CorrectedEvaluator, check_depth, linear_kind, refuse_outside
from adducir.judges.notes import circular_note, judge_of
from adducir.judges.people import whole_topics
from adducir.judges.planning import planned_topic_widths, planned_widths
from adducir.judges.sheets import GRADES, Design, read_grades, read_sheet, rows_for, write_sheet
from adducir.runs.write import metadata_for, metadata_text


@pytest.fixture
def sheet(tmp_path):
    people, _, runs = judged_collection()
    design, path = Design.of(runs, 30, depth=4, seed=2), tmp_path / "people.csv"
    topics = {q: {"query": "<b>one</b>", "narrative": f"all of {q}"} for q in people}
    write_sheet(design, path, rows_for(design.drawn, topics, {"d1": "a\u202etext"}))
    return people, path


def saved(path, person, ratings):
    """What the page saves as JSON."""
    rows = [{"qid": q, "docno": d, "grade": g, "characters": 5} for q, d, g in ratings]
    facts = {"format": "adducir ratings 1", "page": "x", "judge": person, "ratings": rows}
    path.write_text(json.dumps(facts))
    return path


def test_what_pages_save_is_read_beside_the_design(sheet, tmp_path):
    people, path = sheet
    rows = [(q, d, people[q][d]) for q, d in Design.read(path).drawn.rows()]
    ann = saved(tmp_path / "people.ann.json", "ann", rows[:20])
    qrels = tmp_path / "people.ben.qrels"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows[10:]))
    with pytest.raises(InputError, match="10 drawn documents of 30"):
        read_sheet(ann)
    _, grades = read_grades((ann, qrels))
    assert grades["person"].value_counts().sort("person").rows() == [("ann", 20), ("ben", 20)]
    _, both = read_sheet(ann, qrels)
    assert sorted(both.rows()) == sorted(rows)
    table = tmp_path / "people.cy.csv"
    lines = "".join(f"{q},{d},cy,{g}\n" for q, d, g in rows)
    table.write_text(f"qid,docno,rater,grade\n{lines}")
    assert sorted(read_sheet(table)[1].rows()) == sorted(rows)


def test_a_person_grades_a_document_once(sheet, tmp_path):
    _, path = sheet
    drawn = [(q, d, 1) for q, d in Design.read(path).drawn.iter_rows()]
    ann = saved(tmp_path / "people.ann.json", "Ann", drawn)
    again = saved(tmp_path / "people.copy.json", "Ann", drawn)
    for sheets in ((ann, ann), (ann, again)):
        with pytest.raises(InputError, match=r"copy.json|ann.json.*Ann graded document .* twice"):
            read_grades(sheets)


def test_the_lower_median_of_several_people_counts(sheet, tmp_path):
    _, path = sheet
    pairs = Design.read(path).drawn.rows()
    sheets = [
        saved(tmp_path / f"people.{name}.json", name, [(q, d, grade) for q, d in pairs])
        for name, grade in (("a", 0), ("b", 2), ("c", 1), ("d", 2))
    ]
    assert set(read_sheet(*sheets)[1]["grade"]) == {1}
    assert set(read_sheet(*sheets[:2])[1]["grade"]) == {0}
    assert set(read_sheet(*sheets[1:])[1]["grade"]) == {2}


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"format": "adducir ratings 2", "judge": "a", "ratings": []}', '{"ratings": 3}'],
)
def test_json_of_no_page_is_refused(sheet, tmp_path, text):
    path = tmp_path / "people.x.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_sheet(path)


def test_a_page_holds_the_topic_but_not_what_could_act(sheet, tmp_path):
    _, path = sheet
    page = page_for(path, None, None, "T </title><script>")
    assert [value for value, _ in page.choices] == [0, 1, 2, 3]
    assert {item.about for item in page.items} <= {
        (("Narrative", f"all of q{n}"),) for n in range(12)
    }
    page.write(tmp_path / "people.html")
    html = (tmp_path / "people.html").read_text()
    assert "<title>T &lt;/title&gt;" in html
    assert "default-src &#39;none&#39;" in html
    assert "grade" not in {key for item in page.items for key in item.ids}


def test_a_page_shows_other_sheets_too(tmp_path):
    task = tmp_path / "task.csv"
    task.write_text("item,context,candidate_1,candidate_2,choice,task\n1,a gap,x,y,,t0\n")
    page = page_for(task, None, None, "t")
    assert page.items[0].ids == {"item": "1", "task": "t0"}
    assert (page.items[0].options, page.column) == (("x", "y"), "choice")
    answers = tmp_path / "answers.csv"
    answers.write_text("item,system,context,text\n1,b,why?,because\n1,a,why?,no\n")
    page = page_for(answers, "1=bad,5=good", "How good?", "t")
    assert page.items[1].ids == {"item": "1", "system": "a"}
    assert page.choices == ((1, "bad"), (5, "good"))
    for text, message in {
        "qid,docno\n1,d\n": "not a sheet",
        "qid,docno,text\n": "no rows",
        "qid,docno,text\n1,d,a\n1,d,b\n": "repeated",
        "qid,docno,text\n1,d\n": "2 columns.*Quote cells",
        "qid,docno,text\n1,a b,t\n": "blank",
    }.items():
        answers.write_text(text)
        with pytest.raises(InputError, match=message):
            page_for(answers, None, None, "t")


@pytest.mark.parametrize(
    "text", ["", "1", "a=1,b=2", "1,1", "1.5,2", ",".join(map(str, range(11)))]
)
def test_choices_are_distinct_integers(text):
    with pytest.raises(UsageError, match="choices"):
        parse_choices(text)


def test_a_pool_that_grows_keeps_its_sample(tmp_path):
    people, model, runs = judged_collection()
    old = Design.of({"one": runs["one"]}, 20, depth=3)
    design, new = old.with_runs({"two": runs["two"]}, 12, seed=1)
    assert design.extends(old)
    assert not old.extends(design)
    assert (len(new), len(design.drawn)) == (12, 32)
    assert design.pairs.filter("drawn")["probability"].min() > 0
    assert set(design.runs) == {"one", "two"}
    both = Design.of(runs, 30, depth=3)
    assert set(design.pairs["docno"]) == set(both.pairs["docno"])
    evaluator = CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), "P@3")
    assert np.isfinite(evaluator.score(runs["two"]).values("P@3")).all()
    with pytest.raises(UsageError, match="in the pool already"):
        old.with_runs({"one": runs["one"]}, 3)
    # Its two sheets are read together, in any order; another sample's is refused.
    sheets = []
    for name, part, rows in (("a", old, old.drawn), ("b", design, new)):
        sheet = tmp_path / f"{name}.csv"
        write_sheet(part, sheet, rows_for(rows, {}, {}))
        head, *lines = list(csv.reader(sheet.open()))
        graded_lines = [[*line[:-1], str(people[line[0]][line[2]])] for line in lines]
        with sheet.open("w") as file:
            csv.writer(file).writerows([head, *graded_lines])
        sheets.append(sheet)
    for order in (sheets, sheets[::-1]):
        assert len(read_sheet(*order)[1]) == 32
    with pytest.raises(InputError, match="not in the sheet"):
        read_sheet(sheets[1])
    other = tmp_path / "c.csv"
    drawn = Design.of(runs, 5, depth=3, seed=9)
    write_sheet(drawn, other, rows_for(drawn.drawn, {}, {}))
    with pytest.raises(InputError, match="another sample"):
        read_sheet(*sheets, other)


def test_a_grown_pool_is_right_on_average():
    """Over many draws of both samples: the mean over topics of P@3 by people."""
    people, model, runs = judged_collection(6, 8)
    true = evaluate(runs["two"], Qrels.of(people), "P@3").mean("P@3")
    values = []
    for seed in range(80):
        old = Design.of({"one": runs["one"]}, 8, depth=3, seed=seed)
        design, _ = old.with_runs({"two": runs["two"]}, 5, seed=seed + 1000)
        evaluator = CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), "P@3")
        values.append(evaluator.score(runs["two"]).mean("P@3"))
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - true) < 4 * error


def test_whole_topics_are_drawn_with_their_pools(tmp_path):
    people, model, runs = judged_collection()
    design = Design.of(runs, 5, depth=3, seed=4, whole_topics=True)
    drawn = design.drawn["qid"].unique()
    assert len(drawn) == 5
    whole = design.pairs.filter(pl.col("qid").is_in(drawn.implode()))
    assert whole["drawn"].all()
    assert design.pairs["probability"].unique().to_list() == [5 / 12]
    write_sheet(design, tmp_path / "p.csv", rows_for(design.drawn, {}, {}))
    again = Design.read(tmp_path / "p.csv")
    assert again.topics == 5
    assert again.pairs.equals(design.pairs)
    smaller = Design.of({"one": runs["one"]}, 5, depth=3, seed=4, whole_topics=True)
    grown, new = smaller.with_runs({"two": runs["two"]}, 0)
    assert grown.topics == 5
    assert set(new["qid"]) <= set(smaller.drawn["qid"])
    with pytest.raises(UsageError, match="not in the pool"):
        refuse_outside(smaller, runs["two"], "two", 3)
    grades = pl.DataFrame([(q, d, people[q][d]) for q, d in design.drawn.rows()], orient="row")
    grades.columns = ["qid", "docno", "grade"]
    of_people, of_model = whole_topics(design, grades, Qrels.of(model))
    assert set(of_people.qids) == set(drawn)
    assert len(of_model) == len(design.pairs)
    everything = Design.of(runs, 12, depth=3, whole_topics=True)
    assert whole_topics(everything, graded(everything, people), Qrels.of(model))[1] is None
    with pytest.raises(UsageError, match="top 5"):
        check_depth(design, [parse_measure("AP@5")])
    with pytest.raises(UsageError, match="13 topics"):
        Design.of(runs, 13, whole_topics=True)


def plain_alpha(votes):
    """Krippendorff's alpha, ordinal, of (2, U) ratings, by all pairs."""
    rank = np.vectorize(lambda x: (votes < x).sum() + (votes == x).sum() / 2)(votes)
    within = np.mean((rank[0] - rank[1]) ** 2)
    flat = rank.ravel()
    between = ((flat[:, None] - flat) ** 2).sum() / (flat.size * (flat.size - 1))
    return 1 - within / between


def test_agreement_is_theirs():
    rng = np.random.default_rng(2)
    people, model = rng.integers(0, 4, 60), rng.integers(0, 3, 60)
    rows = [("q", f"d{n}", int(g), "ann", int(model[n]) * 10 + n % 3) for n, g in enumerate(people)]
    second = [("q", f"d{n}", int(rng.integers(0, 3)), "ben", 4) for n in range(5)]
    qrels = Qrels.of({"q": {f"d{n}": int(g) for n, g in enumerate(model)}})
    grades = pl.DataFrame(rows, schema=GRADES, orient="row")
    agreement = agreement_of(qrels, grades)
    assert agreement.matrix.sum() == agreement.documents == 60
    assert agreement.kappa == pytest.approx(their_kappa(agreement.matrix).kappa)
    assert agreement.alpha == pytest.approx(plain_alpha(np.stack([people, model])))
    assert agreement.by_length[0] > 0.9
    assert agreement.shared == 0
    both = agreement_of(qrels, pl.DataFrame([*rows, *second], schema=GRADES, orient="row"))
    votes = np.stack([people[:5], [row[2] for row in second]])
    assert both.shared == 5
    assert both.people == pytest.approx(plain_alpha(votes))
    assert both.facts["people 0"]["model 0"] == both.matrix[0, 0]


def test_widths_are_those_of_larger_samples():
    """A width for four times as many documents, guessed from few, is what such samples have."""
    people, model, runs = judged_collection(40, 20, 3)
    measure = parse_measure("P@5")

    def widths(documents, seed):
        design = Design.of(runs, documents, depth=10, seed=seed)
        evaluator = CorrectedEvaluator.of(
            Qrels.of(model), design, graded(design, people), [measure]
        )
        for run in runs.values():
            evaluator.score(run)
        return evaluator.widths(measure)

    guessed = [widths(120, seed) for seed in range(40)]
    assert list(guessed[0])[:3] == [120, 240, 480]
    for size in (240, 480):
        squares = [widths(size, seed)[size] ** 2 for seed in range(100, 106)]
        ours = np.sqrt(np.mean([one[size] ** 2 for one in guessed]))
        assert ours == pytest.approx(np.sqrt(np.mean(squares)), rel=0.1)
    pairs = Design.of(runs, 1, depth=10).pairs
    tops = [run.top(10).to_polars() for run in runs.values()]
    planned = planned_widths(pairs, tops, Qrels.of(people), linear_kind(measure))
    sizes, useless, perfect = zip(*planned, strict=True)
    assert sizes[-1] == len(pairs)
    assert useless[-1] == pytest.approx(perfect[-1])
    assert list(useless) == sorted(useless, reverse=True)
    design = Design.of(runs, len(pairs), depth=10)
    whole = CorrectedEvaluator.of(Qrels.of(model), design, graded(design, people), [measure])
    for run in runs.values():
        whole.score(run)
    assert perfect[0] == pytest.approx(whole.widths(measure)[len(pairs)])
    topics = planned_topic_widths([np.arange(9.0), np.zeros(9)])
    assert topics[-1][0] == 9
    assert topics[-1][1] < topics[-1][2] < topics[0][1]


def test_umbrela_s_qrels_say_who_judged(tmp_path, capsys):
    folder = tmp_path / "modified_qrels"
    folder.mkdir()
    path = folder / "qrels.dl19-passage_gpt-4o_0123_0_1.txt"
    path.write_text("1 Q0 d1 3\n")
    assert judge_of([str(path)]) == "gpt-4o"
    for name in ("qrels.dl19-passage.txt", "a_model_4567_0_1.txt"):
        other = folder / name
        other.write_text("1 Q0 d1 3\n")
        assert judge_of([other]) is None
    assert judge_of([tmp_path / path.name]) is None  # not where umbrela writes them
    lines = tmp_path / "judgments.jsonl"
    lines.write_text('{"query": "q", "passage": "p", "judgment": 2, "result_status": 1}\n')
    with pytest.raises(InputError, match="neither topic nor document"):
        load_qrels(lines)


def test_a_judge_that_a_system_uses_is_named(tmp_path):
    qrels, systems = tmp_path / "m.qrels", {}
    models = {
        "self": {"name": "m-1"},
        "kin": {"name": "m-7", "family": "m"},
        "same": {"name": "copy", "weights": "abc"},
        "other": {"name": "x", "family": "y"},
        "none": {},
    }
    judge = {"name": "m-1", "family": "m", "weights": "abc"}
    metadata_for(qrels).write_text(metadata_text({"judge": judge}))
    for name, model in models.items():
        path = tmp_path / f"{name}.trec"
        facts = {"method": {"stages": [{"language model": model}]}} if model else {}
        metadata_for(path).write_text(metadata_text(facts))
        systems[path] = name
    systems[tmp_path / "bare.trec"] = "bare"
    notes = list(circular_note("m-1", [qrels], systems))
    assert len(notes) == 2
    assert "self, same used it" in notes[0]
    assert "kin used a model of its family m" in notes[1]
    assert list(circular_note("m-2", [], systems)) == []


def test_lara_s_judgements_are_qrels(tmp_path):
    path = tmp_path / "lara.csv"
    path.write_text("topic_id,doc_id,annotation,prob_yes,prob_no\n7,d1,1,.9,.1\n7,d2,0,.2,.8\n")
    assert load_qrels(path).frame.rows() == [("7", "d1", 1), ("7", "d2", 0)]
    path.write_text("topic_id,doc_id,annotation,prob_yes,prob_no\n7,d1,1,.9,.1\n7,d2,,.2,.8\n")
    with pytest.raises(InputError) as raised:
        load_qrels(path)
    assert raised.value.line == 3
