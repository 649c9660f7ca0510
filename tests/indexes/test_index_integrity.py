"""Damaged indexes: an error that names the file, or the same figures; never a crash."""

import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from file_damage import damage, damaged_files
from memory_corpus import ListCorpus, build_index, weighted_index

from adducir.core.errors import ArtifactError
from adducir.indexes.engines import open_index
from adducir.indexes.feedback import RM3
from adducir.indexes.memory.impacts import SavedImpacts
from adducir.indexes.memory.segment import SavedSegment
from adducir.indexes.models import BM25, QLD

QUERIES = ["word3 word7 word11", "word1", "word20 word21 word22 word23", "word5 word5 word40"]


def texts(count: int = 300) -> dict[str, str]:
    rng = np.random.default_rng(5)
    drawn = rng.zipf(1.4, (count, 30)) % 60
    return {f"D{n:04d}": " ".join(f"word{word}" for word in row) for n, row in enumerate(drawn)}


def figures(path: Path) -> list[object]:
    """All that a user gets of an index: rankings, scores, expansions, texts."""
    index = open_index(path)
    try:
        found: list[object] = []
        for model, rm3 in ((None, None), (BM25(), None), (QLD(), None), (BM25(), RM3())):
            hits = index.search(QUERIES, model, feedback=rm3, depth=20, threads=1)
            found += [hits.counts.tolist(), hits.docnos.to_list(), hits.scores.tolist()]
        found.append([(docno, fields) for docno, fields in index.documents])
        return found
    finally:
        index.close()


def outcomes(whole: Path, tmp_path: Path, seed: int, count: int) -> dict[str, int]:
    """Damage copies of an index, one after another, and compare what a user gets."""
    draw = random.Random(seed)
    wanted = figures(whole)
    seen = {"refused": 0, "same": 0}
    for file in damaged_files(whole, draw, count):
        name = file.relative_to(whole)
        copy = tmp_path / "copy"
        shutil.copytree(whole, copy)
        damage(copy / name, draw)
        try:
            assert figures(copy) == wanted, f"other figures: {name}"
            seen["same"] += 1
        except ArtifactError as error:
            assert "copy" in str(error.path), error
            assert "again" in str(error) or "not written by Adducir" in str(error), error
            seen["refused"] += 1
        shutil.rmtree(copy)
    return seen


def built(kind: str, folder: Path) -> Path:
    if kind in ("weights", "reals"):
        step = 1 if kind == "weights" else 0.3
        counts = ((docno, Counter(text.split())) for docno, text in texts().items())
        vectors = ((docno, {term: step * n for term, n in c.items()}) for docno, c in counts)
        return weighted_index(vectors, folder).path
    build_index(ListCorpus(texts()), folder / "index", kind, threads=1)
    return folder / "index"


@pytest.fixture(scope="module", params=["memory", "weights", "lucene"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(request.param, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("kind", ["memory", "weights"])
def test_a_flipped_bit_is_found_in_the_file_that_has_it(kind: str, tmp_path: Path) -> None:
    whole, copy = built(kind, tmp_path), tmp_path / "copy"
    files = [file.name for file in whole.iterdir() if file.stat().st_size > 128]
    assert ("impacts.columns.npy" in files) == (kind == "weights")
    for name in files:
        shutil.copytree(whole, copy)
        content = bytearray((copy / name).read_bytes())
        content[-2] ^= 4
        (copy / name).write_bytes(content)
        with pytest.raises(ArtifactError, match=re.escape(name)):
            figures(copy)
        shutil.rmtree(copy)


def test_damages_are_refused_or_harmless(whole: Path, tmp_path: Path) -> None:
    assert outcomes(whole, tmp_path, 1, 25)["refused"] >= 20


KERNELS = """
import random, shutil, sys
from pathlib import Path
sys.path[:0] = sys.argv[3].split(":")
from file_damage import damage
import test_index_integrity as tests
from adducir.core import artifacts
from adducir.core.errors import AdducirError
import adducir.indexes.memory.index as index
# As if a disk had changed what was verified before: nothing but the checks of shapes is left.
index.open_artifact = lambda path, *kinds: artifacts.read_manifest(path)
index._FEW = int(sys.argv[4])
whole, (seed, count) = Path(sys.argv[1]), map(int, sys.argv[2].split(","))
draw = random.Random(seed)
files = sorted(p for p in whole.iterdir() if p.name != "manifest.json" and p.stat().st_size)
for number in range(count):
    file = draw.choice(files)
    copy = whole.with_name("copy")
    shutil.copytree(whole, copy)
    for _ in range(draw.randrange(1, 20)):
        if (copy / file.name).stat().st_size:
            damage(copy / file.name, draw)
    try:
        tests.figures(copy)
    except AdducirError:
        pass
    shutil.rmtree(copy)
print("done")
"""


@pytest.mark.parametrize("kind", ["memory", "weights"])
@pytest.mark.parametrize("numpys", [1 << 25, pytest.param(-1, marks=pytest.mark.slow)])
def test_kernels_survive_what_no_digest_has_seen(tmp_path: Path, numpys: int, kind: str) -> None:
    """NumPy answers the queries that read so many postings, compiled code all others."""
    path = built(kind, tmp_path)
    folders = f"{Path(__file__).parent}:{Path(__file__).parents[1]}"
    arguments = [str(path), "11,40", folders, str(numpys)]
    done = subprocess.run(
        [sys.executable, "-c", KERNELS, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "done\n"


@pytest.mark.parametrize("kind", ["memory", "weights", "reals"])
def test_arrays_that_do_not_fit_are_refused(kind: str, tmp_path: Path) -> None:
    path, saved = built(kind, tmp_path), SavedSegment if kind == "memory" else SavedImpacts
    saved.open(path)
    for file in sorted(set(path.glob("*.npy")) - set(path.glob("documents.*"))):
        whole = np.load(file)
        changed = [whole.astype(np.complex64), np.zeros((), whole.dtype)]
        if file.name != "pairs.npy":
            changed += [whole[:-1], np.append(whole, whole[-1:])]
        if "offsets" in file.name or "edges" in file.name:
            for place, value in ((0, 1), (1, 1 << 30), (2, 1 << 31), (-1, 7)):
                changed.append(whole.copy())
                changed[-1][place] = value
        for array in changed:
            if not np.array_equal(array, whole) or array.dtype != whole.dtype:
                np.save(file, array)
                with pytest.raises(ArtifactError, match="damaged"):
                    saved.open(path)
        np.save(file, whole)
    (path / "terms.arrow").write_text("one\n")
    with pytest.raises(ArtifactError, match=r"terms\.arrow"):
        _ = saved.open(path).terms


def test_a_damaged_setting_of_the_manifest_is_no_other_figure(tmp_path: Path) -> None:
    path = tmp_path / "index"
    build_index(ListCorpus(texts()), path, threads=1)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["counts"]["documents"] += 1000  # N of the variants of BM25
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError, match=r"manifest\.json is damaged"):
        open_index(path)
