"""The documents of an ir_datasets id as a corpus."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from adducir.core.absent import fetched_later
from adducir.core.errors import InputError
from adducir.core.progress import Progress
from adducir.corpora.documents import Document, Place, check_docno
from adducir.corpora.irds import is_here, open_dataset, quietly, records
from adducir.corpora.values import ARGUMENT_FIELDS, argument_fields, as_text


@dataclass(frozen=True)
class IrdsCorpus:
    """The documents of an ir_datasets id.

    Every attribute of a document that has text is a field (see
    :func:`adducir.corpora.values.as_text`). Where there are several, the field
    ``default_text`` is what ir_datasets takes for the document's text. Arguments (args.me)
    have the same four fields as in a local file: conclusion, premise, stance, topic.
    """

    source: str
    dataset: Any

    @classmethod
    def open(cls, name: str) -> "IrdsCorpus":
        """The corpus of an id; see :func:`open_dataset`."""
        dataset = open_dataset(name, "docs")
        fetched_later(
            f"the documents of {name}, which ir_datasets downloads.",
            partial(is_here, dataset, name, "docs"),
            lambda: next(records(dataset, name, "docs")),
        )
        return cls(name, dataset)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens the data set anew, and reports to nobody.
        return IrdsCorpus.open, (self.source,)

    @property
    def _names(self) -> tuple[str, ...]:
        names = getattr(self.dataset.docs_cls(), "_fields", ())
        return tuple(name for name in names if name != "doc_id")

    @property
    def _is_argument(self) -> bool:
        return {"conclusion", "premises"} <= set(self._names)

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Determined from the documents' class; nothing is downloaded."""
        if self._is_argument:
            return ARGUMENT_FIELDS
        names = self._names
        if len(names) > 1 and hasattr(self.dataset.docs_cls(), "default_text"):
            return ("default_text",)
        return names

    def __iter__(self) -> Iterator[Document]:
        fields = _argument if self._is_argument else _generic(self._names)
        found = False
        for record in records(self.dataset, self.source, "docs"):
            check_docno(record.doc_id)
            yield Document(record.doc_id, fields(record))
            found = True
        if not found:
            raise InputError(f"{self.source} of ir_datasets gave no documents.")

    def identity(self) -> dict[str, Any]:
        """The id that owns the documents, their number, and the version of ir_datasets."""
        import ir_datasets

        with Progress(), quietly():
            try:
                owner = ir_datasets.docs_parent_id(self.source)
            except KeyError:
                owner = self.source
        return {
            "source": "ir_datasets",
            "id": owner,
            "documents": self.size_hint(),
            "version": ir_datasets.__version__,
        }

    def size_hint(self) -> int | None:
        """The number of documents that ir_datasets states, without downloading."""
        stated = getattr(self.dataset, "docs_metadata", None)
        count = stated().get("count") if stated else None
        return count if isinstance(count, int) else None

    def places(self, docno: str) -> list[Place]:
        """Not known: ir_datasets does not say."""
        return []


def _argument(record: Any) -> dict[str, str]:
    premises = list(record.premises)
    stance = premises[0].stance.name if premises else ""
    texts = [premise.text for premise in premises]
    return argument_fields(record.conclusion, texts, stance, record.topic)


def _generic(names: tuple[str, ...]) -> Callable[[Any], dict[str, str]]:
    def fields(record: Any) -> dict[str, str]:
        found = {
            name: text for name in names if (text := as_text(getattr(record, name))) is not None
        }
        if len(names) > 1 and hasattr(record, "default_text"):
            found["default_text"] = record.default_text()
        return found

    return fields
