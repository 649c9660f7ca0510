"""The base class of transformers: PyTerrier's where it is installed, else one that is called alike.

PyTerrier is a guest: what ranks is a plain callable without it, and gets its pipelines (``>>``,
``+``, ``%``) and experiments with it.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adducir.core.errors import UsageError
from adducir.corpora.documents import text_of

HAS_PYTERRIER = find_spec("pyterrier") is not None

if TYPE_CHECKING or HAS_PYTERRIER:
    from pyterrier import Transformer as Transformer
else:

    class Transformer:
        """What PyTerrier's class of the name does outside pipelines."""

        def __call__(self, inp: Any) -> Any:
            """Returns the output of ``transform``."""
            return self.transform(inp)

        def search(self, query: str, qid: str = "1") -> Any:
            """Returns the output for one query."""
            return self({qid: query})


def refuse_without(frame: Any, *columns: str) -> None:
    """Refuse a frame that lacks columns, with the error that ``pt.inspect`` understands."""
    if HAS_PYTERRIER:
        import pyterrier as pt

        pt.validate.columns(frame, includes=list(columns))
    elif missing := [name for name in columns if name not in frame.columns]:
        raise UsageError(f"the input lacks the column {missing[0]!r}.")


def text_loader(index: Any, fields: str | Sequence[str]) -> Any:
    """Adds columns with the texts of an index's documents."""
    import pyterrier as pt

    def loaded(frame: Any) -> Any:
        documents = [index.documents.get(docno) for docno in frame["docno"]]
        fields_seen = dict.fromkeys(name for document in documents for name in document.fields)
        choices = [*fields_seen, *{"text"}.difference(fields_seen)]
        names = choices if fields == "*" else [fields] if isinstance(fields, str) else fields
        if unknown := [name for name in names if documents and name not in choices]:
            hint = f"The fields are {', '.join(fields_seen)}."
            raise UsageError(f"the documents lack the field {unknown[0]!r}.", hint=hint)
        kept = {name: [name] if name in fields_seen else index.fields for name in names}
        texts = {
            name: [text_of(document, names_of) for document in documents]
            for name, names_of in kept.items()
        }
        return frame.assign(**texts)

    return pt.apply.generic(loaded)
