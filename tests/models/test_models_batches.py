"""Batches by tokens, half precision, and chunks by workers: each gives what the whole would."""

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_bert

from adducir.core.errors import MachineError
from adducir.core.executors import Place
from adducir.encoders.settings import EncodingSettings
from adducir.models import machine
from adducir.models.machine import casting_once, computing_in
from adducir.models.work import in_order, token_batches

MEAN = EncodingSettings(pooling="mean", similarity="dot")


@given(st.lists(st.integers(0, 50)), st.integers(1, 200))
def test_every_item_is_in_one_batch_within_the_budget(lengths, budget):
    batches = token_batches(lengths, budget)
    assert sorted(np.concatenate([*batches, np.array([], int)]).tolist()) == [*range(len(lengths))]
    for batch in batches:
        longest = max(lengths[number] for number in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget or longest == 0
    longest = [max(lengths[number] for number in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
    MemoryError(),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("size", "words"), [(8, "8 texts"), (1, "1 text")])
def test_a_batch_that_does_not_fit_is_an_error_and_never_another_batch(error, size, words):
    sizes = []

    def compute(batch):
        sizes.append(len(batch))
        raise error

    with pytest.raises(MachineError, match=rf"a batch of {words}\..*batch_tokens") as caught:
        in_order([5] * size + [2] * 3, compute, tokens=5 * size)
    assert caught.value.exit_code == 4
    assert sizes == [size]


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


@pytest.mark.parametrize(
    "kind", ["bert", "roberta", "distilbert", "albert", "electra", "mpnet", "t5"]
)
def test_casts_once_give_the_same(kind):
    sizes = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 37, "pad_token_id": 0, "embedding_size": 32}
    if kind == "distilbert":
        sizes = {"vocab_size": 60, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 37}
    elif kind == "t5":
        sizes = {"vocab_size": 60, "d_model": 32, "d_kv": 16, "d_ff": 37, "num_layers": 2}
        sizes |= {"num_heads": 2}
    config = transformers.AutoConfig.for_model(kind, **sizes)
    torch.manual_seed(1)
    model = transformers.AutoModel.from_config(config).eval()
    model = model.encoder if kind == "t5" else model
    ids = torch.randint(2, 60, (3, 9))
    with torch.inference_mode(), computing_in("bfloat16", model):
        each = model(input_ids=ids).last_hidden_state
    with casting_once(model), torch.inference_mode(), computing_in("bfloat16", model):
        once = model(input_ids=ids).last_hidden_state
    assert torch.equal(once, each)


def test_each_worker_takes_the_next_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    places = [Place(number, 3, is_alone=True) for number in range(3)]
    found = [str(machine.choose_device("auto", place)) for place in places]
    assert found == ["cuda:0", "cuda:1", "cuda:0"]
    assert str(machine.choose_device("cuda:1", places[0])) == "cuda:1"
    assert str(machine.choose_device("auto", Place())) == "cuda"
