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
from adducir.judges.answers import Answering, ask
from adducir.judges.costs import cost_row
from adducir.judges.exchange import Request, refuse_unreadable, told
from adducir.judges.llm import Answerer
from adducir.judges.prompting import QueryPrompt, refuse_empty_queries

REPEATS = 5
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


def expansions(topics: Topics, prompt: QueryPrompt) -> list[Request]:
    """A request per topic; an empty query is an error."""
    refuse_empty_queries(dict(zip(topics.qids, topics.queries, strict=True)))
    return [Request(prompt.messages(query)) for query in topics.queries]


def expand(
    topics: Topics,
    model: Answerer,
    prompt: QueryPrompt,
    answering: Answering,
    *,
    is_dense: bool = False,
    repeats: int = REPEATS,
    separator: str = "[SEP]",
    failures: float = 0.01,
    beside: Path | None = None,
) -> Expanded:
    """Expand the queries of topics.

    Args:
        topics: Topics with a query in words.
        model: Who writes.
        prompt: What is asked.
        answering: Where answers are kept.
        is_dense: Whether vectors are searched: the query once, then ``separator``.
        repeats: How often the query stands before the passage, for words.
        separator: Between query and passage, for vectors.
        failures: The share of queries that may stay unexpanded.
        beside: The output beside which answers are kept, unless a cache is stated.

    Raises:
        IncompleteError: More queries stay unexpanded.
    """
    requests = expansions(topics, prompt)
    with closing(answering.opened(model, beside)) as cache:
        asked = ask(model, requests, cache, transport=answering.transport)
    # A passage that is cut at its longest is one, too.
    passages = [
        " ".join(_CONTROL.sub(" ", answer.text).split()) if answer.status in ("ok", "cut") else ""
        for answer in asked.answers
    ]
    share = passages.count("") / max(1, len(passages))
    counts = told(asked.statuses)
    refuse_unreadable(share, failures, "queries have no passage", counts, cache.path)
    queries = []
    for query, passage in zip(topics.queries, passages, strict=True):
        parts = [query, separator] if is_dense else [query] * repeats
        queries.append(" ".join([*parts, passage]) if passage else query)
    form = {"separator": separator} if is_dense else {"repeats": repeats}
    facts = {
        **form,
        "prompt": {"digest": prompt.identity, **prompt.model_dump(mode="json")},
        "language model": model.facts(),
        "answers": dict(asked.statuses),
        **asked.usage(model),
    }
    price = model if asked.is_metered else None
    costs = [
        cost_row(qid, 1, answer.tokens_in, answer.tokens_out, answer.seconds, price)
        for qid, answer in zip(topics.qids, asked.answers, strict=True)
    ]
    return Expanded(replace(topics, queries=queries), passages, facts, costs)
