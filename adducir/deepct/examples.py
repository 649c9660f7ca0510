"""Training examples: passages of a corpus's documents with the target of each word.

Documents that leak control names are left out, and with them, by default, their copies:
documents whose text differs in nothing but case and white space. Nothing depends on chance, and
the examples stand in the order of the corpus.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from adducir.core.errors import InputError, UsageError
from adducir.core.progress import progress
from adducir.corpora.digests import digest_of
from adducir.corpora.documents import Corpus, Document, refuse_duplicates, text_of
from adducir.deepct.cutting import Cut, CutSettings, Cutter, number_of
from adducir.deepct.supervision import FromFields, Supervision
from adducir.deepct.targets import Matcher, weights_of
from adducir.training.leaks import NOBODY, Excluded


class Example(NamedTuple):
    """A passage to learn from.

    ``targets`` and ``is_stop`` have an entry for each of the words of ``text``: those of
    :func:`adducir.deepct.words.words`, or of ``basic_words`` where the keys are the original's.
    ``number`` counts a document's passages from 0. ``group`` is what a split keeps together.
    ``row`` is the number of the passage among all, where those are prepared.
    """

    docno: str
    number: int
    text: str
    targets: tuple[float, ...]
    is_stop: tuple[bool, ...]
    group: str
    row: int = 0


@dataclass(frozen=True)
class ExampleSettings(CutSettings):
    """How documents become examples.

    Attributes:
        keep_empty: Whether passages without a positive target are kept, as the original does for
            MS MARCO, and not for CAR.
        group: The field whose documents a split keeps together; by default each document is a
            group of its own.
        drop_copies: Whether copies of documents left out are left out.
    """

    keep_empty: bool = True
    group: str | None = None
    drop_copies: bool = True


@dataclass
class Counts:
    """What became of a corpus.

    Attributes:
        documents: Documents read.
        excluded: Of them, left out by leak control.
        excluded_by_source: How many of them each source of leak control names.
        copies: Left out since their text is that of a document left out.
        without_reference: Left out since they have no query, or none but of stop words.
        passages: Passages of the documents that are left.
        without_words: Of them, left out since they have no word.
        without_positive: Of them, without a positive target; kept or not, as the settings say.
        examples: Passages kept.
        words: Words of the examples.
        stop_words: Of them, stop words.
        positives: Of them, with a positive target.
    """

    documents: int = 0
    excluded: int = 0
    excluded_by_source: dict[str, int] = field(default_factory=dict)
    copies: int = 0
    without_reference: int = 0
    passages: int = 0
    without_words: int = 0
    without_positive: int = 0
    examples: int = 0
    words: int = 0
    stop_words: int = 0
    positives: int = 0

    def record(self) -> dict[str, Any]:
        """Plain values, for manifests and model cards."""
        return asdict(self)

    def warnings(self) -> list[str]:
        """What a user should look at: sources of leak control that name no document read."""
        return [
            f"{source} names no document of the corpus: are its docnos of another version?"
            for source, count in self.excluded_by_source.items()
            if not count
        ]


def examples(
    corpus: Corpus,
    settings: ExampleSettings,
    supervision: Supervision,
    matcher: Matcher,
    cut: Cutter,
    counts: Counts,
    *,
    excluded: Excluded = NOBODY,
) -> Iterator[Example]:
    """Make the training examples of a corpus, one after the other.

    Args:
        matcher: Recognises words of queries.
        cut: Gives the passages of the documents, which are numbered in the order of the corpus.

    Raises:
        InputError: A document is malformed or there twice, no document has a field that is named,
            or no example is left.
        UsageError: The text's fields hold the reference's, so that the answer stands in the
            question; or the settings make no sense.
    """
    refuse_reference_in_text(settings, supervision)
    fields = _Fields(settings, supervision)
    progress().start("make examples", corpus.size_hint(), "documents")
    for document in _allowed(corpus, settings, excluded, counts, fields):
        recall = matcher.recall(supervision.queries(document))
        if not recall:
            counts.without_reference += 1
            continue
        numbered = {number_of(stem): share for stem, share in recall.items()}
        group = document.fields.get(settings.group or "", "") or document.docno
        for one in cut(counts.documents - 1, document):
            targets = weights_of(one.terms, numbered)
            if _is_kept(one, targets, settings, counts):
                yield Example(
                    document.docno,
                    one.number,
                    one.text,
                    tuple(targets),
                    tuple(one.is_stop),
                    group,
                    one.row,
                )
    progress().finish()
    fields.check(corpus.source)
    if not counts.examples:
        raise InputError(
            f"of {counts.documents:,} documents no training example is left: {counts.excluded:,} "
            f"are left out by leak control, {counts.without_reference:,} have no reference.",
            path=corpus.source,
            hint="Look at the fields and at what is left out.",
        )


def _allowed(
    corpus: Corpus, settings: ExampleSettings, excluded: Excluded, counts: Counts, fields: "_Fields"
) -> Iterator[Document]:
    """The documents that leak control leaves."""
    forbidden = _texts(corpus, settings, excluded) if settings.drop_copies else frozenset()
    found = Counter(dict.fromkeys(excluded.by_source, 0))
    for document in refuse_duplicates(corpus):
        progress().advance(1)
        counts.documents += 1
        fields.see(document)
        if document.docno in excluded:
            counts.excluded += 1
            found.update(s for s, named in excluded.by_source.items() if document.docno in named)
        elif forbidden and _text_digest(document, settings) in forbidden:
            counts.copies += 1
        else:
            yield document
    counts.excluded_by_source = dict(found)


def _is_kept(cut: Cut, targets: Sequence[float], settings: ExampleSettings, counts: Counts) -> bool:
    """Whether a passage is an example; counts it."""
    positives = sum(value > 0 for value in targets)
    counts.passages += 1
    counts.without_words += not targets
    counts.without_positive += bool(targets) and not positives
    if not targets or not (positives or settings.keep_empty):
        return False
    counts.examples += 1
    counts.words += len(targets)
    counts.stop_words += sum(cut.is_stop)
    counts.positives += positives
    return True


def _texts(corpus: Corpus, settings: ExampleSettings, excluded: Excluded) -> frozenset[str]:
    """Digests of the texts of the documents to leave out, empty texts aside."""
    if not excluded.docnos:
        return frozenset()
    named = (document for document in corpus if document.docno in excluded)
    return frozenset(_text_digest(document, settings) for document in named) - {digest_of([""])}


def _text_digest(document: Document, settings: ExampleSettings) -> str:
    return digest_of([" ".join(text_of(document, settings.text_fields).lower().split())])


def refuse_reference_in_text(settings: ExampleSettings, supervision: Supervision) -> None:
    """Refuse a text that holds the reference.

    Raises:
        UsageError: It does.
    """
    if not isinstance(supervision, FromFields):
        return
    shared = sorted(set(settings.text_fields) & set(supervision.fields))
    if shared:
        raise UsageError(
            f"the field {shared[0]!r} is in the text as well as the reference, so that every word "
            "of it is a target by itself.",
            hint="Let the model read other fields than those that it is to predict.",
        )


class _Fields:
    """Notes which of the fields that are named have been seen."""

    def __init__(self, settings: ExampleSettings, supervision: Supervision) -> None:
        wanted = [*settings.text_fields, *((settings.group,) if settings.group else ())]
        if isinstance(supervision, FromFields):
            wanted += supervision.fields
        self._missing = set(wanted)
        self._known: set[str] = set()

    def see(self, document: Document) -> None:
        if self._missing:
            self._missing.difference_update(document.fields)
            self._known.update(document.fields)

    def check(self, source: str) -> None:
        if self._missing:
            raise InputError(
                f"no document has a field {min(self._missing)!r}.",
                path=source,
                hint=f"The documents' fields are: {', '.join(sorted(self._known))}.",
            )
