"""Corpora of an experiment file, by kind: documents from a source, or another corpus expanded."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.errors import InputError
from adducir.core.registry import Family
from adducir.corpora.documents import Corpus
from adducir.corpora.local import LocalCorpus
from adducir.corpora.sources import open_corpus
from adducir.experiments.sections import Linked
from adducir.experiments.step import Step

if TYPE_CHECKING:
    from adducir.core.recipe import KeyPath
    from adducir.experiments.retrieval.study import RetrievalStudy


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus, and what has to be there before its documents can be read.

    Attributes:
        corpus: The documents; they need not be readable yet.
        steps: What has to be made first.
        reads: The entries of the file that name what is read with its documents.
        facts: What shows how it is made, for the provenance of a table.
    """

    corpus: Corpus
    steps: Sequence[Step] = ()
    reads: "Sequence[KeyPath]" = ()
    facts: dict[str, Any] = field(default_factory=dict)


class CorpusRecipe(Linked):
    """The base of every kind of corpus."""

    stage: ClassVar[int] = 0
    """Corpora of a later stage are made from those of an earlier one."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is, in a few words."""

    @abstractmethod
    def open(self, name: str, study: "RetrievalStudy") -> None:
        """Open it, and put it into ``study.corpora``; its documents are not read."""


class SourceCorpus(CorpusRecipe):
    """Documents from an ir_datasets id, a file or a folder.

    Attributes:
        source: The id or path.
        format: The format of files, if their names do not show it.
        docno_field: The field of the docno, where it has none of the usual names.
    """

    source: str
    format: str | None = None
    docno_field: str | None = None

    @property
    def label(self) -> str:
        return self.source

    def open(self, name: str, study: "RetrievalStudy") -> None:
        place = ("corpora", name, "source")
        source = study.planner.source(place, self.source)
        if source is None:
            return
        open_it = partial(open_corpus, source, docno_field=self.docno_field, format=self.format)
        found = study.planner.opening(place, open_it)
        if found is not None:
            study.corpora[name] = OpenedCorpus(found, reads=[("corpora", name)])


CORPORA = Family(
    "corpora",
    CorpusRecipe,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "source": f"{__name__}:SourceCorpus",
        "expand": "adducir.experiments.retrieval.expansion:ExpandedRecipe",
    },
    what="kind of corpus",
)


def refuse_unknown_fields(corpus: Corpus, fields: tuple[str, ...]) -> None:
    """Read a local corpus until each field was seen, which nearly always is at once.

    Raises:
        InputError: A field is in no document, or a record is malformed.
    """
    unseen, found = set(fields), set[str]()
    if not isinstance(corpus, LocalCorpus):
        from adducir.deepct.expansion import WEIGHTED, ExpandedCorpus  # with all of DeepCT

        if isinstance(corpus, ExpandedCorpus):
            # Its documents cannot be read before their words are weighted.
            corpus, unseen, found = corpus.base, unseen - {WEIGHTED}, {WEIGHTED}
    if not isinstance(corpus, LocalCorpus):
        return
    for document in corpus if unseen else ():
        unseen -= document.fields.keys()
        if not unseen:
            return
        found |= document.fields.keys()
    if not unseen:
        return
    raise InputError(
        f"no document has a field {', '.join(map(repr, sorted(unseen)))}.",
        hint=f"The fields are {', '.join(sorted(found))}.",
    )
