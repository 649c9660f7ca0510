"""Rerankers whose scores are a language model's answers: what all of them share.

An answer that cannot be read never becomes a rank: each kind states what follows. Above a stated
share of such answers, there is no run. Answers are kept in the cache of ``adducir judge``.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Needs
from adducir.core.texts import counted
from adducir.judges.answers import Answering, Asked, Talk, converse, fitted, plan
from adducir.judges.costs import cost_row
from adducir.judges.exchange import EMPTY, Answer, Request, refuse_unreadable, told
from adducir.judges.llm import Answerer, LocalModel, open_llm
from adducir.judges.prompting import ListPrompt, Prompt, open_prompt, refuse_empty_queries
from adducir.models.running import Running
from adducir.models.sources import ModelSource
from adducir.rerankers.pairs import Pair, Pointwise, Scores, by_query
from adducir.rerankers.permutations import Order, rank_scores
from adducir.rerankers.recipe import Length, Reranker, RerankerRecipe

_WORDS = 300
_READ = ("ok", "repaired")
_DEFAULT = Answering()
_ELSEWHERE = "on a language model that is asked; its own file may have it"
Replies = Generator[Sequence[Request], Sequence[Answer], list[Answer]]
Ordering = Generator[Sequence[Request], Sequence[Answer], Order]


@dataclass
class Verdict:
    """What answers come to.

    Attributes:
        scores: (n,) of a topic's texts; NaN where no answer could be read.
        answers: Each with how it ended: ok, repaired, unparsed, refused, ...
        facts: What was repaired, cut, or is doubtful, and how often.
    """

    scores: Scores = field(default_factory=lambda: np.zeros(0))
    answers: list[tuple[Answer, str]] = field(default_factory=list)
    facts: Counter[str] = field(default_factory=Counter)

    @property
    def statuses(self) -> Counter[str]:
        return Counter(status for _, status in self.answers)

    @property
    def unreadable(self) -> int:
        """Answers that say nothing."""
        return sum(status not in _READ for _, status in self.answers)

    def __str__(self) -> str:
        text = f"{counted(len(self.answers), 'answer')}: {told(self.statuses)}"
        return f"{text} ({facts})" if (facts := told(self.facts)) else text


class AskedRecipe(RerankerRecipe):
    """The keys of every language model that is asked to rank."""

    conditions: ClassVar = {
        "tokenizer": Needs(_ELSEWHERE, lambda _: False),
        "precision": Needs(_ELSEWHERE, lambda recipe: recipe.precision == "float32"),
        "batch_tokens": Needs(_ELSEWHERE, lambda _: False),
    }

    asks: ClassVar["type[Asker]"]

    base: str
    """The language model: its file, such as llm/qwen.yaml, or the folder or GGUF file with its
    weights."""
    prompt: str | None = None
    """What is asked: a bundled prompt's name, or a file."""
    words: Length | None = None
    """The longest text, in words; by default the prompt's."""
    failures: float = Field(0.01, ge=0, le=1)
    """The share of answers that may be unreadable; above it there is no run."""

    def load(self, source: ModelSource) -> Pointwise:
        raise NotImplementedError  # it is asked, not loaded

    def opened(self, name: str, folder: Path, running: Running) -> Reranker:
        return AskedReranker(name, self, ModelSource(self.base), running, folder)

    def asker(self, llm: Answerer, folder: Path) -> "Asker":
        """Asks a language model; relative paths start in ``folder``."""
        usual: str = type(self).model_fields["prompt"].default
        return self.asks(self, llm, open_prompt(self.prompt or usual, ListPrompt, folder))


class Asker:
    """Ranks a topic's texts by asking; kinds define ``orders`` or ``talk``, and ``bound``."""

    prompt: Any

    def __init__(self, recipe: Any, llm: Answerer, prompt: Prompt | ListPrompt | None) -> None:
        self.recipe, self.llm, self.prompt = recipe, llm, prompt
        self.words: int = recipe.words or (prompt.words if prompt else _WORDS)

    @property
    def statement(self) -> str:
        name = self.recipe.prompt or "binary"  # the default of the kind without another
        version = f", version {self.prompt.version}" if self.prompt else ""
        return f"asks {self.llm.name} with the prompt {name}{version}; {self.words} words of a text"

    @property
    def identity(self) -> dict[str, Any]:
        """What decides its answers besides the recipe and the model."""
        return {"prompt": self.prompt.identity} if self.prompt else {}

    def talk(self, query: str, texts: Sequence[str]) -> Talk:
        verdict = Verdict()
        verdict.facts["cut texts"] = sum(len(text.split()) > self.words for text in texts)
        order = np.arange(len(texts))
        if len(texts) > 1:
            order = yield from self.orders(query, texts, verdict)
        verdict.scores = rank_scores(order)
        return verdict

    def orders(self, query: str, texts: Sequence[str], verdict: Verdict) -> Ordering:
        """The numbers of texts, best first."""
        raise NotImplementedError

    def bound(self, query: str, texts: Sequence[str]) -> list[Request]:
        """As many and as long requests as a topic may take."""
        raise NotImplementedError

    def replies(self, builders: Sequence[Callable[[int], Request]], verdict: Verdict) -> Replies:
        pairs = yield from fitted(builders, self.words, verdict.facts)
        return [answer for answer, _ in pairs]


