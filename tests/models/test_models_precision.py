"""Half precision begins and ends with the layers; what comes behind them is single precision."""

import pytest
import torch
import transformers
from tiny import tiny_bert

from adducir.models.machine import computing_in, halved

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
