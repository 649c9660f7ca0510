"""HotpotQA (Yang et al., EMNLP 2018) in its native format.

The published files are one JSON array each; JSONL of the same objects, one per line, is read, too::

    {"_id": "5a71", "question": "...", "answer": "...", "type": "bridge", "level": "hard",
     "supporting_facts": [["Kansas Song", 0], ...],
     "context": [["Kansas Song", ["First sentence.", " Second sentence."]], ...]}

The hidden test set lacks answers and supporting facts. Titles name paragraphs; in the published
files some hold HTML's entities (``Ernst &amp; Young``), which are resolved here.
"""

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import read_objects
from adducir.corpora.records import read_records
from adducir.studies.complementary_evidence.record import EvidenceQuestion, Passage


class Paragraph(NamedTuple):
    """A paragraph of Wikipedia: the first of the article with this title."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences, joined by one blank each."""
        return " ".join(text for sentence in self.sentences if (text := sentence.strip()))


@dataclass(frozen=True, slots=True)
class HotpotQuestion:
    """A question as HotpotQA has it.

    Attributes:
        id: Its id.
        question: Its text.
        answer: The answer; None in the hidden test set.
        kind: ``bridge`` or ``comparison`` (the file's ``type``), or None.
        level: ``easy``, ``medium`` or ``hard``, or None.
        facts: The supporting facts: title and number of the sentence, from 0.
        context: The paragraphs given with it: the true ones and distractors, or what a retriever
            found (fullwiki), which may lack the true ones.
    """

    id: str
    question: str
    answer: str | None
    kind: str | None
    level: str | None
    facts: tuple[tuple[str, int], ...]
    context: tuple[Paragraph, ...]

    @property
    def gold_titles(self) -> tuple[str, ...]:
        """The titles that supporting facts stand under, each once: the gold set."""
        return tuple(dict.fromkeys(title for title, _ in self.facts))


def read_hotpotqa(path: Path) -> Iterator[HotpotQuestion]:
    """Yield the questions of a file in its order.

    Raises:
        InputError: The file is no JSON, an object is no question, or an id comes twice; with
            file and line.
    """
    hint = "Objects must be as in hotpot_dev_distractor_v1.json, each with an id of its own."
    yield from read_records(path, read_objects(path), _question_of, hint)


def paragraphs_of(questions: Iterable[HotpotQuestion]) -> dict[str, str]:
    """The text of every paragraph in the contexts, by title; the first of a title counts."""
    found: dict[str, str] = {}
    for question in questions:
        for paragraph in question.context:
            found.setdefault(paragraph.title, paragraph.text)
    return found


def paragraphs_of_corpus(source: str | Path) -> Iterator[tuple[str, str]]:
    """The title and text of every document of a corpus.

    Such as BEIR's ``corpus.jsonl``, or the official abstracts as they unpack: folders of files
    ``AA/wiki_00.bz2``, JSON lines whose ``text`` is a list of sentences.

    Raises:
        InputError: The corpus cannot be read, or a document has no title or no ``text``.
    """
    from adducir.corpora.sources import open_corpus

    for document in open_corpus(source):
        title = document.fields.get("title", "").strip()
        if not title:
            raise InputError(
                f"the document {document.docno} of {source} has no title.",
                hint="Paragraphs are found by their titles: give a corpus with title and text.",
            )
        if "text" not in document.fields:
            raise InputError(
                f"the document {document.docno} of {source} has no 'text' that is text.",
                hint="Give the abstracts: there 'text' is a list of sentences, not of paragraphs.",
            )
        # A list of sentences is joined by line breaks, as any list of texts.
        sentences = document.fields["text"].split("\n")
        yield _title(title), Paragraph(title, tuple(sentences)).text


def passage_of(title: str, text: str) -> Passage:
    """The paragraph as a passage; its id is the title with ``_`` for white space."""
    return Passage("_".join(title.split()), title, text)


def own_passages(question: HotpotQuestion) -> EvidenceQuestion:
    """The question with the paragraphs of its own context as passages.

    Of paragraphs with one title the first counts. True paragraphs that the context lacks are
    counted in ``missing``.
    """
    passages = {title: passage_of(title, text) for title, text in paragraphs_of([question]).items()}
    return with_gold(question, tuple(passages.values()))


def with_gold(question: HotpotQuestion, passages: tuple[Passage, ...]) -> EvidenceQuestion:
    """The question with these passages, which its gold titles are looked up in."""
    numbers = {passage.title: number for number, passage in enumerate(passages)}
    titles = question.gold_titles
    found = frozenset(numbers[title] for title in titles if title in numbers)
    return EvidenceQuestion(
        question.id,
        question.question,
        passages,
        (found,) if titles else (),
        missing=(len(titles) - len(found),) if titles else (),
    )


def _question_of(record: dict[str, Any]) -> HotpotQuestion:
    name = record.get("_id", record.get("id"))
    if not isinstance(name, str) or name.split() != [name]:
        raise UsageError(f"'_id' must be text without white space, not {name!r}.")
    if not isinstance(record.get("question"), str):
        raise UsageError("this object has no 'question' that is text.")
    answer, kind, level = (record.get(key) for key in ("answer", "type", "level"))
    if any(not isinstance(text, str | None) for text in (answer, kind, level)):
        raise UsageError("'answer', 'type' and 'level' must be text.")
    facts = _list(record.get("supporting_facts", []), "supporting facts")
    context = _list(record.get("context"), "context")
    return HotpotQuestion(
        name,
        record["question"],
        answer,
        kind,
        level,
        tuple(_fact(pair) for pair in facts),
        tuple(_paragraph(pair) for pair in context),
    )


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"the {what} must be a list, not {type(value).__name__}.")
    return value


def _fact(pair: Any) -> tuple[str, int]:
    match pair:
        case [str(title), int(sentence)] if type(sentence) is int and sentence >= 0:
            return _title(title), sentence
    raise UsageError(f"a supporting fact must be [title, sentence], not {pair!r}.")


def _title(text: str) -> str:
    return " ".join(html.unescape(text).split())


def _paragraph(pair: Any) -> Paragraph:
    match pair:
        case [str(title), [*sentences]] if all(isinstance(s, str) for s in sentences):
            if title.strip():
                return Paragraph(_title(title), tuple(sentences))
    raise UsageError("a paragraph of the context must be [title, [sentence, ...]].")
