"""Damage to the files of saved artifacts, and what commands then do."""

import contextlib
import hashlib
import io
import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from attack_fuzzing import bounded

SECONDS = 60.0


@dataclass(frozen=True)
class Artifact:
    """A saved artifact, and the commands that get figures from it.

    Attributes:
        name: What a test calls it.
        folder: Where it lies in the study.
        make: The command lines that make it.
        use: The command lines that read it.
        figures: The files that these write; of none, what they print.
        files: A pattern of the files to damage.
    """

    name: str
    folder: str
    make: tuple[str, ...]
    use: tuple[str, ...]
    figures: tuple[str, ...] = ()
    files: str = "**/*"


_T1 = "--threads 1"
_RERANK = f"rerank --run a.trec -t topics.tsv --set no_cache=true --depth 5 {_T1} -o out/r.trec"
_BY_TEXT = f"{_RERANK} --model models/classifier --index out/i"
_SEARCH = f"search -i out/i -t topics.tsv -o out/s.trec {_T1}"
_DENSE = "index corpus.jsonl -o out/i --engine dense --encoder models/bert"
ARTIFACTS = [
    Artifact(
        "memory-index",
        "out/i",
        ("index corpus.jsonl -o out/i --engine memory",),
        (_SEARCH, f"search -i out/i -t topics.tsv -o out/m.trec {_T1} --feedback rm3", _BY_TEXT),
        ("out/s.trec", "out/m.trec", "out/r.trec"),
    ),
    Artifact(
        "lucene-index",
        "out/i",
        ("index corpus.jsonl -o out/i",),
        (_SEARCH, f"search -i out/i -t topics.tsv -o out/m.trec {_T1} --feedback rm3", _BY_TEXT),
        ("out/s.trec", "out/m.trec", "out/r.trec"),
    ),
    Artifact(
        "dense-index",
        "out/i",
        (f"{_DENSE} {_T1}",),
        (_SEARCH, _BY_TEXT),
        ("out/s.trec", "out/r.trec"),
    ),
    Artifact(
        "vectors",
        "out/kept",
        ("literary-evidence ask books/book0.txt basket -m models/bert --keep out/kept",),
        ("literary-evidence ask books/book0.txt basket -m models/bert --keep out/kept",),
    ),
    Artifact(
        "kept-scores",
        "rerankers/.scores",
        (f"rerank --run a.trec -t topics.tsv --corpus corpus.jsonl --model models/classifier {_T1} "
         "--set cache=rerankers/.scores -o out/r.trec",),
        (f"rerank --run a.trec -t topics.tsv --corpus corpus.jsonl --model models/classifier {_T1} "
         "--set cache=rerankers/.scores -o out/r.trec",),
        ("out/r.trec",),
    ),
    Artifact(
        "dual-encoder",
        "encoders/dual",
        (f"train encoders/dual.yaml {_T1}",),
        (f"encode --model encoders/dual --spans spans.jsonl -o out/v {_T1} --rebuild",),
        ("out/v/vectors-000000.safetensors",),
    ),
    Artifact(
        "reranker",
        "rerankers/ce",
        (f"train rerankers/ce.yaml {_T1}",),
        (f"{_RERANK} --model rerankers/ce --corpus corpus.jsonl",),
        ("out/r.trec",),
    ),
    Artifact(
        "complementary",
        "rerankers/ours",
        (f"train rerankers/ours.yaml {_T1}",),
        (f"complementary-evidence select --model rerankers/ours "
         f"--questions test.jsonl -o out/c.jsonl {_T1}",),
        ("out/c.jsonl",),
    ),
    Artifact(
        "drn",
        "rerankers/drn",
        (f"train rerankers/drn.yaml {_T1}",),
        (f"complementary-evidence select --model rerankers/drn "
         f"--questions test.jsonl -o out/c.jsonl {_T1}",),
        ("out/c.jsonl",),
    ),
    Artifact(
        "term-weighter",
        "deepct/weights",
        (f"train deepct/weights.yaml {_T1}",),
        (f"deepct expand --model deepct/weights --corpus corpus.jsonl -o out/e.jsonl {_T1} "
         "--rebuild",),
        ("out/e.jsonl",),
    ),
    Artifact(
        "term-weights",
        "out/e.weights",
        (f"train deepct/weights.yaml {_T1}",
         f"deepct expand --model deepct/weights --corpus corpus.jsonl -o out/e.jsonl {_T1}"),
        (f"deepct expand --model deepct/weights --corpus corpus.jsonl -o out/e.jsonl {_T1}",),
        ("out/e.jsonl",),
    ),
]  # fmt: skip

