"""The data sets HotpotQA-50 and MNLI-12 (Mou et al., 2020, section 3.1 and appendix B).

HotpotQA (Yang et al., EMNLP 2018): the published files are one JSON array each; JSONL of the same
objects is also read. The hidden test set lacks supporting facts. Titles name paragraphs::

    {"_id": "5a71", "question": "...", "supporting_facts": [["Kansas Song", 0], ...],
     "context": [["Kansas Song", ["First sentence.", " Second sentence."]], ...]}

For each question the paper takes 50 paragraphs by "bigram BM25" (after Godbole et al., 2019) from
the abstracts of Wikipedia; here from the paragraphs available. What the papers leave open follows
DrQA, whose bigrams HotpotQA's own retrieval uses (Chen et al., ACL 2017): terms are unstemmed
lower-case words and pairs of adjacent words, without stop words (Lucene's 33). Title and text are
searched together, with Lucene's BM25 formula over all paragraphs.

MNLI-12 is built from MultiNLI (Williams et al., NAACL 2018): JSONL with ``sentence1``,
``sentence2`` and ``gold_label``, or ``premise``, ``hypothesis`` and ``label`` (words, or 0, 1, 2).
The question is a premise P. Its three hypotheses (one per label) are cut into two segments each,
and so are those of another premise X: twelve passages in random order. The gold set is the two
segments of P's entailed hypothesis; eight of all other pairs are negative. What the paper leaves
open: words are separated by white space; segments have at least 6 words; "near the middle" is at
most an eighth of the hypothesis's words away; a hypothesis is split once, wherever it is used; X is
drawn from the premises used; of several hypotheses with one label, the first that is long enough
counts. A question whose gold segment is also among its other passages is dropped.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import read_objects
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus
from adducir.corpora.records import Id, parsed_as, read_records, read_values
from adducir.deepct.terms import stop_words
from adducir.indexes.candidates import rank_parts
from adducir.indexes.models import BM25
from adducir.indexes.vocabulary import Vocabulary
from adducir.studies.complementary_evidence.questions import (
    NEGATIVES,
    EvidencePassage,
    EvidenceQuestion,
    drawing,
    sample_sets,
)

STOP_WORDS = stop_words("lucene")
_WORD = re.compile(r"\w+")
LABELS = ("entailment", "neutral", "contradiction")
_UNLABELLED = ("-", "-1", "", "hidden")
_SPREAD = 8  # an eighth of the words on either side of the middle
_TRIES = 20


def _title(text: str) -> str:
    return " ".join(html.unescape(text).split())


Title = Annotated[str, AfterValidator(_title)]


@dataclass(frozen=True, slots=True)
class HotpotQuestion:
    """A HotpotQA question: titles and sentences, and those that support its answer."""

    question: str
    context: tuple[tuple[Annotated[Title, Field(min_length=1)], tuple[str, ...]], ...]
    id: Annotated[Id, Field(validation_alias=AliasChoices("_id", "id"))]
    facts: Annotated[tuple[tuple[Title, int], ...], Field(validation_alias="supporting_facts")] = ()

    @property
    def gold_titles(self) -> tuple[str, ...]:
        """The distinct titles of the supporting facts: the gold set."""
        return tuple(dict.fromkeys(title for title, _ in self.facts))

    @property
    def paragraphs(self) -> Iterator[EvidencePassage]:
        for title, sentences in self.context:
            yield passage_of(title, " ".join(filter(None, map(str.strip, sentences))))


def read_hotpotqa(path: Path) -> Iterator[HotpotQuestion]:
    hint = "Objects must be as in hotpot_dev_distractor_v1.json, each with a unique id."
    yield from read_records(path, parsed_as(HotpotQuestion), hint, read_objects(path))


def passage_of(title: str, text: str) -> EvidencePassage:
    """The paragraph as a passage; its id is the title with ``_`` for white space."""
    return EvidencePassage("_".join(title.split()), title, text)


def paragraphs_of_corpus(corpus: Corpus) -> Iterator[EvidencePassage]:
    """The documents of a corpus: BEIR's ``corpus.jsonl``, or HotpotQA's abstracts, unpacked.

    These are folders of files ``AA/wiki_00.bz2``, JSON lines whose ``text`` is a list of sentences.
    """
    for document in corpus:
        title, text = _title(document.fields.get("title", "")), document.fields.get("text")
        if not title or text is None:
            raise InputError(
                f"the document {document.docno} of {corpus.source} lacks a title or text.",
                hint="Use a corpus with `title` and `text`, such as HotpotQA's abstracts.",
            )
        # A list of sentences is joined by line breaks, like any list of texts.
        yield passage_of(title, " ".join(filter(None, map(str.strip, text.split("\n")))))


def with_passages(
    question: HotpotQuestion, passages: Iterable[EvidencePassage]
) -> EvidenceQuestion:
    """The question with these passages, the first per title; its gold ones are among them."""
    kept: dict[str, EvidencePassage] = {}
    for passage in passages:
        kept.setdefault(passage.title, passage)
    numbers = {title: number for number, title in enumerate(kept)}
    titles = question.gold_titles
    gold = tuple(sorted(numbers[title] for title in titles if title in numbers))
    gold_sets = ((gold,), (), (len(titles) - len(gold),)) if titles else ()
    return EvidenceQuestion(question.id, question.question, tuple(kept.values()), *gold_sets)


def bigram_terms(text: str) -> list[str]:
    """The words and pairs of adjacent words of a text; a pair is joined by a space."""
    words = _WORD.findall(text.lower())
    pairs = (f"{word} {two}" for word, two in pairwise(words) if not {word, two} & STOP_WORDS)
    return [*(word for word in words if word not in STOP_WORDS), *pairs]


def bm25_pools(
    questions: Sequence[HotpotQuestion],
    paragraphs: Mapping[str, str],
    *,
    passages: int = 50,
    gold: Literal["always", "found"] = "always",
    model: BM25 | None = None,
) -> tuple[list[EvidenceQuestion], Counter[str]]:
    """Give each question the paragraphs that BM25 ranks highest; text by title is searched.

    ``found`` keeps the pool as BM25 ranks it, as in the paper. ``always`` puts gold paragraphs that
    were not found at the end of the pool, and drops questions with a gold paragraph that is not
    available. Counts are of questions with such a paragraph (``unknown``) or with all ``found``.
    """
    if not paragraphs:
        raise UsageError("paragraphs to search are missing.")
    paragraph_texts, texts = (
        list(paragraphs.values()),
        [question.question for question in questions],
    )
    numbers = {title: number for number, title in enumerate(paragraphs)}
    vocabulary = Vocabulary(bigram_terms, texts)
    with progress().doing("searching", len(paragraph_texts), "paragraphs"):
        ranking = rank_parts(paragraph_texts, texts, model or BM25(), passages, analysis=vocabulary)
    built, counts = [], Counter[str]()
    for question, row in zip(questions, ranking.numbers.tolist(), strict=True):
        gold_numbers = [numbers[title] for title in question.gold_titles if title in numbers]
        is_known = len(gold_numbers) == len(question.gold_titles)
        counts["unknown"] += not is_known
        counts["found"] += bool(gold_numbers) and is_known and {*gold_numbers} <= {*row}
        if gold == "always":
            if not is_known:
                continue
            if len(gold_numbers) > passages:
                raise UsageError(
                    f"{passages} passages cannot include {len(gold_numbers)} gold ones."
                )
            others = [number for number in row if number not in gold_numbers]
            kept = {*gold_numbers, *others[: passages - len(gold_numbers)]}
            row = [number for number in row if number in kept]
            row += [number for number in gold_numbers if number not in row]
        pool = (passage_of(*paragraph_texts[number].split("\n", 1)) for number in row)
        built.append(with_passages(question, pool))
    return built, counts


def _label(value: str | int) -> str | None:
    label = LABELS[int(value)] if str(value) in ("0", "1", "2") else str(value)
    if label not in (*LABELS, *_UNLABELLED):
        raise ValueError(f"labels must be {', '.join(LABELS)}, not {value!r}")
    return label if label in LABELS else None


@dataclass(frozen=True, slots=True)
class NliPair:
    """A premise, a hypothesis and its label (None: the annotators did not agree)."""

    premise: Annotated[str, Field(validation_alias=AliasChoices("sentence1", "premise"))]
    hypothesis: Annotated[str, Field(validation_alias=AliasChoices("sentence2", "hypothesis"))]
    label: Annotated[
        str | None,
        BeforeValidator(_label),
        Field(validation_alias=AliasChoices("gold_label", "label")),
    ]


class Premise(NamedTuple):
    """A premise with its hypotheses: label to texts, in file order."""

    id: str
    text: str
    hypotheses: dict[str, list[str]]


def read_mnli(path: Path) -> Iterator[tuple[int, NliPair]]:
    hint = "It needs sentence1, sentence2, gold_label, or premise, hypothesis, label."
    return read_values(path, parsed_as(NliPair), hint)


def read_premises(paths: Iterable[Path]) -> tuple[list[Premise], Counter[str]]:
    """The premises of files, each named by file and line, and how many pairs are unlabelled."""
    premises: dict[str, Premise] = {}
    names: set[str] = set()
    counts = Counter[str]()
    for path in paths:
        name = "_".join(re.split(r"(?<!\d)\.|\.(?!\d)", path.name)[0].split())  # multinli_1.0_dev
        if name in names:
            raise UsageError(f"two files are named {name}, but file names identify questions.")
        names.add(name)
        for line, pair in read_mnli(path):
            counts["pairs"] += 1
            counts["unlabelled"] += pair.label is None
            if pair.label is not None:
                text = " ".join(pair.premise.split())
                premise = premises.setdefault(text, Premise(f"{name}:{line}", text, {}))
                hypotheses = premise.hypotheses.setdefault(pair.label, [])
                hypotheses.append(" ".join(pair.hypothesis.split()))
    if not premises:
        raise UsageError("all pairs of sentences lack labels.")
    return list(premises.values()), counts


def build_mnli12(
    premises: Sequence[Premise], *, min_words: int = 6, negatives: int = NEGATIVES, seed: int = 0
) -> tuple[list[EvidenceQuestion], Counter[str]]:
    """The questions of MNLI-12, and how many premises were dropped, by reason.

    How a premise is cut depends only on the seed and its id.
    """
    whole = [
        premise for premise in premises if all(premise.hypotheses.get(label) for label in LABELS)
    ]
    cut = {
        premise.id: segments
        for premise in whole
        if (segments := _segments(premise, min_words, seed))
    }
    usable = [premise for premise in whole if premise.id in cut]
    questions = []
    for premise in usable:
        draw = drawing(seed, "question", premise.id)
        for donor in draw.sample(usable, min(_TRIES, len(usable))):
            passages = [
                EvidencePassage(f"{prefix}{label}-{part}", "", text)
                for prefix, source in (("", premise), ("other-", donor))
                for label in LABELS
                for part, text in enumerate(cut[source.id][label], 1)
            ]
            texts = [passage.text.casefold() for passage in passages]
            if donor is not premise and all(texts.count(text) == 1 for text in texts[:2]):
                break
        else:
            continue  # a gold segment is always repeated
        order = draw.sample(range(len(passages)), len(passages))
        gold = tuple(place for place, number in enumerate(order) if number < 2)
        sets = sample_sets(len(passages), [gold], draw, negatives=negatives)
        shuffled = tuple(passages[number] for number in order)
        questions.append(EvidenceQuestion(premise.id, premise.text, shuffled, (gold,), sets))
    left_out = {
        "incomplete": len(premises) - len(whole),
        "short": len(whole) - len(usable),
        "repeated": len(usable) - len(questions),
    }
    return questions, Counter(left_out)


def _segments(premise: Premise, min_words: int, seed: int) -> dict[str, tuple[str, str]] | None:
    """The two segments of each label's hypothesis; None if one is too short."""
    draw = drawing(seed, "cut", premise.id)
    segments = {}
    for label in LABELS:
        hypotheses = (text.split() for text in premise.hypotheses[label])
        words = next((some for some in hypotheses if len(some) >= 2 * min_words), None)
        if words is None:
            return None
        place = draw.choice(cuts(len(words), min_words))
        segments[label] = " ".join(words[:place]), " ".join(words[place:])
    return segments


def cuts(words: int, min_words: int) -> list[int]:
    """The possible lengths of the first of two segments, near the middle of ``words`` words."""
    return [
        place
        for place in range(min_words, words - min_words + 1)
        if abs(2 * place - words) <= max(2 * words / _SPREAD, 1)
    ]
