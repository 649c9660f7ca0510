"""Files of examples as others publish them: what is read of each, and what is refused."""

import json

import polars as pl
import pytest
from json_files import jsonl
from notes import Notes
from pydantic import ValidationError

from adducir.core.errors import InputError
from adducir.training.example_files import read_examples
from adducir.training.example_recipe import ExamplesPart, examples_line
from adducir.training.examples import ExampleSource
from adducir.training.losses import LOSSES

TEXTS = {"0": "cats run fast", "1": "dogs run slow", "2": "nuclear energy"}
TOPICS = {"10": "who runs fast", "11": "clean power"}
PASSAGES = [{"docid": n, "title": f"T{n}", "text": text} for n, text in TEXTS.items()]
CATS, DOGS, POWER = TEXTS.values()
WHO, CLEAN = TOPICS.values()
PLAIN = (WHO, (CATS,), (DOGS, POWER))
SCORED = (*PLAIN, (3.0, 1.0, -2.0))
TITLED = (WHO, (f"T0\n{CATS}",), (f"T1\n{DOGS}", f"T2\n{POWER}"))


def rows(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def cells(*records):
    return "".join("\t".join(map(str, record)) + "\n" for record in records)


def read(folder, text, loss="in-batch-negatives", name="train.jsonl", **part):
    """The examples of a file, without what was not stated; its line, and the counts."""
    (folder / name).write_text(text, encoding="utf-8")
    jsonl(folder / "corpus.jsonl", ({"docno": n, "text": text} for n, text in TEXTS.items()))
    (folder / "topics.tsv").write_text(cells(*TOPICS.items()))
    part = ExamplesPart.model_validate({"files": name, **part})
    examples = ExampleSource(part, (), folder, LOSSES.make(loss))
    with Notes() as noted:
        found = [
            (e.query, e.positives, e.negatives, *((e.scores,) if e.scores else ()))
            for e in examples
        ]
    return found, " ".join(noted.lines), dict(examples.counts)


IDS = {"topics": "topics.tsv", "corpus": {"source": "corpus.jsonl"}}
FILES = {
    "tevatron": (
        rows({"query_id": "10", "query": WHO, "positive_passages": PASSAGES[:1],
              "negative_passages": PASSAGES[1:]}),
        {},
        TITLED,
    ),
    "tevatron's ids": (
        rows({"query_id": "10", "query_text": WHO, "query_image": None,
              "positive_document_ids": ["0"], "negative_document_ids": ["1", "2"]}),
        IDS,
        PLAIN,
    ),
    "bge": (
        rows({"query": WHO, "pos": [CATS], "neg": [DOGS, POWER], "prompt": "Find it."}), {}, PLAIN,
    ),
    "bge with scores": (
        rows({"query": WHO, "pos": [CATS], "neg": [DOGS, POWER], "pos_scores": [3],
              "neg_scores": [1, -2.0]}),
        {},
        SCORED,
    ),
    "pylate": (
        rows({"query_id": 10, "document_ids": [2, 0, 1], "scores": [-2.0, 3, 1]}), IDS, SCORED,
    ),
    "pylate's texts of lists": (
        rows({"query_id": 10, "document_ids": "[2, 0, 1]", "scores": "[-2.0, 3, 1]"}), IDS, SCORED,
    ),
    "pylate, joined": (
        rows({"query": WHO, "documents": [DOGS, CATS, POWER], "scores": [1, 3, -2]}), {}, SCORED,
    ),
    "colbert": (rows([10, 0, 1, 2]), IDS, PLAIN),
    "colbert with scores": (rows([10, [1, 1.0], [0, 3.0], [2, -2]]), IDS, SCORED),
    "triplets of arrays": (rows([WHO, CATS, DOGS, POWER]), {}, PLAIN),
    "numbered negatives": (
        rows({"anchor": WHO, "positive": CATS, "negative_1": DOGS, "negative_2": POWER}), {}, PLAIN,
    ),
    "margins": (
        rows({"query": WHO, "positive": CATS, "negative_1": DOGS, "negative_2": POWER,
              "label": [2.0, 5.0]}),
        {},
        (*PLAIN, (0.0, -2.0, -5.0)),
    ),
    "negatives by system": (
        rows({"qid": 10, "pos": [0], "neg": {"bm25": [1, 2], "dense": [2]}}), IDS, PLAIN,
    ),
    "dpr": (
        json.dumps([{"dataset": "nq", "question": WHO, "answers": ["cats"],
                     "positive_ctxs": [{"title": "T0", "text": CATS, "passage_id": "0"}],
                     "negative_ctxs": [], "hard_negative_ctxs": PASSAGES[1:]}], indent=1),
        {},
        TITLED,
    ),
    "labelled lists": (
        rows({"query": WHO, "docs": [DOGS, CATS, POWER], "labels": [0, 1, 0]}), {}, PLAIN,
    ),
    "labelled pairs": (
        rows(*({"sentence1": WHO, "sentence2": text, "label": int(text == CATS)}
               for text in (DOGS, CATS, POWER))),
        {},
        PLAIN,
    ),
    "truth of pairs": (
        rows(*({"question": WHO, "context": text, "label": text == CATS}
               for text in TEXTS.values())),
        {},
        PLAIN,
    ),
    "scored pairs": (
        rows(*({"query": WHO, "document": text, "score": score}
               for text, score in ((DOGS, 1.0), (CATS, 3.0), (POWER, -2.0)))),
        {},
        SCORED,
    ),
    "passages with a teacher's scores, by system": (
        rows({"qid": 10, "pos": [{"pid": 0, "ce-score": 3}],
              "neg": {"bm25": [{"pid": 1, "ce-score": 1.0}],
                      "dense": [{"pid": 1, "ce-score": 1.0}, {"pid": 2, "ce-score": -2}]}}),
        IDS,
        SCORED,
    ),
    "parts of passages side by side": (
        rows({"query_id": "10", "query": WHO, "positives": {"doc_id": ["0"], "score": [2]},
              "negatives": {"doc_id": ["1", "2"], "score": [1, 2]}}),
        IDS,
        PLAIN,
    ),
    "ids beside texts": (
        rows({"query": WHO, "pos": [CATS], "neg": [DOGS, POWER], "pos_id": ["a"],
              "neg_id": ["b", "c"]}),
        {},
        PLAIN,
    ),
    "a title that is missing": (
        rows({"question": WHO, "positive_ctxs": [{"title": None, "text": CATS, "score": 1000}],
              "hard_negative_ctxs": [{"title": None, "text": t, "score": 9} for t in (DOGS, POWER)],
              }),
        {},
        PLAIN,
    ),
    "own names": (
        rows({"q": WHO, "good": CATS, "bad": [DOGS, POWER]}),
        {"columns": {"query": "q", "positives": "good", "negatives": "bad"}},
        PLAIN,
    ),
}  # fmt: skip
TABLES = {
    "triples": (cells((WHO, CATS, DOGS), (WHO, CATS, POWER)), {}, 1),
    "ids of triples": (cells((10, 0, 2), (10, 0, 1)), IDS, 1),
    "header in words": ("Query text\tPositive\tHard-negative\n" + cells((WHO, CATS, DOGS)), {}, 1),
    "blank line": ("\nquery\tpositive\tnegative\n" + cells((WHO, CATS, DOGS)), {}, 1),
    "pairs": (cells((WHO, CATS), (CLEAN, POWER)), {}, 0),
    "quotes are text": (cells((f'"{WHO}', CATS, DOGS)), {}, 1),
}


@pytest.mark.parametrize("name", FILES)
def test_a_record_is_understood(name, tmp_path):
    text, part, wanted = FILES[name]
    found, note, _ = read(tmp_path, text, **part)
    assert found == [wanted]
    assert note.count("train.jsonl") == 1
    assert ("not read: prompt" in note) == (name == "bge")
    assert ("`score` in " in note) == (name.startswith(("a title", "parts")))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_understood(name, tmp_path):
    text, part, negatives = TABLES[name]
    found, _, _ = read(tmp_path, text, name="train.tsv", **part)
    assert found[0][:2] == ('"' * (name == "quotes are text") + WHO, (CATS,))
    assert [len(example[2]) for example in found] == [negatives] * len(found)
    assert len(found) == (2 if name in ("triples", "ids of triples", "pairs") else 1)


def test_later_records_have_columns_that_the_first_lacks(tmp_path):
    """Missing negatives and scores are left out of a record; its columns say nothing of others'."""
    first = {"query": CLEAN, "positive": POWER}
    more = {"negative_1": DOGS, "negative_2": POWER, "scores": [3.0, 1, -2]}
    found, note, _ = read(tmp_path, rows(first, {"query": WHO, "positive": CATS} | more, first))
    assert found == [(CLEAN, (POWER,), ()), SCORED, (CLEAN, (POWER,), ())]
    assert "`negative_2`" in note
    empty = {"query": CLEAN, "positive": [], "negative": None}
    second = {"query": WHO, "positive": CATS, "negative": DOGS}
    assert read(tmp_path, rows(empty, second), corpus=IDS["corpus"])[0] == [(WHO, (CATS,), (DOGS,))]
    with pytest.raises(InputError, match=r"train.jsonl:2: .*`label`.* otherwise"):
        read(tmp_path, rows(first, first | {"label": 0}))


@pytest.mark.parametrize(
    "record",
    [
        {"query_id": 10, "document_ids": [2, 0, 1], "scores": [-2.0, 3.0, 1.0]},
        {"query_id": 10.0, "positive_id": 0.0, "negative_id": 1.0},  # pandas', where values lack
    ],
)
def test_parquet_is_read(record, tmp_path):
    pl.DataFrame([record]).write_parquet(tmp_path / "f.parquet")
    (found,) = read_examples(tmp_path / "f.parquet", ExamplesPart(files="f", **CORPUS), (), {"10"})
    assert (found.query, found.positives[0].docno, found.negatives[0].docno) == ("10", "0", "1")


def test_csv_may_lack_a_header_and_hold_lists(tmp_path):
    line = f'{WHO},"{CATS}, yes",{DOGS}\n'
    wanted = [(WHO, (f"{CATS}, yes",), (DOGS,))]
    assert read(tmp_path, line, name="train.csv", format="triples")[0] == wanted
    with pytest.raises(InputError, match=r"examples\.format"):
        read(tmp_path, line * 2, name="train.csv")
    lists = f'query,pos,neg\n{WHO},"[\'{CATS}\']","[""{DOGS}"", ""{POWER}""]"\n'
    assert read(tmp_path, lists, name="train.csv")[0] == [PLAIN]
    with pytest.raises(InputError, match="without commas"):
        read(tmp_path, lists.replace(", ", " "), name="train.csv")
    found = read(tmp_path, cells(("[PAR] who", CATS, "[2, 3]")), name="train.tsv")[0]
    assert found == [("[PAR] who", (CATS,), ("[2, 3]",))]


def test_how_labels_and_scores_are_read_is_said(tmp_path):
    pairs = [{"query": WHO, "text": t, "label": n} for t, n in ((CATS, 0.9), (DOGS, 0.2))]
    found, note, _ = read(tmp_path, rows(*pairs), grade=0.5)
    assert found == [(WHO, (CATS,), (DOGS,))]
    assert "`label` (0.5 or more is positive)" in note
    triple = {"query": WHO, "positive": CATS, "negative": DOGS, "label": "1"}
    found, note, _ = read(tmp_path, rows(triple))
    assert found == [(WHO, (CATS,), (DOGS,), (0.0, -1.0))]
    assert "`label` (margins to the positive)" in note


def test_scores_stand_before_triples(tmp_path):
    text = cells((9.5, "-1e-1", WHO, CATS, DOGS))
    found, _, _ = read(tmp_path, text, "margin-mse", "train.tsv")
    assert found == [(WHO, (CATS,), (DOGS,), (9.5, -0.1))]


def test_a_score_alone_says_nothing(tmp_path):
    """A pair with a similarity is neither positive nor negative; a lowest label is a choice."""
    pairs = [{"sentence1": q, "sentence2": CATS, "score": 0.1} for q in TOPICS.values()]
    with pytest.raises(InputError, match="none of the queries"):
        read(tmp_path, rows(*pairs))
    graded = [{"query": WHO, "text": t, "label": n} for n, t in enumerate(TEXTS.values())]
    for again in range(3):  # a repeated pair counts once
        pairs = rows(*graded, graded[again])
        assert read(tmp_path, pairs, grade=2)[0] == [(WHO, (POWER,), (DOGS, CATS))]


def test_leaks_false_negatives_and_the_first_of_many(tmp_path):
    (tmp_path / "test.tsv").write_text(f"7\t{CLEAN.upper()}\n")
    (tmp_path / "pool.txt").write_text("2\n")
    file = rows(
        {"query": WHO, "pos": [CATS], "neg": [f"{CATS} ", DOGS, POWER.upper(), f"{DOGS} "]},
        {"query": CLEAN, "pos": [POWER], "neg": [CATS]},
        {"query": "third one", "pos": [], "neg": [CATS]},
    )
    without = {"topics": "test.tsv", "pools": "pool.txt"}
    corpus = {"corpus": {"source": "corpus.jsonl"}, "without": without}
    found, _, counts = read(tmp_path, file, **corpus)
    assert found == [(WHO, (CATS,), (DOGS,))]
    wanted = {"left_out_queries": 1, "left_out_documents": 1, "false_negatives": 1}
    assert counts | wanted == counts
    assert counts["without_positive"] == 1
    lost = "not used: 1 example without the texts that the loss needs, 1 false negative, "
    assert examples_line(counts).endswith(f"{lost}1 repeated text")
    assert len(read(tmp_path, file, most=2)[0]) == 2
    with pytest.raises(InputError, match="margin` has no effect"):
        read(tmp_path, file, margin=1)
    with pytest.raises(ValidationError, match="corpus"):
        read(tmp_path, file, without=without)


CORPUS = {"corpus": IDS["corpus"]}
CHINESE = {"query": "谁跑得快", "pos": ["猫跑得快"], "neg": ["狗跑得慢"]}
BY_NAME = {"query": WHO, "positive_ids": ["0"], "negative_ids": ["1", "2"]}


@pytest.mark.parametrize(
    ("record", "part", "wanted", "said"),
    [
        (CHINESE, {"ids": "none", **IDS}, ("谁跑得快", ("猫跑得快",), ("狗跑得慢",)), "texts"),
        (BY_NAME, IDS, PLAIN, "query texts and document ids"),
        (["10", "0", "1", "2"], IDS, PLAIN, "ids"),
        ({"qid": "10", "pos": ["0"], "neg": ["1", "2"]}, {"ids": "all", **IDS}, PLAIN, "ids"),
        # A word that is no qid is a query, and one beside texts is a text.
        ({"query": "power", "pos": [POWER], "neg": ["cats"]}, IDS,
         ("power", (POWER,), ("cats",)), "texts"),
        ({"query": "10", "pos": [CATS], "neg": []}, {"ids": "none", **IDS},
         ("10", (CATS,), ()), "texts"),
        ({"query_id": 11, "query": "10", "pos": [CATS], "neg": [DOGS]}, IDS,
         ("10", (CATS,), (DOGS,)), "texts"),
        ({"query": WHO, "pos": [CATS], "neg": [{"docid": "1", "text": ""}]}, CORPUS,
         (WHO, (CATS,), ()), "texts"),
        ({"query": "10", "pos": ["cats"], "neg": ["dogs"]}, {"ids": "queries", **IDS},
         (WHO, ("cats",), ("dogs",)), "query ids and document texts"),
    ],
)  # fmt: skip
def test_what_is_an_id_is_stated(record, part, wanted, said, tmp_path):
    found, note, _ = read(tmp_path, rows(record), **part)
    assert found == [wanted]
    assert f"examples of {said}: " in note


@pytest.mark.parametrize(
    ("record", "part"),
    [
        (CHINESE, CORPUS),
        ({"query": WHO, "pos": ["yes"], "neg": ["no"]}, CORPUS),
        ({"query": "named", "pos": [CATS]}, {"topics": "named.tsv"}),
        ({"query": "12", "pos": [CATS]}, {"topics": "topics.tsv"}),
    ],
)
def test_what_may_be_an_id_or_a_text_is_refused(record, part, tmp_path):
    (tmp_path / "named.tsv").write_text(f"named\t{WHO}\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path, rows(record), **part)
    assert caught.value.line == 1
    assert "`examples.ids`" in str(caught.value.hint)
    for wrong in ({"ids": "all"}, {"ids": "documents"}, {"ids": "queries", **CORPUS}):
        with pytest.raises(ValidationError, match="ids"):
            read(tmp_path, rows(record), **wrong)


GOOD = {"query": WHO, "pos": [CATS], "neg": [DOGS]}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (rows(GOOD) + "{", "JSON", 2),
        (rows(GOOD, {**GOOD, "query": [WHO]}), "neither a text nor a qid", 2),
        (rows(GOOD, {**GOOD, "pos": [["x"]]}), "neither a text nor an id", 2),
        (rows({**GOOD, "pos_scores": [1], "neg_scores": [1, 2]}), "2 scores for 1 document", 1),
        (
            rows({**GOOD, "neg": [DOGS, POWER], "pos_scores": [1], "neg_scores": [1]}),
            "1 score for 2",
            1,
        ),
        (rows(GOOD | {"pos": [{"text": CATS, "ce-score": None}]}), "not a number", 1),
        (rows({"query": WHO, "docs": [CATS], "scores": "['1' '2']"}), "without commas", 1),
        (cells(("query", "gut", "schlecht"), (WHO, CATS, DOGS)), "may be a header", 1),
        (cells((3.5, WHO, CATS)), "may be a query, a qid or a score", 1),
        (rows(GOOD, {**GOOD, "query": " "}), "`query` is empty", 2),
        (rows({**GOOD, "pos_scores": ["high"], "neg_scores": [1]}), "not a number", 1),
        (rows({"query": WHO, "question": WHO, "pos": CATS}), "`query`, `question`", 1),
        (rows({"query": WHO, "body": CATS}), "lacks positives", 1),
        (rows({"q": WHO, "pos": CATS}), "lacks a query", 1),
        (rows([10, 0, 1]), "examples.topics", 1),
        (rows({"query_id": "10", "pos": [CATS]}), "examples.topics", 1),
        (rows({**GOOD, "pos": [{"title": "T"}, {"docid": "3"}]}), "lacks a text", 1),
        (rows([WHO]), "not a JSON array of a query", 1),
        (cells((WHO, CATS, DOGS), (WHO, CATS)), "2 columns", 2),
        (cells((WHO, CATS, 1)), "examples.format", 1),
        (cells((10, 0, 2)), "examples.corpus", 1),
        (cells((10, 0, 0.5)), "a negative or a score", 1),
        (rows({"query": WHO, "positive_document_ids": ["a"]}), "examples.corpus", 1),
        (rows({"question": WHO, "ctxs": PASSAGES}), "`ctxs` are positives is unknown", 1),
        (rows({**GOOD, "pos_scores": [True], "neg_scores": [1]}), "not a number", 1),
        (cells((WHO, CATS, DOGS, POWER)), "not known", 1),
        ("", "no examples", None),
    ],
)
def test_what_is_damaged_or_ambiguous_is_refused(text, message, line, tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path.name == "train.jsonl"


def test_a_query_that_the_topics_lack_is_refused(tmp_path):
    with pytest.raises(InputError, match="'12' is not in the topics"):
        read(tmp_path, cells((12, 0, 2)), name="train.tsv", **IDS)
    wrong = cells((WHO, CATS, 1), (WHO, DOGS, 0))
    found = read(tmp_path, wrong, name="t.tsv", format="scored-pairs")[0]
    assert found == [(WHO, (CATS,), (DOGS,), (1.0, 0.0))]
