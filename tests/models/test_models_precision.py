"""Half precision begins and ends with the layers; what comes behind them is single precision."""

import sys
from pathlib import Path

import pytest
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1] / "rerankers"))

from tiny import tiny_bert
from tiny_t5 import tiny_t5

from adducir.models.machine import computing_in, halved, stacks_of

HEADS = {
    "BertModel": "pooler.dense",
    "BertForSequenceClassification": "classifier",
    "BertForTokenClassification": "classifier",
}


@pytest.fixture(scope="module")
def ids():
    return torch.arange(5, 29).reshape(3, 8)


def types_of(model, name, **inputs):
    """The types of a module's results, each time that it was called."""
    seen = []
    hook = model.get_submodule(name).register_forward_hook(
        lambda module, given, found: seen.append(found.dtype)
    )
    with torch.inference_mode():
        model(**inputs)
    hook.remove()
    return seen


@pytest.mark.parametrize(("kind", "head"), HEADS.items())
def test_layers_compute_in_half_and_heads_do_not(tmp_path, ids, kind, head):
    model = getattr(transformers, kind).from_pretrained(tiny_bert(tmp_path, kind=kind)).eval()
    layer = "encoder.layer.1.intermediate.dense"
    layer = layer if kind == "BertModel" else f"bert.{layer}"
    with computing_in("bfloat16", model):
        assert types_of(model, layer, input_ids=ids) == [torch.bfloat16]
        assert types_of(model, head, input_ids=ids) == [torch.float32]
        assert not torch.is_autocast_enabled("cpu")
    assert types_of(model, layer, input_ids=ids) == [torch.float32]
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


def test_a_t5_s_vocabulary_is_in_single_precision(tmp_path, ids):
    model = transformers.T5ForConditionalGeneration.from_pretrained(tiny_t5(tmp_path)).eval()
    assert stacks_of(model) == [model.encoder, model.decoder]
    start = torch.zeros((3, 1), dtype=torch.long)
    inputs = {"input_ids": ids, "decoder_input_ids": start}
    with computing_in("bfloat16", model):
        query = "decoder.block.0.layer.0.SelfAttention.q"
        assert types_of(model, query, **inputs) == [torch.bfloat16]
        assert types_of(model, "lm_head", **inputs) == [torch.float32]


def test_a_failure_inside_leaves_the_network_as_it_was(tmp_path, ids):
    model = transformers.BertModel.from_pretrained(tiny_bert(tmp_path)).eval()
    before = model(input_ids=ids).last_hidden_state
    with pytest.raises(KeyboardInterrupt), computing_in("bfloat16", model):
        raise KeyboardInterrupt
    assert torch.equal(model(input_ids=ids).last_hidden_state, before)


def test_weights_cast_once_give_the_same(tmp_path, ids):
    model = transformers.BertModel.from_pretrained(tiny_bert(tmp_path)).eval()
    half = halved(model)
    assert half.encoder.layer[0].output.dense.weight.dtype == torch.bfloat16
    assert half.pooler.dense.weight.dtype == torch.float32
    assert model.encoder.layer[0].output.dense.weight.dtype == torch.float32
    with torch.inference_mode():
        with computing_in("bfloat16", half):
            once = half(input_ids=ids).last_hidden_state
        with computing_in("bfloat16", model):
            each = model(input_ids=ids).last_hidden_state
    assert once.dtype == torch.float32
    assert torch.equal(once, each)


def test_a_gradient_through_pieces_computed_again_is_that_of_the_whole(tmp_path, ids):
    model = transformers.BertModel.from_pretrained(tiny_bert(tmp_path)).eval()

    def gradient(again):
        def states(part):
            return model(input_ids=part).last_hidden_state[:, 0]

        model.zero_grad()
        with computing_in("bfloat16", model):
            if again:
                made = torch.utils.checkpoint.checkpoint(states, ids, use_reentrant=False)
            else:
                made = states(ids)
            made.pow(2).sum().backward()
        return model.encoder.layer[0].output.dense.weight.grad.clone()

    assert torch.equal(gradient(again=True), gradient(again=False))
