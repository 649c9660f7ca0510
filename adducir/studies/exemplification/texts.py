"""Texts in which examples are looked for: answers, passages, books.

========  ==========================================================================
format    a file of it
========  ==========================================================================
eli5      ``q_id``, ``title``, ``answers`` with the lists ``a_id`` and ``text``
kilt      ``id``, ``input``, ``output``, a list of objects with ``answer``
nq        Natural Questions; see :mod:`adducir.studies.exemplification.nq`
qa        ``id`` (or ``q_id``, ``qid``), ``question``, and ``answer``, a text, or
          ``answers``, a list of texts
book      plain text, with or without Project Gutenberg's licence around it
========  ==========================================================================

The first four are JSON objects, one per line or in one array.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_pieces
from adducir.core.json_lines import WHOLE, is_json, json_objects, read_objects
from adducir.core.progress import progress
from adducir.core.streams import COMPRESSED
from adducir.corpora.books import TEXT_ENDINGS, body_bounds, read_plain, stem_of
from adducir.corpora.local import files_below, skipped_note

ANSWER = "answer"
BOOK = "book"
FORMATS = ("eli5", "kilt", "nq", "qa", "book")
_LINES = tuple(f".jsonl{packed}" for packed in ("", *COMPRESSED))
_IDS = ("id", "q_id", "qid", "question_id", "example_id")
_ANSWERS = ("answers", "answer", "answer_paragraph")

Answers = Iterable[tuple[str, str | None]]
"""The name of each answer of a question, unique among them, and its text."""

NO_ANSWER = "questions without an answer"


class Text(NamedTuple):
    """A text to look for examples in.

    Attributes:
        id: Names it; no white space.
        group: The question that it answers, or the book that it is.
        content: The text itself.
        kind: :data:`ANSWER` or :data:`BOOK`.
        source: The name of its file.
        question: The question, of an answer.
        offset: Where the text begins in its file, in characters; 0 for an answer.
    """

    id: str
    group: str
    content: str
    kind: str
    source: str
    question: str | None = None
    offset: int = 0


def read_texts(
    paths: Iterable[Path],
    format: str | None = None,  # noqa: A002  (the word users know)
    skipped: Counter[str] | None = None,
) -> Iterator[Text]:
    """Yield the texts of files and folders, in the order of the files.

    A folder stands for its ``.txt`` and ``.jsonl`` files, compressed or not, also in subfolders, by
    path. A book is named after its path below that folder.

    Args:
        format: One of :data:`FORMATS`; by default what each file's name and first record show.
        skipped: Receives counts of records that give no text, by reason.

    Raises:
        InputError: A file cannot be read as what it seems, or two texts have one id.
        UsageError: There is no such format.
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; the formats are {', '.join(FORMATS)}.")
    skipped = Counter() if skipped is None else skipped
    homes: dict[str, str] = {}
    for folder, path in _files(paths):
        for line, text in _read(path, folder, format or _format_of(path), skipped):
            if text.id in homes:
                raise InputError(
                    f"the text {text.id!r} has been read from {homes[text.id]} already.",
                    path=path,
                    line=line,
                    hint="Name each file once, and give each question and answer an id of its own.",
                )
            homes[text.id] = str(path) if line is None else f"{path}:{line}"
            yield text


