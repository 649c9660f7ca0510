"""Examples from judged topics: which negatives, a teacher's scores, and what learns from them."""

import json
import math

import numpy as np
import pytest
import torch
import yaml
from json_files import jsonl
from notes import Notes
from tiny import tiny_decoder

from adducir.core.errors import InputError
from adducir.core.planning import LARGEST
from adducir.corpora.topics import Topics
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.rerankers.recipe import open_reranker
from adducir.training.data import same_number
from adducir.training.leaks import note_seen, queries_of
from adducir.training.run import train_model
from adducir.training.trainable import open_training

ANIMALS = ("cats", "dogs")


@pytest.fixture
def study(tmp_path, tiny):
    """Topics that ask for cats or dogs; a run that ranks dogs above; a teacher that knows."""
    (tmp_path / "encoders").mkdir()
    documents = [(f"{animal}{n}", f"{animal} run {n % 4}") for n in range(8) for animal in ANIMALS]
    rows = ({"docno": docno, "text": text} for docno, text in documents)
    jsonl(tmp_path / "corpus.jsonl", rows)
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
    # Below the depth of reranking, scores are not the reranker's.
    metadata = study / "teacher.trec.ir-metadata.yml"
    metadata.write_text("method:\n  reranking:\n  - depth: 9\n")
    reranked = training(study, *teacher, "loss=margin-mse").examples
    assert {len(example.scores) for example in reranked} == {2 + 1, 2 + 2}


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
    if loss == "kl-divergence":  # a folder that an experiment only uses
        (study / "experiments").mkdir()
        file = study / "experiments" / "used.yaml"
        file.write_text(
            """corpora: {all: {source: corpus.jsonl}}
indexes: {dense: {corpus: all, engine: dense, encoder: encoders/judged}}
topics: {same: {source: topics.tsv, qrels: judged.qrels}}
systems: {dense: {index: dense}}
"""
        )
        lines = plan_experiment(file, dry_run=True).lines()
        assert any("encoders/judged was trained on 8 of the 8 queries" in line for line in lines)
    # The model keeps which queries it knows; a test with them is noted.
    folder, other = study / "encoders" / "judged", {"1": "DOGS  energy 2", "2": "horses"}
    assert queries_of(folder) == {same_number(f"{a} energy {n}") for a in ANIMALS for n in range(4)}
    with Notes() as noted:
        note_seen(folder, Topics.of(other, "other.tsv"))
        note_seen(folder, Topics.of({"2": "horses"}))
    assert noted.lines == [
        f"{folder} was trained on 1 of the 2 queries of other.tsv: "
        "`examples.without.topics` leaves them out"
    ]


def warned(file, **options):
    lines = plan_experiment(file, **options).lines()
    return [line.partition(" ")[2].strip() for line in lines if line.startswith("warn")]


def test_a_test_on_what_was_trained_on_is_noted_before_it_runs(study, tiny, monkeypatch):
    def make(*_):
        raise InputError("not trained")

    monkeypatch.setattr("adducir.experiments.step.ModelStep.make", make)
    (study / "some.qrels").write_text("cats0 0 cats0 1\nother 0 dogs1 1\n")
    (study / "more.tsv").write_text("cats0\tCats  energy 0\nother\thorses\n")
    (study / "deepct").mkdir()
    weights = f"kind: deepct\nbase: {tiny}\ncorpus: {{source: corpus.jsonl}}\ntext: text\n"
    (study / "deepct" / "all.yaml").write_text(f"{weights}reference: docno2\n")
    (study / "experiments").mkdir()
    file = study / "experiments" / "leak.yaml"
    file.write_text(
        """corpora:
  all: {source: corpus.jsonl}
  weighted: {expand: all, model: deepct/all.yaml}
indexes:
  dense: {corpus: all, engine: dense, encoder: encoders/judged.yaml}
  weights: {corpus: weighted, engine: memory, fields: [weighted]}
topics:
  same: {source: topics.tsv, qrels: judged.qrels}
  some: {source: more.tsv, qrels: some.qrels}
systems:
  dense: {index: dense, seeds: 2}
  weights: {index: weights}
"""
    )

    def warnings(**without):
        path = study / "encoders" / "judged.yaml"
        recipe = yaml.safe_load(path.read_text())
        recipe["examples"]["without"] = without
        path.write_text(yaml.safe_dump(recipe))
        return warned(file, dry_run=True)

    remedy = "`examples.without.topics` leaves them out"
    assert warnings() == [
        f"encoders/judged was trained on 8 of the 8 queries of same: {remedy}",
        f"encoders/judged was trained on 1 of the 2 queries of some: {remedy}",
        "deepct/all was trained on 16 of the 16 documents judged for same: "
        "`without.qrels` leaves them out",
        "deepct/all was trained on 2 of the 2 documents judged for some: "
        "`without.qrels` leaves them out",
    ]
    assert [line for line in warnings(topics="topics.tsv") if "encoders" in line] == []
    # Files and fields of documents are read for it, unless a dry run finds them large.
    written(study, "dual-encoder", base=str(tiny))
    titled = [{"docno": n, "title": f"cats energy {n}", "text": f"{n} dogs"} for n in range(6)]
    jsonl(study / "titled.jsonl", titled)
    fields = {"query_field": "title", "corpus": {"source": "titled.jsonl"}}
    path = study / "encoders" / "judged.yaml"
    recipe = yaml.safe_load(path.read_text()) | {"held_out": {"share": 0}}
    for source, count, name in (({"files": "train.jsonl"}, 8, "train"), (fields, 4, "titled")):
        path.write_text(yaml.safe_dump(recipe | {"examples": source}))
        told = f"encoders/judged was trained on {count} of the 8 queries of same: {remedy}"
        assert [line for line in warned(file) if "encoders" in line and "same" in line] == [told]
        with Notes() as noted, pytest.raises(InputError, match="not trained"):
            run_experiment(plan_experiment(file))
        assert told in noted.lines
        with (study / f"{name}.jsonl").open("a") as large:
            large.truncate(LARGEST + 1000)
        assert not any("encoders" in line for line in warned(file, dry_run=True))


