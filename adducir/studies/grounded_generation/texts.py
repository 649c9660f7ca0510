"""Contexts, generated texts and references, and their files: JSONL in three forms.

A context is ``{"id": "7", "input": "Who was Vivaldi?", "target": "A composer ...", "gold": ["d4"],
"group": "music"}``; ``target`` is missing if unknown (KILT's test set), ``gold`` if there is no
gold passage, ``group`` if contexts are not grouped.

=========  ================================================  ======================================
form       a system's line                                   a reference's line
=========  ================================================  ======================================
Adducir's  ``{"id", "outputs": [{"text", "docno",            a context
           "passage"}, ...]}``, by rank of the passages;
           ``docno`` and ``passage`` are optional
KILT's     ``{"id", "output": [{"answer", "provenance":      ``{"id", "input", "output":
           [{"wikipedia_id"}, ...]}]}``, one output          [{"answer", "provenance"}, ...]}``
MS         ``{"query_id", "answers": [text]}``, one answer   ``{"query_id", "answers": [text]}``
MARCO's    or none
=========  ================================================  ======================================
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ConfigDict, Field, StrictInt
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.corpora.documents import Corpus, text_of
from adducir.corpora.records import Id, all_different, parsed_as, read_records, write_records

Name = Annotated[Id, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
Place = tuple[int, int]
"""A paragraph, as KILT counts them, and a character in it."""
NO_ANSWER = "No Answer Present."
_HINT = "docs/generation.md shows the three supported forms."


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class GroundedContext:
    """A context x, the target text y, and the docnos of the passages that y is based on."""

    id: Id
    input: str
    target: str = ""
    gold: Annotated[tuple[Id, ...], AfterValidator(all_different)] = ()
    group: str | None = None  # within which contexts are not independent


def read_contexts(path: Path) -> Iterator[GroundedContext]:
    yield from read_records(path, parsed_as(GroundedContext))


def write_contexts(contexts: Iterable[GroundedContext], path: Path) -> int:
    def record_of(context: GroundedContext) -> dict[str, object]:
        further = {"target": context.target, "gold": context.gold, "group": context.group}
        stated = {key: value for key, value in further.items() if value}
        return {"id": context.id, "input": context.input, **stated}

    return write_records(contexts, path, record_of)


def write_gold(contexts: Iterable[GroundedContext], path: Path) -> None:
    """Write gold passages as qrels; contexts without one have no line, so measures skip them."""
    with writing_text(path) as handle:
        for context in contexts:
            handle.writelines(f"{context.id} 0 {docno} 1\n" for docno in context.gold)


@dataclass(frozen=True, slots=True)
class Output:
    """A text generated from one passage, with the passage's docno and text, if known."""

    text: str
    docno: str | None = None
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """A system's texts for one input; the first is its answer."""

    id: str
    outputs: tuple[Output, ...]  # one per passage, in rank order
    pages: tuple[str, ...] = ()  # of the passages (KILT's provenance)

    @property
    def answer(self) -> str:
        return self.outputs[0].text if self.outputs else ""


@dataclass(frozen=True, slots=True)
class Reference:
    """The right answer for one input."""

    id: str
    answers: tuple[str, ...]
    input: str = ""
    gold: tuple[str, ...] = ()  # docnos of the passages that the answer was written from
    evidence: tuple[tuple[str, ...], ...] = ()  # the pages behind each answer (KILT)
    unanswerable: bool = False  # the right answer is that there is none (MS MARCO)

    @classmethod
    def of(cls, context: GroundedContext) -> "Reference":
        answers = (context.target,) if context.target else ()
        return cls(context.id, answers, context.input, context.gold)


References = Mapping[str, Reference]
"""References by id, in reporting order."""
System = Mapping[str, Generated]
"""One system's texts, by id."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an answer comes from; some KILT tasks name only the page."""

    wikipedia_id: str | StrictInt | None = None
    start_paragraph_id: StrictInt | None = None
    start_character: StrictInt | None = None
    end_paragraph_id: StrictInt | None = None
    end_character: StrictInt | None = None

    def __post_init__(self) -> None:
        span = self.span
        if span and span[2] < span[1]:
            raise ValueError(f"a provenance ends at {span[2]}, before its start {span[1]}")

    @property
    def span(self) -> tuple[str, Place, Place] | None:
        page, first, start = self.wikipedia_id, self.start_paragraph_id, self.start_character
        last, end = self.end_paragraph_id, self.end_character
        if page is None or first is None or start is None or last is None or end is None:
            return None
        return str(page), (first, start), (last, end)


