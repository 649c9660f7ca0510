"""Averaged vectors of words or word pieces: GloVe's and word2vec's, static embeddings, SIM.

A text's vector is the mean of its words' vectors, at length 1: inner products are cosines. Words
without a vector are left out; a text without any has a vector of zeros. ``average:PATH`` names

* a text file of vectors as word2vec, fastText and GloVe write it, plain or compressed: a word and
  its numbers per line, perhaps after a line with the numbers of words and dimensions. Texts are cut
  into words and punctuation marks; a word that the file lacks is sought in lower case.
* a folder that sentence-transformers saved from a ``StaticEmbedding``, with its tokenizer.
* a folder with such a file ``vectors.txt`` (or ``.gz``) and SentencePiece's ``NAME.model``. Texts
  are lower-cased and cut by the Penn Treebank's rules first, as for SIM (Wieting et al., 2019).
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.fingerprint import source_digest
from adducir.core.packages import required
from adducir.encoders.kinds import Floats, TextEncoder
from adducir.models.folders import Side, modules_of

_WORD = re.compile(r"\w+|[^\w\s]")


class Average(TextEncoder):
    """Averaged vectors of words, from a file or folder."""

    @classmethod
    def located(cls, base: str, folder: Path | None) -> str:
        return str((folder or Path()) / Path(base).expanduser())

    def identity(self) -> Any:
        """The files' digests, wherever they are."""
        return [source_digest(path) for path in _files(Path(self.base))]

    def encode(self, texts: Sequence[str], side: Side) -> Floats:
        table = _opened(self.base, tuple(self.identity()))
        vectors = np.zeros((len(texts), table.values.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            if numbers := table.numbers(text):
                mean = table.values[numbers].mean(axis=0, dtype=np.float64)
                length = np.linalg.norm(mean)
                vectors[row] = mean / length if length else 0
        return vectors


class _Table(NamedTuple):
    values: Floats  # (V, D)
    numbers: Callable[[str], list[int]]  # the rows of a text's words


def _files(path: Path) -> list[Path]:
    """A source's files: the vectors and, in a folder, the tokenizer."""
    if not path.is_dir():
        return [path]
    if (path / "modules.json").is_file():
        ((kind, place), *others) = modules_of(path) or [("", path)]
        if kind.rpartition(".")[2] != "StaticEmbedding":
            hint = "Name it without `average:`."
            raise InputError("its first module is not a StaticEmbedding.", path=path, hint=hint)
        if odd := [name for name, _ in others if name.rpartition(".")[2] != "Normalize"]:
            raise InputError(f"its module {odd[0]} is not supported.", path=path)
        return [place / "model.safetensors", place / "tokenizer.json"]
    vectors = [path / name for name in ("vectors.txt", "vectors.txt.gz")]
    vectors = [file for file in vectors if file.is_file()]
    pieces = sorted(path.glob("*.model"))
    if len(vectors) != 1 or len(pieces) != 1:
        hint = "It needs modules.json, or vectors.txt and one NAME.model of SentencePiece."
        raise InputError("this folder does not hold word vectors.", path=path, hint=hint)
    return [*vectors, *pieces]


@lru_cache(maxsize=2)
def _opened(name: str, digests: tuple[str, ...]) -> _Table:
    del digests  # another file at the same place is another table
    vectors, *others = _files(Path(name))
    if vectors.suffix == ".safetensors":
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(others[0]))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        weights = load_file(vectors)
        if [*weights] != ["embedding.weight"]:
            raise InputError("it should hold `embedding.weight` alone.", path=vectors)
        return _Table(
            weights["embedding.weight"],
            lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        )
    numbers, values = _read(vectors)
    cut: Callable[[str], list[str]] = _WORD.findall
    if others:
        from nltk.tokenize import TreebankWordTokenizer

        pieces = required("sentencepiece").SentencePieceProcessor(model_file=str(others[0]))
        treebank = TreebankWordTokenizer()

        def cut(text: str) -> list[str]:
            split = " ".join(treebank.tokenize(text.lower()))
            return list(pieces.encode(split, out_type=str))

    def of(text: str) -> list[int]:
        words = (numbers.get(word, numbers.get(word.lower())) for word in cut(text))
        return [number for number in words if number is not None]

    return _Table(values, of)


def _read(path: Path) -> tuple[dict[str, int], Floats]:
    """Words with their rows, and the vectors; the first of a repeated word counts."""
    numbers, rows, width = dict[str, int](), list[Floats](), 0
    for line, text in read_lines(path):
        cells = text.rstrip().split(" ")
        if line == 1 and len(cells) == 2 and all(cell.isdecimal() for cell in cells):
            width = int(cells[1])
            continue
        if cells == [""]:
            continue
        width = width or len(cells) - 1
        word, figures = " ".join(cells[:-width]), cells[-width:]
        try:
            row = np.array(figures, dtype=np.float32)
        except ValueError:
            row = np.array([np.nan], dtype=np.float32)
        if not word or len(row) != width or not np.isfinite(row).all():
            message = f"this line is not a word and {width:,} numbers."
            raise InputError(message, path=path, line=line)
        if word not in numbers:
            numbers[word] = len(rows)
            rows.append(row)
    if not rows:
        raise InputError("the file has no vectors.", path=path)
    return numbers, np.stack(rows)
