"""Texts to search for examples: answers, passages, books.

eli5      ``q_id``, ``title``, ``answers`` with the lists ``a_id`` and ``text``
kilt      ``id``, ``input``, ``output``, a list of objects with ``answer``
nq        Natural Questions, simplified (``document_text``) or full (``document_tokens``)
qa        ``id`` (or ``q_id``, ``qid``), ``question``, ``answer`` or ``answers``, a list

These are JSON, one object per line or in one array; a book is plain text. As in the EGRET paper
(section 2.1, note 2), a Natural Questions question is used only if its one answer is a paragraph.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError, worded
from adducir.core.files import COMPRESSED, read_pieces
from adducir.core.json_lines import WHOLE, is_json, json_objects, read_objects
from adducir.studies.books import TEXT_ENDINGS, body_bounds, files_in, read_plain, stem_of

BOOK = "book"
_LINES = tuple(f".jsonl{packed}" for packed in ("", *COMPRESSED))
_IDS = ("id", "q_id", "qid", "question_id", "example_id")
_ANSWERS = ("answers", "answer", "answer_paragraph")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


class SourceText(NamedTuple):
    """A text; ``group`` is its question or book, ``offset`` where the book begins in its file."""

    id: str
    group: str
    content: str
    source: str
    question: str | None = None
    offset: int = 0
    is_book: bool = False


def read_texts(
    paths: Iterable[Path], form: str | None = None, skipped: Counter[str] | None = None
) -> Iterator[SourceText]:
    """Yield the texts of files and folders, naming books by their paths below the folder.

    ``skipped`` receives counts of records without a text, by reason.
    """
    skipped = Counter() if skipped is None else skipped
    homes: dict[str, str] = {}
    for folder, path in files_in(paths, (*_LINES, *TEXT_ENDINGS)):
        text_format = form or _format_of(path)
        texts: Iterable[tuple[int | None, SourceText]]
        if text_format == BOOK:
            whole = read_plain(path)
            start, end = body_bounds(whole, path)
            name = "_".join((path.parent.relative_to(folder) / stem_of(path)).as_posix().split())
            book = SourceText(name, name, whole[start:end], path.name, offset=start, is_book=True)
            texts = [(None, book)]
        else:
            texts = _answers_in(path, text_format, skipped)
        for line, text in texts:
            if text.id in homes:
                raise InputError(
                    f"the text {text.id!r} was already read from {homes[text.id]}.",
                    path=path,
                    line=line,
                    hint="Name each file once, and give each question and answer a unique id.",
                )
            homes[text.id] = str(path) if line is None else f"{path}:{line}"
            yield text


def _format_of(path: Path) -> str:
    """The format: for JSON by its first record; otherwise a book, if its name shows it."""
    if path.name.endswith(_LINES) or is_json(next(read_pieces(path), "")):
        record = next((record for _, record in _records(path)), {})
        if "annotations" in record:
            return "nq"
        if isinstance(record.get("answers"), dict):
            return "eli5"
        # KILT's test files have no output.
        is_kilt = "input" in record and not any(name in record for name in _ANSWERS)
        return "kilt" if "output" in record or is_kilt else "qa"
    if path.name.endswith(TEXT_ENDINGS) or not path.suffix:
        return BOOK
    raise InputError(
        "neither its name nor its content shows the format.",
        path=path,
        hint=f"Name its format: {worded('format')}; books are named .txt.",
    )


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if next(read_pieces(path), "").lstrip().startswith("["):
        return read_objects(path)
    return json_objects(path, f"{WHOLE} Books are named .txt, or take {worded('format', 'book')}.")


def _answers_in(path: Path, form: str, skipped: Counter[str]) -> Iterator[tuple[int, SourceText]]:
    records = answered = 0
    for line, record in _records(path):
        try:
            group, question, answers = _answers_of(record, form, skipped)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            lacks = isinstance(error, KeyError)
            message = f"it lacks {error.args[0]}" if lacks else str(error)
            raise InputError(
                f"this record is not in the format {form}: {message}.",
                path=path,
                line=line,
                hint=f"Choose one: {worded('format')}; docs/studies/exemplification.md lists them.",
            ) from error
        records, answered = records + 1, answered + ("output" in record)
        for name, content in answers:
            if content.strip():
                text_id = "_".join(f"{group}-{name}".split()) if name else group
                yield line, SourceText(text_id, group, content, path.name, question)
        if form != "nq" and not any(content.strip() for _, content in answers):
            skipped["questions without an answer"] += 1
    if form == "kilt" and records and not answered:
        raise InputError(
            f"the file does not contain answers: all {records:,} records lack 'output'.",
            path=path,
            hint="KILT's test files lack answers; use its training or development file.",
        )


def _answers_of(
    record: dict[str, Any], form: str, skipped: Counter[str]
) -> tuple[str, str | None, list[tuple[str, str]]]:
    """The id and question of a record, and the name and text of each answer."""
    ids = [record[name] for name in _IDS if record.get(name) not in (None, "")]
    if not ids:
        raise KeyError(f"an id ({', '.join(_IDS)})")
    group = "_".join(str(ids[0]).split())
    if form == "nq":
        content = _long_answer(record, skipped)
        return group, record.get("question_text"), [] if content is None else [("", content)]
    answers: Iterable[tuple[Any, Any]]
    if form == "eli5":
        both = record["answers"]
        question, answers = record.get("title"), zip(both["a_id"], both["text"], strict=True)
    elif form == "kilt":
        outputs = enumerate(record.get("output", []))
        question, answers = (
            record.get("input"),
            ((n, output.get("answer")) for n, output in outputs),
        )
    else:
        question = record.get("question")
        values = [record[name] for name in _ANSWERS if record.get(name) is not None]
        if not values:
            raise KeyError(f"an answer ({', '.join(_ANSWERS)})")
        is_text = isinstance(values[0], str)
        if not is_text and not isinstance(values[0], list):
            raise ValueError("its answers are neither a text nor a list of texts")
        answers = [(record.get("a_id", ""), values[0])] if is_text else enumerate(values[0])
    contents = [(str(name), content) for name, content in answers if content is not None]
    if not all(isinstance(content, str) for _, content in contents):
        raise ValueError("an answer is not text")
    return group, question, contents


def _long_answer(record: dict[str, Any], skipped: Counter[str]) -> str | None:
    long = [annotation["long_answer"] for annotation in record["annotations"]]
    answered = [answer for answer in long if answer["start_token"] >= 0]
    if not answered:
        skipped["questions without a long answer"] += 1
        return None
    verdicts = (annotation.get("yes_no_answer", "NONE") for annotation in record["annotations"])
    if any(annotation["short_answers"] for annotation in record["annotations"]) or {*verdicts} != {
        "NONE"
    }:
        skipped["questions with a short answer as well"] += 1
        return None
    tokens = str(record.get("document_text", "")).split(" ")
    if "document_text" not in record:
        tokens = [str(token["token"]) for token in record["document_tokens"]]
    tokens = tokens[answered[0]["start_token"] : answered[0]["end_token"]]
    if not tokens or tokens[0].upper() != "<P>":
        skipped["long answers that are a table or a list"] += 1
        return None
    return " ".join(token for token in tokens if not _TAG.fullmatch(token))