@dataclass(frozen=True, slots=True)
class KiltOutput:
    """A KILT output, of a prediction or a reference."""

    answer: str | None = None
    provenance: tuple[Provenance, ...] | None = None

    @property
    def pages(self) -> tuple[str, ...]:
        """Each once; in KILT's files some are numbers."""
        named = (provenance.wikipedia_id for provenance in self.provenance or ())
        return tuple(dict.fromkeys(str(page).strip() for page in named if page is not None))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line in any of the forms, identified by ``outputs``, ``output`` or ``answers``."""

    id: Annotated[Name, Field(validation_alias=AliasChoices("id", "query_id"))]
    input: Annotated[str, Field(validation_alias=AliasChoices("input", "query"))] = ""
    outputs: tuple[Output, ...] | None = None
    output: tuple[KiltOutput, ...] | None = None
    answers: tuple[str, ...] | None = None
    target: str = ""
    gold: tuple[str, ...] = ()

    def generated(self) -> Generated:
        if self.outputs is not None:
            return Generated(self.id, self.outputs)
        if self.output is not None:
            if len(self.output) != 1:
                raise UsageError(f"a KILT prediction must have one output, not {len(self.output)}.")
            (answer,) = self.output
            return Generated(
                self.id, (Output(answer.answer),) if answer.answer else (), answer.pages
            )
        if self.answers is None:
            raise UsageError("this object has neither 'outputs' nor 'output' nor 'answers'.")
        if len(self.answers) > 1:
            raise UsageError(f"a system must give one answer, not {len(self.answers)}.")
        texts = ("" if text == NO_ANSWER else text for text in self.answers)
        return Generated(self.id, tuple(map(Output, texts)))

    def reference(self) -> Reference:
        if self.output is not None:
            answers = dict.fromkeys((answer.answer or "").strip() for answer in self.output)
            evidence = tuple(
                answer.pages for answer in self.output if answer.provenance is not None
            )
            kept = tuple(filter(None, answers))
            return Reference(self.id, kept, self.input, evidence=evidence)
        if self.answers is not None:
            unique = tuple(dict.fromkeys(self.answers))
            return Reference(self.id, unique, self.input, unanswerable=NO_ANSWER in unique)
        if not self.input and not self.target:
            raise UsageError("this object has neither 'output' nor 'answers' nor 'input'.")
        return Reference.of(GroundedContext(self.id, self.input, self.target, self.gold))


def read_generated(path: Path) -> dict[str, Generated]:
    parse = parsed_as(_Line)
    records = read_records(path, lambda line: parse(line).generated(), _HINT)
    return {record.id: record for record in records}


def write_kilt(generated: Iterable[Generated], path: Path) -> None:
    """Write what KILT's server takes: each input's answer, and the pages behind it by rank."""

    def record_of(text: Generated) -> dict[str, object]:
        provenance = [{"wikipedia_id": page} for page in text.pages]
        return {"id": text.id, "output": [{"answer": text.answer, "provenance": provenance}]}

    write_records(generated, path, record_of)


def read_references(*paths: Path) -> dict[str, Reference]:
    parse, references = parsed_as(_Line), dict[str, Reference]()
    for path in paths:
        lines = read_records(path, lambda line: parse(line).reference(), _HINT)
        some = {line_.id: line_ for line_ in lines}
        if twice := references.keys() & some.keys():
            raise InputError(f"the id {min(twice)!r} is also in an earlier file.", path=path)
        references |= some
    return references


def named_passages(references: References, systems: Iterable[System]) -> set[str | None]:
    """The docnos of gold passages, and of those that texts were generated from."""
    texts = (text for system in systems for text in system.values())
    named = {output.docno for text in texts for output in text.outputs}
    return named.union(*(reference.gold for reference in references.values()))


def passages_of(
    corpus: Corpus, references: References, systems: Iterable[System]
) -> dict[str, str]:
    """The texts (all fields that would be indexed) of the given passages, by docno."""
    docnos = named_passages(references, systems)
    return {
        document.docno: text_of(document, corpus.default_fields)
        for document in corpus
        if document.docno in docnos
    }