def written(study, kind, **keys):
    """A recipe of a file of examples."""
    is_paired = kind != "dual-encoder"  # a tiny one learns that cats are better than dogs
    rows = [
        {"query": f"{a} energy {n}", "pos": [f"{a} run {n % 4}"], "neg": [f"{b} run {n % 4}"]}
        for n in range(8)
        for a, b in (ANIMALS, ANIMALS if is_paired else ANIMALS[::-1])
    ]
    jsonl(study / "train.jsonl", rows)
    recipe = {"kind": kind, "examples": {"files": "train.jsonl"}, "held_out": {"share": 0.25}}
    recipe["training"] = {"epochs": 8, "batch_size": 4, "learning_rate": 0.01, "patience": None}
    path = study / "encoders" / "file.yaml"
    path.write_text(json.dumps({**recipe, **keys}))
    return open_training(path)


PAIRS = [("cats energy 1", "cats run 3"), ("cats energy 1", "dogs run 3")]


@pytest.mark.parametrize("kind", ["LlamaModel", "Qwen3Model", "GPT2Model", "Gemma3TextModel"])
def test_a_decoder_learns_by_lora_and_is_merged(kind, study):
    from safetensors.torch import load_file
    from sentence_transformers import SentenceTransformer

    base = tiny_decoder(study / "decoder", kind=kind, initializer_range=0.05, pad=kind[0] != "L")
    plan = written(
        study, "dual-encoder", base=str(base), towers="shared", similarity="cosine", lora={"r": 4}
    )
    manifest = train_model(plan, study / "model")
    assert manifest.counts["validation_loss"] < math.log(4) - 0.2
    assert not (study / "model" / "adapter_config.json").exists()
    before, after = (
        load_file(base / "model.safetensors"),
        load_file(study / "model" / "model.safetensors"),
    )
    assert before.keys() == after.keys()
    changed = {name for name, weight in before.items() if not torch.equal(weight, after[name])}
    assert changed
    assert not any("norm" in name or "embed" in name or "wte" in name for name in changed)
    encoder = DualEncoder.load(encoder_source(str(study / "model")))
    texts = [text for _, text in PAIRS]
    ours = encoder.encode_documents(texts)
    assert np.abs(ours[0] - ours[1]).max() > 0.05
    peer = SentenceTransformer(str(study / "model"), device="cpu")
    np.testing.assert_allclose(ours, peer.encode_document(texts), atol=1e-5)
    with pytest.raises(InputError, match=r"lora\.targets"):
        train_model(
            written(study, "dual-encoder", base=str(base), lora={"targets": "nosuch"}),
            study / "other",
        )


@pytest.mark.parametrize("loss", ["cross-entropy", "pairwise"])
def test_a_cross_encoder_learns_lists_and_is_read_by_sentence_transformers(loss, study, tiny):
    from sentence_transformers import CrossEncoder

    lora = {"lora": {"r": 2, "targets": ["query", "value"]}} if loss == "pairwise" else {}
    kind = "monobert" if loss == "pairwise" else "cross-encoder"
    plan = written(study, kind, base=str(tiny), loss=loss, length=40, **lora)
    train_model(plan, study / "model")
    history = json.loads((study / "model" / "training.json").read_text())["validations"]
    assert history[-1]["training_loss"] < 0.8 * history[0]["training_loss"]
    assert queries_of(study / "model") == plan.trained_on().queries
    scores = open_reranker(study / "model").model.scores(PAIRS)
    assert scores[0] > scores[1]
    peer = CrossEncoder(str(study / "model"), device="cpu")
    theirs = peer.predict(PAIRS, activation_fn=torch.nn.Identity())
    if theirs.ndim > 1:
        theirs = torch.tensor(theirs).log_softmax(1)[:, 1].numpy()
    np.testing.assert_allclose(scores, theirs, atol=1e-5)


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


@pytest.mark.parametrize("key", ["runs", "teacher"])
def test_runs_of_other_topics_are_refused(key, study):
    (study / "other.trec").write_text("x Q0 d1 1 2 r\n")
    with pytest.raises(InputError, match=r"other.trec: .*none of the qids"):
        list(training(study, f"examples.{key}=other.trec").examples)


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
