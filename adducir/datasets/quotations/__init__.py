"""Quotation windows from books and criticism, as RELiC has them (Thai et al., ACL 2022).

The sentences of novels are sought in works of criticism; what is found becomes a masked span whose
context is the critic's own text. RELiC's official files are read and written here as well.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.datasets.quotations.builder import Built, find_quotations
    from adducir.datasets.quotations.construction import construct, relic_of, spans_of, split_relic
    from adducir.datasets.quotations.pools import read_pools
    from adducir.datasets.quotations.relic import (
        RelicBook,
        RelicQuote,
        candidate_starts,
        spans_of_relic,
    )
    from adducir.datasets.quotations.relic_files import read_relic, write_relic
    from adducir.datasets.quotations.rules import Rules, rules_of
    from adducir.datasets.quotations.sources import read_book, read_work, text_files
    from adducir.datasets.quotations.submission import read_submission, write_submission

__all__ = [
    "Built",
    "RelicBook",
    "RelicQuote",
    "Rules",
    "candidate_starts",
    "construct",
    "find_quotations",
    "read_book",
    "read_pools",
    "read_relic",
    "read_submission",
    "read_work",
    "relic_of",
    "rules_of",
    "spans_of",
    "spans_of_relic",
    "split_relic",
    "text_files",
    "write_relic",
    "write_submission",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
