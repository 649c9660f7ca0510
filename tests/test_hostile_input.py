"""No file ends a reader in anything but an error of Adducir's own, or keeps it busy for long."""

import gc
import random
import re
import time
from pathlib import Path

import pytest
from hostile_readers import READERS, Reader

from adducir.core.config import load, validate
from adducir.core.errors import AdducirError, InputError
from adducir.training.recipe import TrainingRecipe

DEEP = "[" * 3000 + "]" * 3000
TOKENS = (
    *("9" * 5000, "-" + "9" * 400, "1" * 25, "1e400", "NaN", "-Infinity", "²", "٣", "1_000", "-0"),
    *(DEEP, '{"a":' * 2000 + "1" + "}" * 2000, "[" * 150 + "]" * 150, "(" * 300, "- " * 300),
    *("\r", "\0", "\t", "\t" * 200, "\n", "\x0c", "\x1b[2J", "\u2028", "\x85", "\u202e", "\ufeff"),
    *("\\ud800", '"\\ud800"', "x" * 140_000, '"', "'", "null", "true", "[]", "{}", "=", "-"),
    *("&#xD800;", "&#99999999999;", "<!DOCTYPE a>", "]]>", "<topic>", "</top>", "<DOC>", "<num>"),
    *("!!python/object:os.system x", "&a [*a]", "<<: *a", "? [a]: b", "--- a\n--- b\n", "0x", "~"),
)
# What a pattern with two adjoining repeats, or one that looks for an end that never comes, takes
# quadratic time for.
REPETITIONS = (
    *("<!--", "<!-- a", "<DOCNO>", "<DOC>", "</docno ", "<?xml", "<?xml a?", "<a", "<a ", "</"),
    *("<top><num>1", "<narr>a ", "<topic><number>1</number>", "&", "&a", "&#1", " ", "\n", " \n"),
    *("\t", "a", "1", "-", ".", ". ", ";", "; ", "(", "[", "{", '{"a":', '"', '"a",', ",", "="),
    *("e.g. ", "(e.g. a", "[1] ", "[Note ", "_", "_a ", "*", "*** START OF", "…", "”", "Mr. "),
    *("\n*** START OF A", "\n*END*THE SMALL PRINT", "\nProduced by\n", "\nProduced by\n\n", "''"),
    *("End of Project Gutenberg ", "CHAPTER I\n\n", "a-\n", "a- ", "\n- ", "\r", "\x0c", "\\"),
    *("é", "?", "Title: ", "q1 0 d1 1\n", "q1 Q0 d1 1 2 t\n", "&a ", "*a ", "- ", "a: ", "a,b,"),
)
SIZE = 100_000
SLOW_SIZE = 20_000
"""Of texts that are cut into sentences, a second for a megabyte and more."""

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
    for _ in range(40):
        attempt(reader, tmp_path, mutated(reader.sample, draw))


@pytest.mark.slow
@readers
def test_repetitions_take_time_in_proportion_to_their_length(reader, tmp_path):
    is_segmented = reader.file.endswith(".txt") or reader.name in ("pools", "examples in answers")
    size = SLOW_SIZE if is_segmented else SIZE
    half = reader.sample[: len(reader.sample) // 2]
    for repeated in REPETITIONS:
        for head in (reader.sample, half):
            tail = reader.sample[len(head) :]

            def seconds(length: int, head=head, repeated=repeated, tail=tail) -> float:
                text = head + repeated * (length // len(repeated)) + tail
                gc.disable()  # it looks through all that the tests before this one have loaded
                try:
                    begun = time.process_time()
                    attempt(reader, tmp_path, text)
                    return time.process_time() - begun
                finally:
                    gc.enable()

            whole = seconds(4 * size)
            if whole > 2:  # a quadratic reader takes 16 times as long for four times the text
                # The least of some: caches and other work on the machine only ever add time.
                least = min(whole, *(seconds(4 * size) for _ in range(2)))
                assert least < 9 * seconds(size) + 1, repr(repeated)


@pytest.mark.parametrize(
    ("name", "text", "line", "what"),
    [
        ("folds", f"[\n{DEEP}]", None, "nested more than 100 deep"),
        ("folds", '[\n["q", ' + "9" * 5000 + "]]", None, "thousands of digits"),
        ("folds", '["\\ud800"]', None, "half of a surrogate pair"),
        ("HotpotQA", f'[\n{{"_id": {DEEP}}}]', 2, "nested more than 100 deep"),
        ("settings", DEEP, None, "nested more than 100 deep"),
        ("metadata", f"tag: a\nb: {DEEP}", 2, "nested more than 100 deep"),
        ("recipe", "a: 1\nb: " + "9" * 5000, 2, "not of the type int"),
        ("recipe", "a: 1\nb: " + "9" * 400, 2, "too large"),
        ("ranks", "qid\trank\tcandidates\nq\t" + "1" * 5000 + "\t2\n", 2, "not an integer"),
        ("ranks", "qid\trank\tcandidates\nq\t" + "9" * 30 + "\t2\n", 2, "not an integer"),
        ("documents as JSON lines", f'{{"id": "d", "x": {DEEP}}}', 1, "nested more than 100 deep"),
        ("masked spans", f'{{"id": {"[" * 150}{"]" * 150}}}', 1, "nested more than 100 deep"),
        ("key", "item,gold,docno_1,docno_2,task\nq,²,a,b,m\n", 2, "gold item '²'"),
        (
            "RELiC",
            '{"A": {"quotes": {}, "sentences": [], "candidates": {"²": []}}}',
            None,
            "candidates '²'",
        ),
    ],
)
def test_what_cannot_be_used_is_named(name, text, line, what, tmp_path):
    (reader,) = (one for one in READERS if one.name == name)
    path = tmp_path / reader.file
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(what)) as caught:
        reader.read(path)
    assert caught.value.path == path
    assert caught.value.line == line


def test_a_cell_of_any_length_is_read(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(f"qid\trank\tcandidates\tnote\nq\t1\t2\t{'x' * 200_000}\n", encoding="utf-8")
    (reader,) = (one for one in READERS if one.name == "ranks")
    (ranks,) = reader.read(path).values()  # type: ignore[attr-defined]
    assert len(ranks.keys["note"][0]) == 200_000


def test_a_seed_that_no_generator_takes_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(f"seed: {1 << 63}\n", encoding="utf-8")
    with pytest.raises(InputError, match="seed"):
        validate(load(path), TrainingRecipe)
    path.write_text(f"seed: {(1 << 63) - 1}\n", encoding="utf-8")
    assert validate(load(path), TrainingRecipe).seed == (1 << 63) - 1
