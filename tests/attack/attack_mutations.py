"""Changes to a file's bytes: what disks, editors, other programs and hostile people do to it."""

# ruff: noqa: E501

import gzip
import random
import re

PIECES = [
    b"\0", b"\r", b"\r\n", b"\n", b"\t", b" ", b'"', b"'", b"<", b">", b"&", b"&amp;", b"{", b"}",
    b"[", b"]", b":", b",", b"-", b"#", b"\\", b"\\u0000", b"\\ud800", b"\xff", b"\xfe\xff",
    b"\xef\xbb\xbf", b"\xc3", "\u2028".encode(), "\u0130".encode(), "\U0001f600".encode(), b"\x1b[2J",
    b"\x85", b"=1+1", b"<!--", b"-->", b"<DOC>", b"</DOC>", b"<DOCNO>", b"<top>", b"<num>", b"<?xml",
    b"<![CDATA[", b"null", b"true", b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"1e-999", b"9" * 25,
    b"9" * 5000, b"-" + b"9" * 20, b"0x10", b"1_000", b"[]", b"{}", b'""', b"[[]]", b"*a", b"&a [*a]",
    b"!!python/object:os.system", b"? :", b"- - -", b"%YAML 9", b"---\n", b"...\n", b"Q0", b".I 1\n",
    b"(e.g. ", b"example", "\u201c".encode(), b"a" * 140_000,
]  # fmt: skip
"""What is put in somewhere."""

_MANY = 3000
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_NUMBERS = [
    b"0",
    b"-1",
    b"1.5",
    b"1e308",
    b"nan",
    b"inf",
    b"2147483648",
    b"9223372036854775808",
    b"",
]
_JSON_VALUE = re.compile(rb'"[^"\\]*"(?=\s*[,}\]])|-?\d+(?=\s*[,}\]])|\[\]|\{\}|null|true|false')
_VALUES = [
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"0",
    b"-1",
    b"1.5",
    b"true",
    b'"x"',
    b"[[]]",
    b'{"a":[1]}',
]


def mutated(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """``data`` with one to four changes; half of the time another sample lends parts."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        data = draw.choice(CHANGES)(data, others, draw)
    if draw.random() < 0.03:
        data = gzip.compress(data, 1)
        if draw.random() < 0.5:
            data = _flip(data, others, draw)
    return data[:400_000]


def _place(data: bytes, draw: random.Random) -> int:
    return draw.randrange(len(data) + 1)


def _piece(data: bytes, draw: random.Random) -> bytes:
    start = _place(data, draw)
    return data[start : start + draw.choice((1, 3, 10, 40, 300))]


def _flip(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    if not data:
        return data
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]


def _insert(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + draw.choice(PIECES) + data[place:]


def _insert_many(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    place, piece = _place(data, draw), draw.choice(PIECES)
    piece = piece if draw.random() < 0.7 else _piece(data, draw)
    return data[:place] + piece[:40] * _MANY + data[place:]


def _delete(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + data[place + draw.choice((1, 1, 5, 50, 500)) :]


def _truncate(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    return data[: _place(data, draw)]


def _move(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + _piece(data, draw) + data[place:]


def _lend(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + _piece(draw.choice(others), draw) + data[place:]


def _lines(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data + data
    one, two = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(3)
    if kind == 0:
        lines[one], lines[two] = lines[two], lines[one]
    elif kind == 1:
        lines.insert(one, lines[two])
    else:
        del lines[one]
    return b"".join(lines)


def _replace(
    pattern: re.Pattern[bytes], values: list[bytes], data: bytes, draw: random.Random
) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return data
    one = draw.choice(found)
    return data[: one.start()] + draw.choice(values) + data[one.end() :]


def _number(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    return _replace(_NUMBER, _NUMBERS, data, draw)


def _value(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    return _replace(_JSON_VALUE, _VALUES, data, draw)


def _zeros(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    place, length = _place(data, draw), draw.choice((1, 8, 512))
    return data[:place] + bytes(min(length, len(data) - place)) + data[place + length :]


CHANGES = [
    _flip, _insert, _insert, _insert_many, _delete, _truncate, _move, _lend, _lines, _number,
    _value, _value, _zeros,
]  # fmt: skip
"""All kinds of change."""
