"""What every method of relevance feedback has."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pydantic import Field

from adducir.core.recipe import Kind
from adducir.indexes.models.model import Model


class Document(NamedTuple):
    """A document that a search found: its score, and its terms with their frequencies."""

    score: float
    terms: Mapping[str, int]


class Collection(Protocol):
    """What feedback can know of an index."""

    @property
    def documents(self) -> int:
        """How many documents the index has."""

    @property
    def has_plain_feedback(self) -> bool:
        """Whether new terms are of ``[a-z0-9]`` only, as Anserini's filter for English has it."""

    def frequency(self, term: str) -> int:
        """How many documents hold a term; 0 for a term that is not in the index."""


class FeedbackMethod(Kind):
    """A way to make a better query from a query and the documents that it finds.

    The fields of a subclass are its hyperparameters.
    """

    fb_docs: int = Field(default=10, ge=1, description="Feedback documents.")

    @property
    def depth(self) -> int:
        """How many of the best documents are read."""
        return self.fb_docs

    @abstractmethod
    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        """The terms of the new query with their weights, which are 0 or more.

        Args:
            query: The query's terms, in order, and how often it has each.
            documents: The best documents, at most :attr:`depth`, best first.
        """

    def model(self, model: Model) -> Model:
        """The model that the new query is searched with, given the model of the first search."""
        return model
