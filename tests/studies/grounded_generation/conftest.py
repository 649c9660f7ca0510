"""Tiny generators of the real architectures."""

from pathlib import Path

import pytest
from tiny import tiny_bart, tiny_t5

from adducir.studies.grounded_generation.generators.generator import Generator
from adducir.studies.grounded_generation.generators.kinds import GENERATORS


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generators")
    tiny_bart(folder / "bart")
    tiny_t5(folder / "t5")
    return folder


@pytest.fixture(params=["bart", "t5"])
def sequences(request: pytest.FixtureRequest, checkpoints: Path) -> Generator:
    """A BART and a T5 that read 6 tokens of the input, 8 of the passage, 7 of the target."""
    kind = str(request.param)
    lengths = {"input_length": 6, "passage_length": 8, "output_length": 7}
    return GENERATORS.make(kind, {kind: kind, **lengths}).load(checkpoints)
