"""No file ends a reader in anything but an error of Adducir's own, or keeps it busy for long."""

import random
import re
from pathlib import Path

import pytest
from hostile_readers import READERS, Reader

from adducir.core.errors import AdducirError, InputError

DEEP = "[" * 3000 + "]" * 3000
TOKENS = (
    *("9" * 5000, "-" + "9" * 400, "1" * 25, "1e400", "NaN", "-Infinity", "²", "٣", "1_000", "-0"),
    *(DEEP, '{"a":' * 2000 + "1" + "}" * 2000, "[" * 150 + "]" * 150, "(" * 300, "- " * 300),
    *("\r", "\0", "\t", "\t" * 200, "\n", "\x0c", "\x1b[2J", "\u2028", "\x85", "\u202e", "\ufeff"),
    *("\\ud800", '"\\ud800"', "x" * 140_000, '"', "'", "null", "true", "[]", "{}", "=", "-"),
    *("&#xD800;", "&#99999999999;", "<!DOCTYPE a>", "]]>", "<topic>", "</top>", "<DOC>", "<num>"),
    *("!!python/object:os.system x", "&a [*a]", "<<: *a", "? [a]: b", "--- a\n--- b\n", "0x", "~"),
)

readers = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


def attempt(reader: Reader, folder: Path, text: str) -> None:
    path = folder / reader.file
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        reader.read(path)
    except AdducirError as error:
        assert error.exit_code in (2, 3)


def mutated(text: str, draw: random.Random) -> str:
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(len(text) + 1)
        end = min(len(text), place + draw.choice((0, 1, 5, 20)))
        words = [found.span() for found in re.finditer(r'"[^"]*"|[\w.]+', text)]
        kind = draw.randrange(6)
        if kind == 0:
            text = text[:place] + text[end:]
        elif kind == 1:
            text = text[:place] + text[place:end] * draw.choice((2, 50)) + text[end:]
        elif kind == 2:
            text = text[:place] + chr(draw.randrange(0x250)) + text[end:]
        elif kind == 3 or not words:
            text = text[:place] + draw.choice(TOKENS) + text[end:]
        else:
            first, past = draw.choice(words)
            text = text[:first] + draw.choice(TOKENS) + text[past:]
    return text


@readers
def test_the_samples_are_read(reader, tmp_path):
    path = tmp_path / reader.file
    path.write_text(reader.sample, encoding="utf-8")
    reader.read(path)


@readers
def test_every_token_at_every_place_is_read_or_refused(reader, tmp_path):
    words = [found.span() for found in re.finditer(r'"[^"]*"|[\w.]+', reader.sample)]
    draw = random.Random(reader.name)
    for token in TOKENS:
        first, past = draw.choice(words)
        attempt(reader, tmp_path, reader.sample[:first] + token + reader.sample[past:])


@readers
def test_random_changes_are_read_or_refused(reader, tmp_path):
    draw = random.Random(f"changes of {reader.name}")
    for _ in range(12):
        attempt(reader, tmp_path, mutated(reader.sample, draw))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("folds", f"[\n{DEEP}]", 2),
        ("HotpotQA", f'[\n{{"_id": {DEEP}}}]', 2),
        ("metadata", f"tag: a\nb: {DEEP}", 2),
        ("recipe", "a: 1\nb: " + "9" * 5000, 2),
        ("recipe", "a: 1\nb: " + "9" * 400, 2),
        ("ranks", "qid\trank\tcandidates\nq\t" + "9" * 30 + "\t2\n", 2),
        ("documents as JSON lines", f'{{"id": "d", "x": {DEEP}}}', 1),
        ("key", "item,gold,docno_1,docno_2,task\nq,²,a,b,m\n", 2),
    ],
)
def test_what_cannot_be_used_is_named(name, text, line, tmp_path):
    (reader,) = (one for one in READERS if one.name == name)
    path = tmp_path / reader.file
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        reader.read(path)
    assert caught.value.path == path
    assert caught.value.line == line
