"""The proxy task: making it, its files, choices and their scores."""

import csv
import json

import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa
from statsmodels.stats.proportion import proportion_confint
from tiny import WORDS, as_encoder, tiny_bert

from adducir.annotations.multiple_choice import (
    choices_of_scores,
    majority,
    make_key,
    proxy_table,
    read_choices,
    read_key,
    write_key,
    write_task,
)
from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.reading import ContextRecipe
from adducir.experiments.known_item.system import LexicalPart
from adducir.statistics.settings import Bootstrap
from adducir.studies.literary_evidence.relic import book_tasks, read_relic
from adducir.tables.table import Layout

TEXTS = {
    "t": "The  gold item,\nas it is",
    "same": "the gold item, as it IS",
    "a": "First other",
    "again": "first OTHER",
    "b": "Second, “other”",
    "c": "Third",
    "empty": " ",
}


def question(name, gold="t", group="g", context="context"):
    return MaskedSpan(name, group, (context,), ("masked",), (), gold)


def questions(number):
    return [question(f"q{place}") for place in range(number)]


def ranked(number, *docnos):
    return {f"q{place}": list(docnos) for place in range(number)}


def test_the_two_best_others_are_offered():
    ranking = ranked(1, "same", "empty", "unknown", "a", "t", "again", "b", "c")
    (item,) = make_key(questions(1), ranking, TEXTS)[0].answers.values()
    assert set(item.docnos) == {"t", "a", "b"}  # not the gold item's or the first's own words again
    assert item.docnos[item.gold - 1] == "t"
    (wider,) = make_key(questions(1), ranking, TEXTS, others=3)[0].answers.values()
    assert set(wider.docnos) == {"t", "a", "b", "c"}


def test_the_order_is_shuffled_by_seed_and_item_alone():
    ranking = ranked(300, "a", "b", "c")
    key, _ = make_key(questions(300), ranking, TEXTS)
    counts = np.bincount([item.gold for item in key.answers.values()], minlength=4)[1:]
    assert (counts > 70).all()  # 100 each, with a standard deviation of 8
    fewer, _ = make_key(questions(300)[100:], ranking, TEXTS)
    assert [*fewer.answers.items()] == [*key.answers.items()][100:]
    assert make_key(questions(300), ranking, TEXTS)[0].mark == key.mark
    assert make_key(questions(300), ranking, TEXTS, seed=1)[0].mark != key.mark


def test_a_sample_keeps_the_order_of_the_questions():
    asked, found = questions(50), ranked(50, "a", "b")
    keys = [make_key(asked, found, TEXTS, sample=7, seed=seed)[0] for seed in (3, 4)]
    ids = [[int(name[1:]) for name in key.answers] for key in keys]
    assert ids[0] == sorted(ids[0])
    assert len(ids[0]) == 7
    assert ids[0] != ids[1]


def test_questions_without_enough_are_left_out_and_counted():
    asked = [*questions(3), question("x", "gone")]
    ranking = {"q0": ["a", "b"], "q1": ["a", "again", "t"], "x": ["a", "b"]}
    key, left_out = make_key(asked, ranking, TEXTS)
    assert [*key.answers] == ["q0"]
    assert left_out.total() == 3
    assert len(left_out) == 3
    with pytest.raises(UsageError):
        make_key(asked[1:], ranking, TEXTS)
    with pytest.raises(UsageError, match="q0"):
        make_key([asked[0], asked[0]], ranking, TEXTS)


@pytest.fixture
def asked():
    return [
        question(f"q{place}", "t", "1" if place < 2 else "2", 'He said,\n"yes":')
        for place in range(6)
    ]


@pytest.fixture
def key(asked):
    return make_key(asked, ranked(6, "a", "b"), TEXTS)[0]


@pytest.mark.parametrize("name", ["task.csv", "task.csv.gz"])
def test_judges_see_neither_the_gold_nor_docnos(asked, key, tmp_path, name):
    write_task(key, asked, TEXTS, tmp_path / name)
    write_key(key, tmp_path / "key.csv")
    assert read_key(tmp_path / "key.csv") == key
    if name == "task.csv":
        rows = list(csv.DictReader((tmp_path / name).open(encoding="utf-8", newline="")))
        assert rows[0]["context"] == 'He said,\n"yes": [masked]'
        assert set(rows[0]) == {
            *("item", "context", "candidate_1", "candidate_2", "candidate_3", "choice", "task")
        }
    with pytest.raises(InputError):  # nothing was chosen
        read_choices(tmp_path / name, key, "anna")


