"""ir_datasets: documents, topics and judgements; its log goes to the caller's progress."""

import difflib
import io
import logging
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from adducir.core.errors import InputError, MachineError
from adducir.core.packages import installing, lacking
from adducir.core.planning import fetched_later, may_download, planning
from adducir.core.progress import Progress, progress
from adducir.corpora.documents import ARGUMENT_FIELDS, Document, check_docno, fields_of

_PARTS = {"docs": "documents", "queries": "topics", "qrels": "judgements"}
# What ir_datasets and its parsers raise for network, disk or broken-download errors.
_ERRORS = (
    *(OSError, RuntimeError, ImportError, ValueError, KeyError, EOFError, AssertionError),
    *(SyntaxError, zipfile.BadZipFile, tarfile.TarError, zlib.error),
)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if may_download():
            progress().note(f"ir_datasets: {' '.join(record.getMessage().split())}")


@contextmanager
def _quietly() -> Iterator[None]:
    """Redirect ir_datasets' log, and keep its progress bars off the terminal."""
    import ir_datasets
    from ir_datasets import lazy_libs

    def refuse() -> Any:
        raise OSError("not downloaded yet")

    logger = ir_datasets.log.easy().logger()
    handlers, logger.handlers = logger.handlers, [_Notes()]
    library, network = lazy_libs.tqdm, lazy_libs.requests
    silent = SimpleNamespace(tqdm=partial(library().tqdm, disable=True))
    lazy_libs.tqdm = lambda: silent
    if not may_download():
        lazy_libs.requests = refuse
    try:
        yield
    finally:
        logger.handlers = handlers
        lazy_libs.tqdm, lazy_libs.requests = library, network


def open_dataset(name: str, part: str) -> Any:
    """The ir_datasets object of an id that has a part (docs, queries, qrels); loads no data."""
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        if missing := lacking(error):
            message = f"{name!r} is not an existing file, and {missing.what}"
            hint = f"If it is an id of ir_datasets: {installing('datasets')}"
            raise InputError(message, hint=hint, absent=True) from error
        raise
    except (ImportError, OSError) as error:
        hint = "Make its folder writable, or choose another with IR_DATASETS_HOME."
        raise MachineError(f"ir_datasets cannot be used: {error}.", hint=hint) from error
    with _quietly():
        try:
            dataset = ir_datasets.load(name)
        except KeyError:
            message = f"{name!r} is neither an existing file nor an ir_datasets id."
            raise InputError(message, hint=_near(name, part)) from None
        except _ERRORS as error:  # some ids download a list of files immediately
            raise _unavailable(name, part, error) from error
        if not dataset.has(part):
            message = f"{name} of ir_datasets does not have {_PARTS[part]}."
            raise InputError(message, hint=_near(name, part))
    return dataset


def _near(name: str, part: str) -> str:
    """Suggest similar ids that have the part, starting with this id's subsets."""
    from ir_datasets import registry

    with Progress(), _quietly():
        datasets = [dataset for dataset in registry if registry[dataset].has(part)]
    inside = [dataset for dataset in datasets if dataset.startswith(f"{name}/")]
    near = inside[:5] or difflib.get_close_matches(name, datasets, n=3, cutoff=0.6)
    return f"Similar: {', '.join(near)}." if near else "See https://ir-datasets.com for the ids."


def records(dataset: Any, name: str, part: str) -> Iterator[Any]:
    """A data set's documents, topics or judgements; downloads what is missing."""
    iterator: Iterator[Any] | None = None
    with _quietly():
        while True:
            try:
                with redirect_stdout(io.StringIO()):  # its Touché prints a debug line
                    iterator = iterator or iter(getattr(dataset, f"{part}_iter")())
                    record = next(iterator)
            except StopIteration:
                return
            except _ERRORS as error:
                raise _unavailable(name, part, error) from error
            yield record


def _unavailable(name: str, part: str, error: Exception) -> MachineError:
    message = f"the {_PARTS[part]} of {name}"
    if not may_download():
        return MachineError(f"{message}, which ir_datasets downloads.", absent=True)
    text = textwrap.shorten(str(error), 200, placeholder=" ...")
    message += f" could not be loaded from ir_datasets ({type(error).__name__}: {text})."
    hint = "Check the network and installed packages, or name a local file instead of the id."
    return MachineError(message, hint=hint, absent=not isinstance(error, ImportError))


@dataclass(frozen=True)
class IrdsCorpus:
    """The documents of an ir_datasets id; every text attribute is a field.

    If there are several, ``default_text`` is what ir_datasets considers the document's text.
    """

    source: str
    dataset: Any

    @classmethod
    def open(cls, name: str) -> "IrdsCorpus":
        """The corpus of an id; tells a plan that its documents may have to be downloaded."""
        dataset = open_dataset(name, "docs")

        def is_here() -> bool:
            try:
                with planning():
                    next(records(dataset, name, "docs"), None)
            except MachineError:
                return False
            return True

        label = f"the documents of {name}, which ir_datasets downloads."
        fetched_later(label, is_here, lambda: next(records(dataset, name, "docs")))
        return cls(name, dataset)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process reopens the data set, and does not report progress.
        return IrdsCorpus.open, (self.source,)

    @property
    def _names(self) -> tuple[str, ...]:
        names = getattr(self.dataset.docs_cls(), "_fields", ())
        return tuple(name for name in names if name != "doc_id")

    @property
    def default_fields(self) -> tuple[str, ...]:
        if {"conclusion", "premises"} <= set(self._names):
            return ARGUMENT_FIELDS
        has_default = hasattr(self.dataset.docs_cls(), "default_text")
        return ("default_text",) if has_default and len(self._names) > 1 else self._names

    def __iter__(self) -> Iterator[Document]:
        names, searched, record = self._names, self.default_fields, None
        for record in records(self.dataset, self.source, "docs"):
            check_docno(record.doc_id)
            fields = {name: getattr(record, name) for name in names}
            if searched == ARGUMENT_FIELDS:
                premises = [{"text": o.text, "stance": o.stance.name} for o in record.premises]
                fields["premises"] = premises
            elif "default_text" in searched:
                fields["default_text"] = record.default_text()
            yield Document(record.doc_id, fields_of(fields))
        if record is None:
            raise InputError(f"{self.source} of ir_datasets does not contain any documents.")

    def identity(self) -> dict[str, Any]:
        import ir_datasets

        with Progress(), _quietly():
            try:
                owner = ir_datasets.docs_parent_id(self.source)
            except KeyError:
                owner = self.source
        count, version = self.size_hint(), ir_datasets.__version__
        return {"source": "ir_datasets", "id": owner, "documents": count, "version": version}

    def size_hint(self) -> int | None:
        stated = getattr(self.dataset, "docs_metadata", None)
        count = stated().get("count") if stated else None
        return count if isinstance(count, int) else None

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return []
