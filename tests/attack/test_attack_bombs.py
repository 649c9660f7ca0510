"""Files that are small and ask for much: compressed, nested, long.

Each is given to the commands that read such a file, in a process that may take 2 GiB beyond what it
begins with; an end by a signal, exit code 70 or a hang fails the test.
"""

import gzip
import json
import os
from pathlib import Path

import pytest
from attack_counts import count
from attack_fuzzing import bounded
from attack_process import call

DEPTH = 100_000
LONG = 2_000_000


def gzip_of(piece: bytes, megabytes: int) -> bytes:
    """A gzip file of as many megabytes of one byte, a thousandth of that in size."""
    packed = gzip.compress(piece * (1 << 20), 9)
    return packed * megabytes


NESTED = {
    "array": ("[" * DEPTH + "]" * DEPTH).encode(),
    "object": ('{"a":' * DEPTH + "1" + "}" * DEPTH).encode(),
    "open": b"[" * DEPTH,
    "yaml": (b"a: " + b"[" * 20_000 + b"]" * 20_000),
    "yaml-lines": "".join(" " * n + f"k{n}:\n" for n in range(2000)).encode(),
    "aliases": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n".encode()
        for n in range(9)
    ),
    "number": b'{"docno": ' + b"9" * 100_000 + b', "text": "x"}\n',
    "line": json.dumps({"docno": "d", "text": "x" * LONG}).encode(),
    "name": json.dumps({"docno": "d" * LONG, "text": "x"}).encode(),
    "words": json.dumps({"docno": "d", "text": "word " * 400_000}).encode(),
    "blanks": b" " * LONG,
    "breaks": b"\n" * LONG,
    "returns": b"\r" * LONG,
    "comments": b"<!--" * 100_000,
    "docnos": b"<DOC>" + b"<DOCNO>" * 100_000,
    "docs": b"<DOC>\n" * 100_000,
    "declarations": b"<?xml" * 100_000,
    "tops": b"<top>\n<num>" * 50_000,
    "elements": b"<topic>" * 100_000,
    "entities": b"<topics>" + b"&amp" * 100_000,
    "quotes": b'"' * LONG,
    "commas": b"item,rater,system,rating\n" + b"," * LONG,
    "tabs": b"qid\trank\tcandidates\n" + b"\t" * LONG,
    "zeros": bytes(LONG),
    "parentheses": b"A (e.g. " * 60_000,  # takes half of the limit on a slow machine
    "quotations": "“".encode() * 100_000,
    "stops": b". " * 500_000,
    "gzip-of-gzip": gzip.compress(gzip_of(b"x", 20)),
    "cut-gzip": gzip_of(b"1 0 d 1\n", 10)[:-100],
}
READING = {
    ".jsonl": ["corpus.jsonl", "topics.jsonl", "spans.jsonl", "questions.jsonl", "mnli.jsonl",
               "weights.jsonl", "kilt.jsonl", "chosen.jsonl"],
    ".json": ["relic.json", "hotpot.json", "folds.json", "manifest.json", "settings.json"],
    ".yaml": ["table.yaml", "weights.yaml", "run.trec.ir-metadata.yml"],
    ".trec": ["corpus.trec", "topics.trec", "topics.xml", "run.trec", "qrels.txt"],
    ".csv": ["ratings.csv", "ranks.tsv", "key.csv", "corpus.tsv", "topics.tsv", "mnli.tsv"],
    ".txt": ["book.txt", "work.txt", "stopwords.txt"],
}  # fmt: skip


def read_bombs(folder: Path, name: str) -> None:
    """Read every bomb as one kind of file; errors go to ``errors``."""
    from attack_fuzzing import error_of
    from attack_readers import READERS

    for bomb, data in NESTED.items():
        path = folder / name
        path.write_bytes(data)
        for reader in READERS[name]:
            error = error_of(reader, path)
            with (folder / "errors").open("a") as notes:
                notes.write(f"{bomb}: {error}\n" if error else "")
            with (folder / "done").open("a") as notes:
                notes.write(f"{bomb}\n")


@pytest.mark.parametrize("name", [name for names in READING.values() for name in names])
def test_a_bomb_is_read_or_refused(tmp_path: Path, name: str) -> None:
    ended = call(read_bombs, tmp_path, tmp_path, name)
    done = (tmp_path / "done").read_text().splitlines()
    count("bombs read", len(done))
    errors = (tmp_path / "errors").read_text().splitlines()
    if ended.code != 0:
        errors.append(f"the process ended with {ended.code} after {done[-1]}: {ended.last}")
    assert not errors, "\n".join(errors)


def command_on_bomb(line: str) -> None:
    """Run a command within 2 GiB; its exit code is the process's."""
    from adducir.cli.app import main

    with bounded(60):
        os._exit(main(line.split()))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("table.yaml", "experiment bomb --dry-run"),
        ("dual.yaml", "train bomb"),
        ("weights.yaml", "train bomb"),
        ("folds.json", "tune --fuse a.trec --fuse b.trec -t topics.tsv -q qrels.txt --grid k=1,2 "
         "--folds bomb -o out/t"),
    ],
)  # fmt: skip
def test_a_recipe_that_unpacks_to_half_a_gigabyte(
    study: Path, tmp_path: Path, name: str, line: str
) -> None:
    import shutil

    folder = shutil.copytree(study, tmp_path / "study")
    (folder / name).write_bytes(gzip_of(b"a: 1\n", 120))
    ended = call(command_on_bomb, folder, line.replace("bomb", name))
    count("bombs read")
    assert ended.code in (2, 3, 4), ended.last
