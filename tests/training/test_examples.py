"""Examples from judged topics: which negatives, a teacher's scores, and what learns from them."""

import json

import numpy as np
import pytest

from adducir.core.errors import InputError
from adducir.training.run import train_model
from adducir.training.trainable import open_training

ANIMALS = ("cats", "dogs")


@pytest.fixture
def study(tmp_path, tiny):
    """Topics that ask for cats or dogs; a run that ranks dogs above; a teacher that knows."""
    (tmp_path / "encoders").mkdir()
    documents = [(f"{animal}{n}", f"{animal} run {n % 4}") for n in range(8) for animal in ANIMALS]
    lines = [json.dumps({"docno": docno, "text": text}) + "\n" for docno, text in documents]
    (tmp_path / "corpus.jsonl").write_text("".join(lines))
    topics = [(f"{animal}{n}", f"{animal} energy {n % 4}") for n in range(4) for animal in ANIMALS]
    (tmp_path / "topics.tsv").write_text("".join(f"{q}\t{text}\n" for q, text in topics))
    qrels = [f"{qid} 0 {qid} 1\n{qid} 0 {qid[:4]}{int(qid[4:]) + 4} 1\n" for qid, _ in topics]
    (tmp_path / "judged.qrels").write_text("".join(qrels))
    run, teacher = list[str](), list[str]()
    for qid, _ in topics:
        names = sorted((docno for docno, _ in documents), key=lambda docno: docno[:4] == qid[:4])
        run += [f"{qid} Q0 {docno} {n} {50 - n} r\n" for n, docno in enumerate(names, 1)]
        teacher += [
            f"{qid} Q0 {docno} 1 {5.0 if docno[:4] == qid[:4] else -5.0 - n} t\n"
            for n, docno in enumerate(names)
            if docno != "dogs7"
        ]
    (tmp_path / "run.trec").write_text("".join(run))
    (tmp_path / "teacher.trec").write_text("".join(teacher))
    (tmp_path / "encoders" / "judged.yaml").write_text(
        f"""kind: dual-encoder
base: {tiny}
pooling: mean
towers: shared
examples:
  topics: topics.tsv
  qrels: judged.qrels
  corpus: {{source: corpus.jsonl}}
  runs: run.trec
  negatives: 2
held_out: {{share: 0.3, seed: 1}}
training: {{epochs: 12, batch_size: 3, learning_rate: 0.005, patience: null}}
"""
    )
    return tmp_path


def training(study, *changes):
    return open_training(study / "encoders" / "judged.yaml", changes)


def test_negatives_are_of_ranks_and_not_what_a_teacher_finds_relevant(study):
    plain = training(study, "examples.skip=2", "examples.depth=6", "examples.negatives=50").examples
    for example in plain:
        assert len(example.positives) == 2
        assert len({*example.negatives}) == 4
        assert not any(text.startswith(example.query[:4]) for text in example.negatives)
    assert plain.counts["unjudged_negatives"] == plain.counts["negatives"] == 8 * 4
    full = training(study, "examples.negatives=50").examples
    assert {len(example.negatives) for example in full} == {8 + 6}
    teacher = ("examples.teacher=teacher.trec", "examples.margin=2", "examples.negatives=50")
    taught = training(study, *teacher).examples
    for example in taught:
        texts = (*example.positives, *example.negatives)
        for text, score in zip(texts, example.scores, strict=True):
            is_told = text != "dogs run 3" or not np.isnan(score)
            assert not is_told or (score > 0) == (text in example.positives)
    assert taught.counts["false_negatives"] == 8 * 6 - 3  # dogs7 has no score
    scored = training(study, *teacher, "loss=margin-mse").examples
    assert all(np.isfinite(example.scores).all() for example in scored)
    assert scored.counts["without_score"] == 8


@pytest.mark.parametrize("loss", ["in-batch-negatives", "kl-divergence"])
def test_a_dual_encoder_learns_from_judged_topics(loss, study):
    from sentence_transformers import SentenceTransformer

    changes = (f"loss={loss}", "similarity=cosine", "examples.teacher=teacher.trec")
    manifest = train_model(training(study, *changes), study / "encoders" / "judged")
    history = json.loads((study / "encoders" / "judged" / "training.json").read_text())
    losses = [entry["training_loss"] for entry in history["validations"]]
    assert losses[-1] < 0.7 * losses[0]
    assert manifest.counts["unjudged_negatives"] > 0
    peer = SentenceTransformer(str(study / "encoders" / "judged"), device="cpu")
    queries, documents = (
        peer.encode_query(["dogs energy"]),
        peer.encode_document(["cats run 3", "dogs run 3"]),
    )
    assert np.diff(queries @ documents.T)[0] > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("loss=margin-mse",), "examples.teacher"),
        (("loss=hinge",), "loss"),
        (("context.left=1",), "`context` has no effect"),
        (("examples.skip=100",), "skip"),
        (("examples.margin=1",), "teacher"),
        (("examples=null",), "examples"),
        (("kind=cross-encoder", "loss=in-batch-negatives"), "in-batch-negatives"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(study, changes, message):
    if changes[0].startswith("kind"):
        path = study / "encoders" / "judged.yaml"
        text = path.read_text().replace("dual-encoder", "cross-encoder")
        path.write_text(text.replace("pooling: mean\ntowers: shared\n", ""))
        changes = changes[1:]
    with pytest.raises(InputError) as caught:
        training(study, *changes)
    assert message in str(caught.value)


def test_spans_have_no_negatives_of_their_own(study, tiny):
    from some_spans import some_spans

    from adducir.corpora.spans import write_spans

    write_spans(some_spans(8), study / "spans.jsonl")
    path = study / "encoders" / "spans.yaml"
    path.write_text(
        f"kind: dual-encoder\nbase: {tiny}\ndata: {{train: spans.jsonl}}\nloss: cross-entropy\n"
    )
    with pytest.raises(InputError, match="cross-entropy needs negatives"):
        open_training(path)
