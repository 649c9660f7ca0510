"""What is saved depends on what determines it alone: no random number of the process, no order."""

import hashlib

import pytest
import torch

from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
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