Damage = tuple[str, bytes | None]


def damaged(path: Path, others: list[Path], draw: random.Random) -> Damage:
    """What is done to a file, and its bytes after it; None where it is taken away."""
    data = path.read_bytes()
    place = draw.randrange(max(1, len(data)))
    kind = draw.choice(("flip",) * 5 + ("byte", "cut", "zeros", "swap", "more", "empty", "gone"))
    if kind == "gone":
        return "removed", None
    if kind == "empty" or not data:
        return ("emptied", b"") if data else ("filled", b"\0")
    if kind == "swap":
        other = draw.choice(others)
        return f"replaced by {other.name}", other.read_bytes()
    if kind == "more":
        return "lengthened", data + data[place : place + 40] + b"\n"
    if kind == "cut":
        return f"cut at {place}", data[:place]
    if kind == "zeros":
        length = draw.choice((8, 64, 512))
        return f"{length} zeros at {place}", data[:place] + bytes(length) + data[place + length :]
    new = draw.randrange(256) if kind == "byte" else data[place] ^ 1 << draw.randrange(8)
    return f"byte {place} is {new}", data[:place] + bytes([new]) + data[place + 1 :]


def attack(artifact: Artifact, folder: Path, seed: int, first: int, last: int) -> None:
    """Damage, use and mend an artifact again and again; a line of ``results`` each time.

    A damaged file is a new one, as after a copy that went wrong: what is remembered of the digest
    of the old one does not hold for it.
    """
    home = folder / artifact.folder
    kept = folder / "kept-artifact"
    if not kept.exists():
        shutil.copytree(home, kept, copy_function=shutil.copy2)
    files = sorted(path for path in kept.glob(artifact.files) if path.is_file())
    for number in range(first, last):
        draw = random.Random(f"{seed}:{artifact.name}:{number}")
        shutil.rmtree(home)
        shutil.copytree(kept, home, copy_function=shutil.copy2)
        what = "nothing"
        if number >= 0:
            chosen = draw.choice(files)
            what, data = damaged(chosen, files, draw)
            target = home / chosen.relative_to(kept)
            target.unlink()
            if data is not None:
                target.write_bytes(data)
            what = f"{chosen.relative_to(kept)}: {what}"
        with (folder / "begun").open("a") as notes:
            notes.write(f"{what}\n")
        outcome = used(artifact)
        with (folder / "results").open("a") as notes:
            notes.write(json.dumps([number, what, *outcome]) + "\n")


def used(artifact: Artifact) -> tuple[int, str, str]:
    """The exit code of the first use that fails, the digest of the figures, what was reported."""
    from adducir.cli.app import main

    for name in artifact.figures:
        Path(name).unlink(missing_ok=True)
    stdout, stderr = io.StringIO(), io.StringIO()
    code = 0
    for line in artifact.use:
        within = bounded(SECONDS, memory=None)  # Java reserves more than it takes
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), within:
            code = main(line.split())
        if code != 0:
            return code, "", stderr.getvalue()[-400:]
    figures = hashlib.sha256()
    for name in artifact.figures:
        figures.update(Path(name).read_bytes())
    if not artifact.figures:
        figures.update(stdout.getvalue().encode())
    return code, figures.hexdigest(), stderr.getvalue()[-400:]
