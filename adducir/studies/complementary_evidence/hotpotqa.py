"""HotpotQA (Yang et al., EMNLP 2018), and its pools of paragraphs (Mou et al., 2020, appendix B).

The published files are one JSON array each; JSONL of the same objects, one per line, is read, too::

    {"_id": "5a71", "question": "...", "supporting_facts": [["Kansas Song", 0], ...],
     "context": [["Kansas Song", ["First sentence.", " Second sentence."]], ...]}

The hidden test set lacks supporting facts. Titles name paragraphs; in the published files some hold
HTML entities (``Ernst &amp; Young``), which are resolved here.

For each question the paper takes 50 paragraphs by "bigram BM25" (after Godbole et al., 2019) from
the abstracts of Wikipedia; here from the paragraphs available. What the papers leave open follows
DrQA, whose bigrams HotpotQA's own retrieval uses (Chen et al., ACL 2017): terms are words in lower
case and pairs of neighbouring words, none of them a stop word (Lucene's 33), unstemmed. Title and
text are searched together, by Lucene's BM25 formula over all paragraphs.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, Field
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import read_objects
from adducir.core.progress import progress
from adducir.corpora.records import Id, parsed_as, read_records
from adducir.corpora.sources import open_corpus
from adducir.deepct.terms import stop_words
from adducir.indexes.candidates import Vocabulary, rank_parts
from adducir.indexes.models import BM25
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, Passage

STOP_WORDS = stop_words("lucene")
_WORD = re.compile(r"\w+")


def _title(text: str) -> str:
    return " ".join(html.unescape(text).split())


Title = Annotated[str, AfterValidator(_title)]


@dataclass(frozen=True, slots=True)
class HotpotQuestion:
    """A question as HotpotQA has it: titles and sentences, and those that support its answer."""

    question: str
    context: tuple[tuple[Annotated[Title, Field(min_length=1)], tuple[str, ...]], ...]
    id: Annotated[Id, Field(validation_alias=AliasChoices("_id", "id"))]
    facts: Annotated[tuple[tuple[Title, int], ...], Field(validation_alias="supporting_facts")] = ()

    @property
    def gold_titles(self) -> tuple[str, ...]:
        """The titles of the supporting facts, each once: the gold set."""
        return tuple(dict.fromkeys(title for title, _ in self.facts))

    @property
    def paragraphs(self) -> Iterator[Passage]:
        for title, sentences in self.context:
            yield passage_of(title, " ".join(filter(None, map(str.strip, sentences))))


def read_hotpotqa(path: Path) -> Iterator[HotpotQuestion]:
    hint = "Objects must be as in hotpot_dev_distractor_v1.json, each with an id of its own."
    yield from read_records(path, read_objects(path), parsed_as(HotpotQuestion), hint)


def passage_of(title: str, text: str) -> Passage:
    """The paragraph as a passage; its id is the title with ``_`` for white space."""
    return Passage("_".join(title.split()), title, text)


def paragraphs_of_corpus(source: str | Path) -> Iterator[Passage]:
    """The documents of a corpus: BEIR's ``corpus.jsonl``, or HotpotQA's abstracts as they unpack.

    Those are folders of files ``AA/wiki_00.bz2``, JSON lines whose ``text`` is a list of sentences.
    """
    for document in open_corpus(source):
        title, text = _title(document.fields.get("title", "")), document.fields.get("text")
        if not title or text is None:
            raise InputError(
                f"the document {document.docno} of {source} has no title, or no text.",
                hint="Give a corpus with `title` and `text`, such as HotpotQA's abstracts.",
            )
        # A list of sentences is joined by line breaks, as any list of texts.
        yield passage_of(title, " ".join(filter(None, map(str.strip, text.split("\n")))))


def with_passages(question: HotpotQuestion, passages: Iterable[Passage]) -> EvidenceQuestion:
    """The question with these passages, of one title the first, among which its gold ones are."""
    kept: dict[str, Passage] = {}
    for passage in passages:
        kept.setdefault(passage.title, passage)
    numbers = {title: number for number, title in enumerate(kept)}
    titles = question.gold_titles
    gold = tuple(sorted(numbers[title] for title in titles if title in numbers))
    known = ((gold,), (), (len(titles) - len(gold),)) if titles else ()
    return EvidenceQuestion(question.id, question.question, tuple(kept.values()), *known)


def bigram_terms(text: str) -> list[str]:
    """The words and pairs of neighbouring words of a text; a pair is joined by a blank."""
    words = _WORD.findall(text.lower())
    pairs = pairwise(words)
    return [word for word in words if word not in STOP_WORDS] + [
        f"{one} {two}" for one, two in pairs if not {one, two} & STOP_WORDS
    ]


def bm25_pools(
    questions: Sequence[HotpotQuestion],
    paragraphs: Mapping[str, str],
    *,
    passages: int = 50,
    gold: Literal["always", "found"] = "always",
    model: BM25 | None = None,
) -> tuple[list[EvidenceQuestion], Counter[str]]:
    """Give each question the paragraphs that BM25 ranks first; text by title is searched.

    ``found`` leaves the pool as BM25 makes it, as in the paper. ``always`` puts gold paragraphs
    that were not found into the last places, and leaves out questions of which one is not
    available. Counts are of questions of which one is not (``unknown``) or all were ``found``.
    """
    if not paragraphs:
        raise UsageError("there are no paragraphs to search.")
    every, texts = list(paragraphs.values()), [one.question for one in questions]
    numbers = {title: number for number, title in enumerate(paragraphs)}
    vocabulary = Vocabulary(bigram_terms, texts)
    with progress().doing("searching", len(every), "paragraphs"):
        found = rank_parts(every, texts, model or BM25(), passages, vocabulary=vocabulary)
    made, counts = [], Counter[str]()
    for question, row in zip(questions, found.numbers.tolist(), strict=True):
        wanted = [numbers[title] for title in question.gold_titles if title in numbers]
        is_known = len(wanted) == len(question.gold_titles)
        counts["unknown"] += not is_known
        counts["found"] += bool(wanted) and is_known and {*wanted} <= {*row}
        if gold == "always":
            if not is_known:
                continue
            if len(wanted) > passages:
                raise UsageError(f"{passages} passages leave no room for {len(wanted)} gold ones.")
            others = [number for number in row if number not in wanted]
            kept = {*wanted, *others[: passages - len(wanted)]}
            row = [number for number in row if number in kept]
            row += [number for number in wanted if number not in row]
        pool = (passage_of(*every[number].split("\n", 1)) for number in row)
        made.append(with_passages(question, pool))
    return made, counts