@dataclass(frozen=True)
class AskedReranker(Reranker):
    """A reranker that asks a language model.

    Attributes:
        folder: Where its recipe's relative paths start.
        answering: The cache, and whether to use it alone.
    """

    recipe: AskedRecipe
    folder: Path = Path()
    answering: Answering = _DEFAULT

    @cached_property
    def llm(self) -> Answerer:
        return open_llm(self.recipe.base, self.folder)

    @cached_property
    def asker(self) -> Asker:
        return self.recipe.asker(self.llm, self.folder)

    @cached_property
    def identity(self) -> dict[str, Any]:
        whole = {"parameters": self.llm.parameters, "constrains": self.llm.constrains}
        return {
            "weights": f"answers:{fingerprint({**self.llm.identity, **whole})}",
            "settings": self.recipe.fingerprint_inputs,
            **self.asker.identity,
            "read": self.statement,
        }

    def using_threads(self) -> AbstractContextManager[None]:
        is_here = isinstance(self.llm, LocalModel)  # a server needs no torch
        return super().using_threads() if is_here else nullcontext()

    def check(self) -> None:
        self.llm.check()
        _ = self.asker

    @property
    def statement(self) -> str:
        return self.asker.statement

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """(n,) scores of pairs; those of a query are one topic."""
        numbers = by_query(pairs)
        topics = [(query, [pairs[n][1] for n in some]) for query, some in numbers.items()]
        scores = np.zeros(len(pairs))
        for verdict, some in zip(self.verdicts(topics).verdicts, numbers.values(), strict=True):
            scores[some] = verdict.scores
        return scores

    def verdicts(
        self, topics: Sequence[tuple[str, Sequence[str]]], beside: Path | None = None
    ) -> "Verdicts":
        """Ask about the texts of queries.

        Args:
            topics: Queries with their texts, best first.
            beside: The output beside which answers are kept, unless a cache is stated.

        Raises:
            IncompleteError: More answers than ``failures`` could not be read.
        """
        began = time.perf_counter()
        talks = [self._talk(query, texts) for query, texts in topics]
        with closing(self.answering.opened(self.llm, beside)) as cache:
            verdicts, record = converse(self.llm, talks, cache, transport=self.answering.transport)
        outcome = Verdicts(verdicts, record, time.perf_counter() - began)
        share = outcome.whole.unreadable / max(1, len(outcome.whole.answers))
        more, most = ", or raise `failures` in the recipe", self.recipe.failures
        counts = str(outcome.whole)
        refuse_unreadable(share, most, "answers cannot be read", counts, cache.path, more)
        return outcome

    def plan(self, topics: Sequence[tuple[str, Sequence[str]]], beside: Path | None = None) -> str:
        """What asking would take, in a sentence, before anything is sent."""
        talks = [self._talk(query, texts) for query, texts in topics]
        bounds = [self.asker.bound(query, [*filter(str.strip, texts)]) for query, texts in topics]
        with closing(replace(self.answering, dry=True).opened(self.llm, beside)) as cache:
            return plan(self.llm, talks, cache, bounds)

    def _talk(self, query: str, texts: Sequence[str]) -> Talk:
        """A topic's talk about the texts that say something; the others follow in their order."""
        refuse_empty_queries({"": query})
        is_asked = np.array([bool(text.strip()) for text in texts], dtype=bool)
        verdict = yield from self.asker.talk(query, [*filter(str.strip, texts)])
        verdict.facts[EMPTY] = len(texts) - int(is_asked.sum())
        scores = np.full(len(texts), np.nan)
        scores[is_asked] = verdict.scores
        absent = np.isnan(scores)
        places = np.arange(1, absent.sum() + 1)
        if self.recipe.is_listwise:
            scores[absent] = 1.0 / (len(texts) - absent.sum() + places)
        else:
            scores[absent] = (0.0 if absent.all() else scores[~absent].min()) - places
        verdict.scores = scores
        return verdict


@dataclass
class Verdicts:
    """What all topics' answers come to."""

    verdicts: list[Verdict]
    record: Asked
    seconds: float

    @cached_property
    def whole(self) -> Verdict:
        answers = [answer for verdict in self.verdicts for answer in verdict.answers]
        facts = sum((verdict.facts for verdict in self.verdicts), Counter[str]())
        return Verdict(answers=answers, facts=facts)

    def costs(self, qids: Sequence[str], llm: Answerer) -> list[dict[str, Any]]:
        """What each topic took."""
        price = llm if self.record.is_metered else None
        return [
            cost_row(qid, [answer for answer, _ in verdict.answers], price)
            for qid, verdict in zip(qids, self.verdicts, strict=True)
        ]

    def settings(self, llm: Answerer) -> dict[str, Any]:
        """For a run's metadata."""
        whole = self.whole
        doubts = {"of these": dict(whole.facts)} if whole.facts else {}
        answers = {"answers": dict(whole.statuses), **doubts}
        return {"language model": llm.facts(), **answers, **self.record.usage(llm)}