def test_choices_are_read_from_the_filled_task(asked, key, tmp_path):
    path = tmp_path / "anna.csv"
    write_task(key, asked, TEXTS, path)
    path.write_text(path.read_text().replace(f",,{key.mark}", f",2,{key.mark}"))
    assert read_choices(path, key, "anna")["anna"].tolist() == [2] * 6
    path = tmp_path / "all.jsonl"
    path.write_text("".join(f'{{"item": "q{n}", "choice": 3}}\n' for n in range(6)))
    assert read_choices(path, key, "anna")["anna"].tolist() == [3] * 6
    path = tmp_path / "all.csv"
    path.write_text("rater,item,choice\nanna,q1,3\nben,q0,1\nben,q1,\n")
    found = {name: chosen.tolist() for name, chosen in read_choices(path, key, "all").items()}
    assert found == {"anna": [0, 3, 0, 0, 0, 0], "ben": [1, 0, 0, 0, 0, 0]}


def test_a_model_chooses_by_score_with_ties_against_it(key):
    a, t, b = "a", "t", "b"
    scores = {
        "q0": {t: 2.0, a: 1.0, b: 1.5},  # right
        "q1": {t: 2.0, a: 2.0, b: 1.0},  # a tie
        "q2": {t: -9.0, a: -10.0},  # b has no score
        "q3": {a: -10.0, "other": 5.0},  # the gold item has none
        "q4": {"other": 1.0},  # nothing
    }
    chosen, partial = choices_of_scores("dense", scores, key)
    docnos = [
        answer.docnos[number - 1] if number else None
        for answer, number in zip(key.answers.values(), chosen, strict=True)
    ]
    assert docnos == [t, a, t, a, None, None]
    assert partial == 2
    with pytest.raises(UsageError):
        choices_of_scores("other", {"q0": {"z": 1.0}}, key)


def judges_of(key, *patterns):
    """Judges from texts: + right, - the next option, ~ the one after, . no answer."""
    return {
        f"judge{number}": np.array(
            [
                0 if sign == "." else (answer.gold - 1 + "+-~".index(sign)) % 3 + 1
                for sign, answer in zip(pattern, key.answers.values(), strict=True)
            ]
        )
        for number, pattern in enumerate(patterns)
    }


def figures_of(key, judges, models=(), **how):
    table = proxy_table(key, judges, dict(models), Bootstrap(samples=50), Layout(), **how)
    return table, {
        (row.system, column.group, column.measure): cell.mean for row, column, cell in table.cells()
    }


def test_accuracies_by_hand(key):
    judges = judges_of(key, "++-+.+", "++-~-.", "+-~++.")
    _, found = figures_of(key, judges)
    assert [found[name, "", "Right"] for name in judges] == [4, 2, 3]
    assert [found[name, "", "Answered"] for name in judges] == [5, 5, 5]
    # The items' answers: +++ ++- --~ +~+ .-+ +..; the fifth has no majority.
    assert majority([*judges.values()])[4] == 0
    assert [found["majority", "", name] for name in ("Answered", "Right")] == [6, 4]
    interval = proportion_confint(4, 6, method="wilson")
    assert [found["majority", "", end] for end in ("low", "high")] == pytest.approx(interval)


def test_agreement_of_judges(key):
    judges = judges_of(key, "+++-~.", "+++--+", "++-~~+")
    table, _ = figures_of(key, judges)
    options = np.stack([*judges.values()], axis=1)[:5]
    counts = np.array([np.bincount(row - 1, minlength=3) for row in options])
    (told,) = [note for note in table.footer() if "kappa" in note]
    assert f"Fleiss' kappa {fleiss_kappa(counts):.3f}" in told
    assert f"free-marginal {fleiss_kappa(counts, 'rand'):.3f}" in told
    assert "all agree on 40.0%" in told


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """Two books of 30 sentences, with eight quotations each, and an encoder."""
    folder = tmp_path_factory.mktemp("books")
    draw = np.random.default_rng(5)
    words = [word for word in WORDS if word.isalpha() and len(word) > 1]
    data = {}
    for book in ("emma", "the awakening"):
        sentences = [" ".join(draw.choice(words, 6)) for _ in range(30)]
        sides = [" ".join(draw.choice(words, 6)) for _ in range(4)]
        quotes = {f"{book[:3]}{n}": [sides[:2], 3 * n, n % 2 + 1, sides[n % 3 :]] for n in range(8)}
        data[book] = {"quotes": quotes, "sentences": sentences}
    (folder / "relic.json").write_text(json.dumps(data))
    as_encoder(tiny_bert(folder / "network"), folder / "tiny")
    return folder


