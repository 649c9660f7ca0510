"""What is saved depends on what determines it alone: no random number of the process, no order."""

import hashlib

import numpy as np
import pytest
import torch
import transformers

from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.models.arrays import read_shard, write_shard
from adducir.models.loading import load_model
from adducir.models.sources import model_source
from adducir.studies.complementary_evidence.model import ComplementaryModel, DRNModel
from adducir.studies.complementary_evidence.model import Settings as EvidenceSettings
from adducir.studies.complementary_evidence.selection import DRNSelection

DRN = EvidenceSettings(kind="drn", selection=DRNSelection())
TRAINERS = {
    "encoder, shared": lambda name: DualEncoder.load(encoder_source(name)),
    "encoder, separate": lambda name: DualEncoder.load(encoder_source(name), towers="separate"),
    "complementary": lambda name: ComplementaryModel.untrained(
        model_source(name), EvidenceSettings(), 7
    ),
    "drn": lambda name: DRNModel.untrained(model_source(name), DRN, 7),
}


def digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("base", ["roberta", "tiny"])
def test_the_same_model_has_the_same_bytes(trainer, base, request, tmp_path):
    name = str(request.getfixturevalue(base))
    for number in (1, 2):
        torch.manual_seed(number)
        (tmp_path / f"{number}").mkdir()
        for part in ("relevance", "novelty"):
            (tmp_path / f"{number}" / part).mkdir()
        TRAINERS[trainer](name).save(tmp_path / f"{number}")
    assert digests(tmp_path / "1") == digests(tmp_path / "2")


SMALL = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
ARCHITECTURES = {
    "Bert": {},
    "Roberta": {},
    "XLMRoberta": {},
    "Camembert": {},
    "MPNet": {},
    "Albert": {"embedding_size": 16},
    "Ernie": {},
    "Electra": {"embedding_size": 16},
    "DebertaV2": {},
    "Longformer": {"attention_window": 4},
    "MobileBert": {"embedding_size": 16, "intra_bottleneck_size": 32, "true_hidden_size": 32},
    "DistilBert": {"dim": 32, "hidden_dim": 32, "n_layers": 1, "n_heads": 2},
    "ModernBert": dict.fromkeys(
        ("pad_token_id", "eos_token_id", "bos_token_id", "cls_token_id", "sep_token_id"), 0
    ),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_architecture_keeps_random_numbers(name, tmp_path):
    config = getattr(transformers, f"{name}Config")(**{**SMALL, **ARCHITECTURES[name]})
    getattr(transformers, f"{name}ForMaskedLM")(config).save_pretrained(tmp_path / "base")
    found = set()
    for number in (1, 2):
        torch.manual_seed(number)
        model = load_model(model_source(str(tmp_path / "base")))
        model.save_pretrained(tmp_path / f"{number}")
        found.add((tmp_path / f"{number}" / "model.safetensors").read_bytes())
    assert len(found) == 1


def test_a_shard_of_vectors_has_one_form(tmp_path):
    # safetensors writes several keys of metadata in an order that changes from call to call.
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    forms = set()
    for _ in range(12):
        write_shard(tmp_path / "one.safetensors", {"a": values, "b": values})
        forms.add((tmp_path / "one.safetensors").read_bytes())
    assert len(forms) == 1
    assert (read_shard(tmp_path / "one.safetensors")["b"] == values).all()
