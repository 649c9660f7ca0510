"""Each kind of artifact: its writer is killed, its files are damaged.

A killed command is finished by the next call: the same figures, and nothing hidden is left but
locks. Of a damaged file comes a clear error or the same figures, never other figures.
"""

import contextlib
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from file_damage import damage, damaged_files
from journey_materials import models

pytestmark = pytest.mark.slow
DATA = Path(__file__).parents[1] / "journeys" / "data"
DAMAGES = 6
"""Of each artifact."""


@dataclass(frozen=True)
class Artifact:
    """An artifact of a study: where it lies, the commands that make it, and get figures from it."""

    folder: str
    make: str
    use: tuple[str, ...]
    figures: tuple[str, ...] = ()  # the files that these write; of none, what they print
    before: tuple[str, ...] = field(default=())


_T1 = "--threads 1"
_RERANK = f"rerank --run a.trec -t topics.tsv --depth 5 {_T1} -o out/r.trec"
_BY_TEXT = f"{_RERANK} --reranker models/classifier --index out/i"
_SEARCH = f"search -i out/i -t topics.tsv -o out/s.trec {_T1}"
_ASK = "literary-evidence ask books/book0.txt basket -m models/encoder --keep out/kept"
_EXPAND = f"deepct expand --model deepct/weights --corpus corpus.jsonl -o out/e.jsonl {_T1}"
_SELECT = f"complementary-evidence select --questions test.jsonl -o out/c.jsonl {_T1} --model"
_RUNS = ("out/s.trec", "out/m.trec", "out/r.trec")
_TRAIN = f"train deepct/weights.yaml {_T1}"
ARTIFACTS = {
    "memory index": Artifact(
        "out/i",
        "index corpus.jsonl -o out/i --engine memory",
        (_SEARCH, f"search -i out/i -t topics.tsv -o out/m.trec {_T1} --feedback rm3", _BY_TEXT),
        _RUNS,
    ),
    "Lucene index": Artifact(
        "out/i",
        "index corpus.jsonl -o out/i",
        (_SEARCH, f"search -i out/i -t topics.tsv -o out/m.trec {_T1} --feedback rm3", _BY_TEXT),
        _RUNS,
    ),
    "dense index": Artifact(
        "out/i",
        f"index corpus.jsonl -o out/i --engine dense --encoder models/encoder {_T1}",
        (_SEARCH, _BY_TEXT),
        ("out/s.trec", "out/r.trec"),
    ),
    "vectors": Artifact("out/kept", _ASK, (_ASK,)),
    "dual encoder": Artifact(
        "encoders/dual",
        f"train encoders/dual.yaml {_T1}",
        (f"encode --model encoders/dual --spans spans.jsonl -o out/v {_T1} --rebuild",),
        ("out/v/vectors-000000.safetensors",),
    ),
    "reranker": Artifact(
        "rerankers/ce",
        f"train rerankers/ce.yaml {_T1}",
        (f"{_RERANK} --reranker rerankers/ce --corpus corpus.jsonl",),
        ("out/r.trec",),
    ),
    "complementary": Artifact(
        "rerankers/ours",
        f"train rerankers/ours.yaml {_T1}",
        (f"{_SELECT} rerankers/ours",),
        ("out/c.jsonl",),
    ),
    "term weighter": Artifact(
        "deepct/weights", _TRAIN, (f"{_EXPAND} --rebuild",), ("out/e.jsonl",)
    ),
    "term weights": Artifact("out/e.weights", _EXPAND, (_EXPAND,), ("out/e.jsonl",), (_TRAIN,)),
    "results": Artifact(
        "experiments/table",
        "experiment experiments/table.yaml",
        ("experiment experiments/table.yaml --format csv",),
    ),
    "tuning": Artifact(
        "out/tuned",
        "tune -i out/i -t topics.tsv -q qrels.txt --grid k1=0.5,0.9 --folds 3 -o out/tuned",
        ("evaluate out/tuned/held-out.trec.gz -q qrels.txt --format csv",),
        before=("index corpus.jsonl -o out/i --engine memory",),
    ),
}


