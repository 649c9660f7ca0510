"""Damaged models and weights: an error that names the file, or the same figures, never others."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from file_damage import damage, damaged_files

from adducir.core.artifacts import build
from adducir.core.errors import ArtifactError
from adducir.core.progress import Progress
from adducir.corpora.sources import open_corpus
from adducir.deepct.model import TermWeighter
from adducir.deepct.settings import Settings
from adducir.deepct.weighting import TermWeights, predict_corpus_weights, predict_weights
from adducir.models.sources import ModelSource

READ = Settings(text=("premise",))


@pytest.fixture(scope="module")
def trained(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact with a term weighter."""
    path: Path = tmp_path_factory.mktemp("trained") / "model"

    def make(folder: Path) -> dict[str, int]:
        TermWeighter.untrained(ModelSource(str(tiny), tiny), READ, 1).save(folder)
        return {}

    build(path, kind="term-weighter", recipe={}, inputs={}, builder_version=1, make=make)
    return path


def model_figures(folder: Path) -> list[float]:
    (found,) = predict_weights(TermWeighter.load(folder), ["cats and dogs run in a school"])
    return found.weights.tolist()


def check(whole: Path, figures, tmp_path: Path, seed: int, count: int) -> int:
    draw, wanted, refused = random.Random(seed), figures(whole), 0
    for file in damaged_files(whole, draw, count):
        copy = tmp_path / "copy"
        shutil.copytree(whole, copy)
        damage(copy / file.relative_to(whole), draw)
        try:
            assert figures(copy) == wanted, f"other figures: {file.name}"
        except ArtifactError as error:
            assert "copy" in str(error.path)
            refused += 1
        shutil.rmtree(copy)
    return refused


def test_a_damaged_model_is_refused(trained: Path, tmp_path: Path) -> None:
    assert check(trained, model_figures, tmp_path, 1, 15) >= 12


@pytest.mark.slow
def test_many_damaged_models_are_refused(trained: Path, tmp_path: Path) -> None:
    assert check(trained, model_figures, tmp_path, 2, 200) >= 150


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_damaged_weights_are_refused(trained: Path, study: Path, tmp_path: Path, count) -> None:
    corpus = open_corpus(study / "corpus.jsonl")
    predict_corpus_weights(trained, corpus, study / "w", shard=5)

    def figures(folder: Path) -> list[float]:
        stored = TermWeights(folder, READ)
        return np.concatenate([t.weights for _, f in stored.of(corpus) for t in f]).tolist()

    assert check(study / "w", figures, tmp_path, 3, count) >= 0.8 * count


def test_a_damaged_part_of_killed_work_is_made_again(trained: Path, study: Path) -> None:
    corpus = open_corpus(study / "corpus.jsonl")
    predict_corpus_weights(trained, corpus, study / "whole", shard=5)
    wanted = (study / "whole" / "weights-000001.safetensors").read_bytes()

    class KilledError(Exception):
        pass

    class Watching(Progress):
        def advance(self, count: int) -> None:
            if (parts := list(study.glob(".w.parts-*/000001-*"))) and parts[0].stat():
                raise KilledError

    with pytest.raises(KilledError), Watching():
        predict_corpus_weights(trained, corpus, study / "w", shard=5)
    (part,) = study.glob(".w.parts-*/000001-*")
    content = bytearray(part.read_bytes())
    content[-2] ^= 4
    part.write_bytes(bytes(content))
    predict_corpus_weights(trained, corpus, study / "w", shard=5)
    assert (study / "w" / "weights-000001.safetensors").read_bytes() == wanted
