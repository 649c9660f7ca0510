"""What every retrieval model has, and how each engine scores by it."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from adducir.core.recipe import Kind

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class Saturation(NamedTuple):
    """Lucene's BM25, which compiled code computes; ``idf``: whether terms have one."""

    k1: float
    b: float
    idf: bool = True


class Dirichlet(NamedTuple):
    """Lucene's LMDirichlet, which compiled code computes."""

    mu: float


class Model(Kind):
    """A formula that ranks the documents which hold a term of the query.

    A document's score is the sum, over the query's terms, of the term's weight in the query times
    the term's impact on the document. The fields of a subclass are its hyperparameters. It says
    how it is computed for one engine or for several:

    - by memory indexes and candidate sets: :meth:`term_factors`, :meth:`length_factors` and
      :meth:`impacts` on arrays, where an impact is a function of a number of the term, a number of
      the document and the term's frequency in it;
    - by Lucene: :meth:`similarity`.

    Attributes:
        like_lucene: Whether a memory index scores as Lucene does: from lengths in one byte, with
            impacts and sums rounded to floats. Otherwise lengths are exact and scores doubles.
    """

    like_lucene: ClassVar[bool] = False

    @classmethod
    def engines(cls) -> tuple[str, ...]:
        """The engines that can score by it, of ``lucene`` and ``memory``."""
        lucene = ("lucene",) if cls.similarity is not Model.similarity else ()
        return (*lucene, *(("memory",) if cls.impacts is not Model.impacts else ()))

    def similarity(self, *, exact_lengths: bool) -> Any:
        """A new object of Lucene's class ``Similarity``.

        Args:
            exact_lengths: Whether the index holds exact lengths, as Anserini writes them.

        Returns:
            The Java object; None where there is none (for exact lengths).
        """
        del exact_lengths
        return None

    def compiled(self) -> Saturation | Dirichlet | None:
        """The formula by which a memory index computes the same, faster; None for none."""
        return None

    def term_factors(self, statistics: "Statistics") -> "Array":
        """(R,) a number of each term, such as its idf."""
        raise NotImplementedError

    def length_factors(self, statistics: "Statistics") -> "Array":
        """(D,) a number of each document, made from its length."""
        raise NotImplementedError

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """(P,) what each of P postings adds to its document's score.

        Args:
            terms: Their terms' factors, (P,) or one number for all.
            tfs: (P,) frequencies.
            lengths: (P,) their documents' factors.
        """
        raise NotImplementedError

    def background(self, terms: "Array") -> "Array | None":
        """(R,) what a term adds to documents that lack it, from its factor; None for nothing."""
        del terms
        return None
