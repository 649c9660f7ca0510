"""Examples out of documents alone: positives, negatives, leak control, training by a recipe."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from adducir.core.errors import InputError
from adducir.corpora.sources import open_corpus
from adducir.rerankers.document_examples import document_examples
from adducir.rerankers.examples import Counts, Leaks
from adducir.rerankers.registry import read_recipe
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training
from adducir.training.leaks import Excluded

DOCUMENTS = [
    ("a", "cats", "cats run fast"),
    ("b", "cats", "Cats  RUN fast"),
    ("c", "dogs", "dogs run slow"),
    ("d", "Dogs ", "the dog ran"),
    ("e", "power", "nuclear energy"),
    ("f", "power", ""),
    ("g", "", "plants"),
    ("h", "schools", "uniforms"),
    ("i", "school", "UNIFORMS"),
    ("j", "a banned query", "energy"),
]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "arguments.jsonl"
    lines = [
        json.dumps({"docno": docno, "conclusion": query, "premise": text})
        for docno, query, text in DOCUMENTS
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return open_corpus(path)


def made(corpus, leaks=None, **settings):
    counts = Counts()
    with TemporaryDirectory() as folder:
        found = document_examples(
            corpus,
            "conclusion",
            ["conclusion", "premise"],
            leaks or Leaks(),
            counts,
            Path(folder),
            **{"negatives": 2, **settings},
        )
        return list(counts.counted(found)), counts


def test_each_document_answers_its_own_query_and_no_other(corpus):
    found, counts = made(corpus)
    positives = [(one.query, one.text) for one in found if one.label == 1]
    assert positives == [(query, text) for _, query, text in DOCUMENTS if query and text]
    groups = {"cats": "cats", "dogs": "dogs", "Dogs ": "dogs", "schools": "s", "school": "s"}
    answers = {"cats run fast": "cats", "Cats  RUN fast": "cats", "dogs run slow": "dogs"}
    answers |= {"the dog ran": "dogs", "uniforms": "s", "UNIFORMS": "s"}
    for one in found:
        if one.label == 0:
            assert groups.get(one.query, one.query) != answers.get(one.text, "")
    assert (counts.positives, counts.negatives) == (8, 16)
    assert counts.without_positive == 2
    # "nuclear energy" is no negative of "power", whose text it is.
    assert ("power", "nuclear energy", 0.0) not in found


def test_it_depends_on_the_seed_alone(corpus):
    assert made(corpus, seed=3)[0] == made(corpus, seed=3)[0]
    assert any(made(corpus, seed=seed)[0] != made(corpus)[0] for seed in range(1, 5))
    few, counts = made(corpus, most=3)
    assert counts.positives == 3
    # What a document draws does not depend on how many are taken.
    assert [one for one in made(corpus)[0] if one in few] == few


def test_leaks_are_left_out_with_their_copies(corpus):
    leaks = Leaks(frozenset({"a banned query"}), Excluded({"q": frozenset({"a", "h"})}))
    found, counts = made(corpus, leaks)
    assert {one.query for one in found} == {"dogs", "Dogs ", "power"}
    assert not {"cats run fast", "Cats  RUN fast", "uniforms", "UNIFORMS", "energy"} & {
        one.text for one in found
    }
    assert counts.left_out_documents == 4
    assert counts.left_out_queries == 1
    kept, counts = made(corpus, Leaks(leaks.queries, leaks.documents, copies=False))
    assert {"Cats  RUN fast", "UNIFORMS"} <= {one.text for one in kept}
    assert counts.left_out_documents == 2


def test_nothing_to_learn_from_is_reported(corpus, tmp_path):
    others = Leaks(), Counts(), tmp_path
    with pytest.raises(InputError, match="no field but 'conclusion'"):
        list(document_examples(corpus, "conclusion", ["conclusion"], *others, negatives=1))
    with pytest.raises(InputError, match="no two documents are left"):
        list(document_examples(corpus, "title", [], *others, negatives=1))


RECIPE = """kind: cross-encoder
base: {base}
fields: [conclusion, premise]
examples: {{query_field: conclusion, corpus: {{source: arguments.jsonl}}, negatives: 1}}
held_out: {{share: 0.3}}
training: {{epochs: 1, batch_size: 4}}
"""


def test_a_recipe_trains_on_documents(corpus, study, bert):
    path = study / "rerankers" / "pets.yaml"
    path.write_text(RECIPE.format(base=bert), encoding="utf-8")
    training_plan = open_training(path)
    (study / "texts").mkdir()
    counts = Counts()
    examples = list(counts.counted(training_plan.pairs.examples(counts, study / "texts")))
    assert counts.positives == counts.negatives == 8
    assert len(examples) == 16
    manifest = train_model(training_plan, path.with_suffix(""))
    assert manifest.counts["training_pairs"] + manifest.counts["held_out_pairs"] == 16
    card = (path.with_suffix("") / "README.md").read_text(encoding="utf-8")
    assert "the field conclusion" in card
    # Other documents, or fewer of them, make another model.
    changed = open_training(path, ["examples.most=4"])
    assert changed.fingerprint != training_plan.fingerprint
    (study / "arguments.jsonl").write_text(
        (study / "arguments.jsonl").read_text(encoding="utf-8").replace("slow", "fast"),
        encoding="utf-8",
    )
    assert open_training(path).fingerprint != training_plan.fingerprint


@pytest.mark.parametrize(
    ("examples", "what"),
    [
        ("{query_field: title}", "give `pairs`, or `topics`"),
        ("{query_field: title, corpus: {source: x}, topics: t}", "without judgements"),
        ("{query_field: title, pairs: p}", "`pairs` stands alone"),
        ("{pairs: p, most: 3}", "`most` means nothing without `query_field`"),
    ],
)
def test_errors_of_recipes(study, examples, what):
    path = study / "rerankers" / "wrong.yaml"
    path.write_text(f"kind: cross-encoder\nbase: minilm\nexamples: {examples}\n", encoding="utf-8")
    with pytest.raises(InputError, match=what):
        read_recipe(path)
