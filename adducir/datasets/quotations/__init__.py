"""Quotation windows from books and criticism, as RELiC has them (Thai et al., ACL 2022).

The sentences of novels are sought in works of criticism; what is found becomes a masked span whose
context is the critic's own text. RELiC's official files are read and written here as well.
"""

from adducir.core.lazy import offering

_HOMES = {
    "Rules": "rules",
    "rules_of": "rules",
    "find_quotations": "builder",
    "Built": "builder",
    "RelicBook": "relic",
    "RelicQuote": "relic",
    "read_relic": "relic_files",
    "write_relic": "relic_files",
    "spans_of_relic": "relic",
    "candidate_starts": "relic",
    "read_submission": "submission",
    "write_submission": "submission",
    "relic_of": "construction",
    "spans_of": "construction",
    "construct": "construction",
    "read_book": "sources",
    "read_work": "sources",
    "text_files": "sources",
    "split_relic": "construction",
    "read_pools": "pools",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
