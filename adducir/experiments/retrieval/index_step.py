"""The step that builds an index, and how it is searched."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adducir.core.artifacts import MISSING, Manifest, is_absent, read_manifest
from adducir.core.errors import ArtifactError
from adducir.core.unread import NotRead
from adducir.corpora.documents import Corpus
from adducir.corpora.topics import Topics
from adducir.experiments.context import Context
from adducir.experiments.sections import file_name
from adducir.experiments.step import FolderStep

if TYPE_CHECKING:
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.index import Index
    from adducir.indexes.models import Model
    from adducir.indexes.search import Search as Found


class Ranker(Protocol):
    """How words are ranked: what a search says beside its index."""

    @property
    def retrieval_model(self) -> "Model":
        """The model."""

    @property
    def feedback(self) -> "FeedbackMethod | None":
        """The feedback method; None for none."""

    @property
    def fields(self) -> Mapping[str, float] | None:
        """Weights of fields; None where fields are joined."""


class Request(Ranker, Protocol):
    """A search as an experiment file has it."""

    @property
    def index(self) -> str:
        """The name of the index."""

    @property
    def model(self) -> str:
        """The name of the retrieval model."""

    @property
    def tune(self) -> object | None:
        """How hyperparameters are tuned; None for not at all."""

    @property
    def model_fields_set(self) -> set[str]:
        """The keys that the file gives, of those that every search has."""

    @property
    def model_extra(self) -> dict[str, Any] | None:
        """The other keys that the file gives."""


class IndexStep(FolderStep):
    """An index that a system searches or reads documents of.

    Attributes:
        name: Its name in the file.
        path: Its folder.
        corpus: What it is built of.
        source: The corpus in a few words.
        kind: The kind of artifact that it is.
    """

    verb = "build"
    stage = 1
    name: str
    corpus: Corpus
    source: str
    engine: str
    kind: str = ""

    @property
    @abstractmethod
    def fields(self) -> tuple[str, ...]:
        """The fields of the documents that are indexed."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """How it is built, as its manifest's recipe has it."""

    @abstractmethod
    def search_settings(self, ranker: Ranker) -> dict[str, Any]:
        """All that determines a search's rankings beside index, topics and depth."""

    @abstractmethod
    def search(
        self, ranker: Ranker, topics: Topics, tag: str, depth: int | None, context: Context
    ) -> "Found":
        """Search every topic."""

    @abstractmethod
    def build(self, context: Context) -> Manifest:
        """Build it, unless it is there."""

    def title(self, shown: Callable[[Path], str]) -> str:
        """Folder and corpus."""
        return f"index {shown(self.path)} of {self.source}"

    def recipe(self) -> Mapping[str, Any]:
        return self.settings

    def default_fields(self) -> tuple[str, ...]:
        """The corpus's own fields.

        Where a dry run does not read the corpus, they are those of the index that is there: the
        corpus's own as well if its fingerprint is right, which covers the corpus.
        """
        try:
            return tuple(self.corpus.default_fields)
        except NotRead:
            return () if is_absent(self.path) else tuple(read_manifest(self.path).recipe["fields"])

    def make(self, context: Context) -> None:
        """Build it, and say what it holds."""
        name, why = f"index {context.shown(self.path)}", self.why()
        if why not in (None, MISSING):
            context.progress.note(f"{name}: {why}")
        counts = self.build(context).counts
        empty = f", {counts['empty']:,} of them without text" if counts.get("empty") else ""
        context.progress.note(f"{name}: {counts['documents']:,} documents{empty}")

    def open(self, context: Context) -> "Index":
        """The index, if it is still the one that was planned; it is closed at the end.

        Raises:
            ArtifactError: It is not.
        """
        return context.opened(("index", self.path), partial(self._open, context), _close)

    def _open(self, context: Context) -> "Index":
        from adducir.indexes.engine import open_index, remark_on

        index = open_index(self.path, device=context.device, tokens=context.batch_tokens)
        found = read_manifest(self.path).fingerprint
        if found == index.identity["fingerprint"] == self.fingerprint:
            remark = remark_on(index)
            if remark:
                context.note_once(remark)
            return index
        index.close()
        raise ArtifactError(
            "this is not the index that was planned: its corpus has changed since, or another "
            "experiment has built its own here.",
            path=self.path,
            hint="Run this again; give indexes of two experiments that differ different names.",
        )


def _close(index: "Index") -> None:
    index.close()


def index_path(folder: Path, name: str) -> Path:
    """Where an index of an experiment file goes."""
    return folder / "indexes" / file_name(name)
