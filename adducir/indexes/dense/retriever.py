"""Dense retrieval as a PyTerrier transformer: ``DenseRetriever("indexes/minilm") % 10``."""

from pathlib import Path

import pandas as pd
import pyterrier as pt

from adducir.indexes.dense.index import DenseIndex
from adducir.indexes.frames import ranked


class DenseRetriever(pt.Transformer):
    """Ranks documents for each query by the inner product of vectors.

    Input columns: ``qid`` and ``query``. Output: one row a hit, with ``docno``, ``score`` and
    ``rank`` (from 0). With a lexical retriever it makes a hybrid: ``0.1 * bm25 + dense``.

    Args:
        index: A dense index, or its folder.
        depth: Hits a query, at most; None for all documents.
        device: Where the encoder of queries runs, where ``index`` is a folder.
    """

    def __init__(
        self,
        index: DenseIndex | Path | str,
        *,
        depth: int | None = 1000,
        threads: int | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__()
        self.index = index if isinstance(index, DenseIndex) else DenseIndex(index, device=device)
        self.depth = depth
        self.threads = threads

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Search every query of the frame.

        Raises:
            UsageError: Queries are weighted terms, which vectors cannot be made of.
        """
        return ranked(
            inp,
            lambda queries: self.index.search(queries, depth=self.depth, threads=self.threads),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index.path.name!r})"
