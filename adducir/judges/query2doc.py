"""query2doc: queries expanded by a passage that a language model writes (Wang et al., EMNLP 2023).

For a lexical search, the query is repeated, five times as in the paper, before the passage, so that
its own words keep their weight; for a dense one it stands once, before a separator, ``[SEP]``. A
query without a readable passage stays as it is, and is counted.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adducir.corpora.topics import Topics
from adducir.judges.answers import Answering, Asked, Talk, converse, one_round
from adducir.judges.costs import cost_row
from adducir.judges.exchange import Answer, Request, refuse_unreadable, told
from adducir.judges.llm import Answerer
from adducir.judges.prompting import QueryPrompt, refuse_empty_queries

REPEATS = 5
SEPARATOR = "[SEP]"
_CONTROL = re.compile("[\x00-\x1f\x7f]")


@dataclass
class Expanded:
    """Expanded topics.

    Attributes:
        topics: The same qids, with longer queries.
        passages: What was written, by topic; empty where nothing readable was.
        facts: For metadata: who wrote, counts, tokens.
        costs: What each topic took.
    """

    topics: Topics
    passages: Sequence[str]
    facts: dict[str, Any]
    costs: list[dict[str, Any]]


@dataclass(frozen=True)
class Expansion:
    """How queries are expanded.

    Attributes:
        model: Who writes.
        prompt: What is asked.
        is_dense: Whether vectors are searched: the query once, then the separator.
        repeats: How often the query stands before the passage, for words.
        failures: The share of queries that may stay unexpanded.
    """

    model: Answerer
    prompt: QueryPrompt
    is_dense: bool = False
    repeats: int = REPEATS
    failures: float = 0.01

    def talk(self, topics: Topics) -> Talk:
        """Ask for a passage per topic, of a query in words; an empty one is an error."""
        refuse_empty_queries(dict(zip(topics.qids, topics.queries, strict=True)))
        return one_round([Request(self.prompt.messages(query)) for query in topics.queries])

    def expand(self, topics: Topics, answering: Answering, beside: Path | None = None) -> Expanded:
        """Ask, and expand; answers are kept beside an output, unless a cache is stated."""
        with closing(answering.opened(self.model, beside)) as cache:
            talks = [self.talk(topics)]
            asked = converse(self.model, talks, cache, transport=answering.transport)
        return self.expanded(topics, *asked)

    def expanded(self, topics: Topics, results: Sequence[list[Answer]], record: Asked) -> Expanded:
        """Queries with what a talk returned.

        Raises:
            IncompleteError: More queries than ``failures`` stay unexpanded.
        """
        (answers,) = results
        record = replace(record, answers=answers)
        # A passage that is cut at its longest is one, too.
        passages = [
            " ".join(_CONTROL.sub(" ", one.text).split()) if one.status in ("ok", "cut") else ""
            for one in answers
        ]
        share = passages.count("") / max(1, len(passages))
        what, most = "queries have no passage", self.failures
        refuse_unreadable(share, most, what, told(record.statuses), record.path)
        queries = []
        for query, passage in zip(topics.queries, passages, strict=True):
            parts = [query, SEPARATOR] if self.is_dense else [query] * self.repeats
            queries.append(" ".join([*parts, passage]) if passage else query)
        facts = {
            **({"separator": SEPARATOR} if self.is_dense else {"repeats": self.repeats}),
            "prompt": self.prompt.facts,
            "language model": self.model.facts(),
            "answers": dict(record.statuses),
            **record.usage(self.model),
        }
        price = self.model if record.is_metered else None
        costs = [
            cost_row(qid, [answer], price) for qid, answer in zip(topics.qids, answers, strict=True)
        ]
        return Expanded(replace(topics, queries=queries), passages, facts, costs)