def _child(line: str, folder: Path, stop: int) -> None:
    """Run a command in a process that kills itself at its rename of this number."""
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder.parent / "cache")
    for name, number in (("said", 1), ("told", 2)):
        os.dup2(os.open(folder.parent / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    count = 0

    def watched(real: Any) -> Any:
        def call(source: Any, target: Any, *rest: Any, **options: Any) -> None:
            nonlocal count
            count += Path(target).absolute().is_relative_to(folder)
            if count == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            real(source, target, *rest, **options)

        return call

    os.rename, os.replace = watched(os.rename), watched(os.replace)
    from adducir.cli.app import main

    code = main(line.split())
    sys.stdout.flush()
    sys.stderr.flush()
    (folder.parent / "renames").write_text(str(count))
    os._exit(code)


_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["sentence_transformers", "transformers.models.bert.modeling_bert"])


def run(line: str, folder: Path, stop: int = -1) -> int:
    process = _CONTEXT.Process(target=_child, args=(line, folder, stop))
    process.start()
    process.join(180)
    assert process.exitcode is not None, f"{line} does not end"
    return process.exitcode


def unmake(artifact: Artifact, folder: Path) -> None:
    shutil.rmtree(folder / artifact.folder)
    for name in artifact.figures:
        (folder / name).unlink(missing_ok=True)


def used(artifact: Artifact, folder: Path) -> tuple[int, str]:
    """The exit code of the first use that fails, or else the digest of all figures."""
    for name in artifact.figures:
        (folder / name).unlink(missing_ok=True)
    printed = b""
    for line in artifact.use:
        if code := run(line, folder):
            return code, (folder.parent / "told").read_text()[-300:]
        printed += (folder.parent / "said").read_bytes()
    figures = [(folder / name).read_bytes() for name in artifact.figures] or [printed]
    return 0, hashlib.sha256(b"".join(figures)).hexdigest()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journeys' files with tiny models."""
    folder = tmp_path_factory.mktemp("attack") / "study"
    shutil.copytree(DATA, folder)
    models(folder)
    return folder


@pytest.fixture(scope="module", params=ARTIFACTS)
def made(request, study: Path, tmp_path_factory) -> tuple[Artifact, Path, int, str]:
    """An artifact, the study that it is in, the renames that it took, and its figures."""
    artifact = ARTIFACTS[request.param]
    folder = tmp_path_factory.mktemp("made") / "study"
    shutil.copytree(study, folder)
    for line in (*artifact.before, artifact.make):
        assert run(line, folder) == 0, (folder.parent / "told").read_text()
    code, figures = used(artifact, folder)
    assert code == 0, figures
    unmake(artifact, folder)
    assert run(artifact.make, folder) == 0
    return artifact, folder, int((folder.parent / "renames").read_text()), figures


def hidden(folder: Path) -> list[str]:
    names = (path.name for path in folder.rglob(".*"))
    return sorted(name for name in names if not name.endswith(".lock"))


def test_a_killed_writer_is_finished_by_the_next_call(made, tmp_path: Path) -> None:
    artifact, whole, renames, figures = made
    assert renames
    for stop in {(renames + 1) // 2, renames}:
        folder = tmp_path / str(stop) / "study"
        shutil.copytree(whole, folder)
        before = hidden(folder)
        unmake(artifact, folder)
        assert run(artifact.make, folder, stop) == -signal.SIGKILL
        assert run(artifact.make, folder) == 0, (folder.parent / "told").read_text()
        assert hidden(folder) == before
        assert used(artifact, folder) == (0, figures)


def test_a_damaged_artifact_gives_an_error_or_the_same_figures(made, tmp_path: Path) -> None:
    artifact, whole, _, figures = made
    errors = []
    for number in range(DAMAGES):
        folder = tmp_path / "study"
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
        shutil.copytree(whole, folder)
        draw = random.Random(f"{artifact.folder} {number}")
        (file,) = damaged_files(folder / artifact.folder, draw, 1)
        damage(file, draw)
        code, found = used(artifact, folder)
        if (code == 0 and found != figures) or code not in (0, 2, 3, 4, 5):
            errors.append(f"{file.name}: {code} {found}")
    assert not errors, "\n".join(errors)