def rows_of(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    return {(row[0], row[2]): (int(row[3]), float(row[4])) for row in rows}


def test_the_proxy_column_of_ones_own_data(books, monkeypatch, capsys):
    """BM25's run, the task, an encoder's choices: as docs/studies/literary-evidence.md has it."""
    monkeypatch.chdir(books)
    relic = ["--contexts", "relic", "relic.json"]
    retrieve = ["known-item", "retrieve", *relic, "--depth", "40", "-m"]
    assert main([*retrieve, "bm25", "-o", "bm25.trec"]) == 0
    tasks = [*book_tasks(read_relic(books / "relic.json"))]
    part = LexicalPart(k1=0.5, b=0.9)
    found = rows_of(books / "bm25.trec")
    ranks_of = part.ranks(tasks, ContextRecipe(), 1, rouge=False)
    for task, ranks in zip(tasks, ranks_of, strict=True):
        for span, better, tied in zip(task.spans, ranks.better, ranks.tied, strict=True):
            assert better < found[span.id, span.docno][0] <= better + tied
    make = ["annotations", "proxy-make", *relic, "--run", "bm25.trec", "-o"]
    assert main([*make, "task.csv", "--key", "key.csv", "--sentences", "1"]) == 0
    key = read_key(books / "key.csv")
    assert {*key.answers} == {
        span.id for task in tasks for span in task.spans if len(span.span) < 2
    }
    assert main([*retrieve, "tiny", "-o", "all.trec"]) == 0
    assert main([*retrieve, "tiny", "-o", "three.trec", "--key", "key.csv"]) == 0
    whole, three = rows_of(books / "all.trec"), rows_of(books / "three.trec")
    assert {*three} == {(item, name) for item, one in key.answers.items() for name in one.docnos}
    assert all(whole[pair][1] == pytest.approx(score) for pair, (_, score) in three.items())
    right = 0
    for item, answer in key.answers.items():
        first = min(answer.docnos, key=lambda docno: whole[item, docno][0])
        right += first == answer.docnos[answer.gold - 1]
    score = ["annotations", "proxy-score", "--key", "key.csv", "--samples", "1", "--format", "csv"]
    capsys.readouterr()
    assert main([*score, "--run", "three.trec", "--run", "bm25.trec"]) == 0
    table = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    accuracy = {row["system"]: float(row["mean"]) for row in table if row["measure"] == "Accuracy"}
    assert accuracy["three"] == pytest.approx(right / len(key.answers))
    first = [found[item, one.docnos[one.gold - 1]][0] == 1 for item, one in key.answers.items()]
    assert accuracy["bm25"] == pytest.approx(np.mean(first))


def test_items_that_a_model_misses(books, monkeypatch, capsys):
    monkeypatch.chdir(books)
    relic = ["--contexts", "relic", "relic.json"]
    retrieve = ["known-item", "retrieve", *relic, "-m"]
    assert main([*retrieve, "bm25:1.2,0.75", "--depth", "10", "-o", "ten.trec"]) == 0
    make = ["annotations", "proxy-make", *relic, "--run", "ten.trec"]
    options = ["-o", "t.csv", "--key", "k.csv", "--group", "emma"]
    assert main([*make, *options, "--missed", "10"]) == 0
    found = rows_of(books / "ten.trec")
    spans = [span for task in book_tasks(read_relic(books / "relic.json")) for span in task.spans]
    missed = {span.id for span in spans if (span.id, span.docno) not in found}
    answers = read_key(books / "k.csv").answers
    assert {*answers} == {name for name in missed if name.startswith("emm")} != set()
    capsys.readouterr()
    for argv, words in (
        ([*make, *options, "--missed", "11"], "at most 10 candidates"),
        ([*retrieve, "bm25", "-o", "x.trec", "--key", "k.csv"], "depend on all candidates"),
        ([*retrieve, "bm25:2", "-o", "x.trec"], "BM25's parameters"),
        ([*retrieve, "bm25:2,7", "-o", "x.trec"], "BM25's parameters"),
        ([*make, *options, "--spans", "relic.json"], "either --contexts, or --spans and --corpus"),
    ):
        assert main(argv) != 0
        assert words in " ".join(capsys.readouterr().err.split())