def _files(paths: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """The folder that was named (of a file its own), and each file."""
    for path in paths:
        if not path.is_dir():
            yield path.parent, path
            continue
        every = sorted(files_below(path))
        found = [each for each in every if each.name.endswith(_LINES + TEXT_ENDINGS)]
        if not found:
            raise InputError("there is no .txt and no .jsonl file in this folder.", path=path)
        if len(found) < len(every):
            others = [each for each in every if not each.name.endswith(_LINES + TEXT_ENDINGS)]
            progress().note(skipped_note(path, others, "neither .txt nor .jsonl"))
        yield from ((path, each) for each in found)


def _format_of(path: Path) -> str:
    """The format: of JSON by its first record; else a book, where the name says so."""
    if path.name.endswith(_LINES) or is_json(_head(path)):
        return _format_of_record(next((record for _, record in _records(path)), {}))
    if path.name.endswith(TEXT_ENDINGS) or not path.suffix:
        return BOOK
    raise InputError(
        "neither its name nor its beginning shows what this is.",
        path=path,
        hint=f"Name its format with --format ({', '.join(FORMATS)}); books are named .txt.",
    )


def _format_of_record(record: dict[str, Any]) -> str:
    if "output" in record:
        return "kilt"
    if "annotations" in record:
        return "nq"
    if isinstance(record.get("answers"), dict):
        return "eli5"
    # KILT's test files have no output.
    is_kilt = "input" in record and not any(name in record for name in _ANSWERS)
    return "kilt" if is_kilt else "qa"


def _head(path: Path) -> str:
    return next(read_pieces(path), "")


def _read(
    path: Path, folder: Path, form: str, skipped: Counter[str]
) -> Iterator[tuple[int | None, Text]]:
    if form == "book":
        yield None, _book(path, folder)
        return
    records = answered = 0
    for line, record in _records(path):
        try:
            group = _id_of(record)
            question, answers = _answers_of(record, form, skipped)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise _misshapen(path, line, form, error) from error
        records, answered = records + 1, answered + ("output" in record)
        for name, content in answers:
            own = "_".join(f"{group}-{name}".split()) if name else group
            yield line, Text(own, group, content, ANSWER, path.name, question)
    if form == "kilt" and records and not answered:
        raise InputError(
            f"there are no answers here: none of the {records:,} records has an 'output'.",
            path=path,
            hint="KILT's test files come without; take its training or development file.",
        )


def _answers_of(
    record: dict[str, Any], form: str, skipped: Counter[str]
) -> tuple[str | None, list[tuple[str, str]]]:
    """The question of a record, and the name and text of each answer that has text."""
    if form == "nq":
        from adducir.studies.exemplification.nq import long_answer

        content = long_answer(record, skipped)
        return record.get("question_text"), [] if content is None else [("", content)]
    question, answers = _READERS[form](record)
    given = [(str(name), content) for name, content in answers if content is not None]
    if not all(isinstance(content, str) for _, content in given):
        raise ValueError("an answer is no text")
    kept = [(name, content) for name, content in given if content.strip()]
    if not kept:
        skipped[NO_ANSWER] += 1
    return question, kept


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if _head(path).lstrip().startswith("["):
        yield from read_objects(path)
        return
    yield from json_objects(path, f"{WHOLE} Books are named .txt, or take --format book.")


def _misshapen(path: Path, line: int, form: str, error: Exception) -> InputError:
    what = f"it lacks {error.args[0]}" if isinstance(error, KeyError) else str(error)
    return InputError(
        f"this record is not of the format {form}: {what}.",
        path=path,
        line=line,
        hint="Name the right one with --format; docs/spans.md shows each.",
    )


def _id_of(record: dict[str, Any]) -> str:
    value = next((record[name] for name in _IDS if record.get(name) not in (None, "")), None)
    if value is None:
        raise KeyError(f"an id ({', '.join(_IDS)})")
    return "_".join(str(value).split())


def _eli5(record: dict[str, Any]) -> tuple[str | None, Answers]:
    answers = record["answers"]
    return record.get("title"), zip(answers["a_id"], answers["text"], strict=True)


def _kilt(record: dict[str, Any]) -> tuple[str | None, Answers]:
    outputs = record.get("output", [])
    return record.get("input"), [(str(n), each.get("answer")) for n, each in enumerate(outputs)]


def _qa(record: dict[str, Any]) -> tuple[str | None, Answers]:
    question = record.get("question")
    name = next((name for name in _ANSWERS if name in record), None)
    if name is None:
        raise KeyError(f"an answer ({', '.join(_ANSWERS)})")
    value = record[name]
    if isinstance(value, str):
        return question, [(str(record.get("a_id", "")), value)]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name!r} is no text and no list of texts")
    return question, [(str(place), each) for place, each in enumerate(value)]


_READERS: dict[str, Callable[[dict[str, Any]], tuple[str | None, Answers]]] = {
    "eli5": _eli5,
    "kilt": _kilt,
    "qa": _qa,
}


def _book(path: Path, folder: Path) -> Text:
    text = read_plain(path)
    start, end = body_bounds(text, path)
    name = "_".join((path.parent.relative_to(folder) / stem_of(path)).as_posix().split())
    return Text(name, name, text[start:end], BOOK, path.name, None, start)
