"""Language models that are asked to rank: over a server, or in this process.

- ``llm-pointwise``: about each document; the score is the log-odds of yes against no in the
  probabilities of the answer's first token, or the expected grade.
- ``llm-listwise``: windows of passages, which the model orders (RankGPT; Sun et al., EMNLP 2023).
- ``llm-setwise``: the best of a few passages, by heapsort (Zhuang et al., SIGIR 2024).
- ``llm-pairwise``: the better of two, each pair in both orders (Qin et al., Findings of NAACL
  2024): all pairs, or passes of a bubble sort.

An answer that cannot be read never becomes a rank. Pointwise, its document follows those that have
a score, in the old order; a window keeps its order; of a set, the passage that ranked first wins;
of a pair, none wins. Above a stated share of such answers, there is no run.
"""

from collections.abc import Generator, Sequence
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from adducir.core.errors import InputError, MachineError
from adducir.core.recipe import needs, without
from adducir.judges.answers import Talk
from adducir.judges.exchange import RAW, Answer, Request
from adducir.judges.llm import Answerer, LocalModel
from adducir.judges.prompting import Prompt, cut_text, masses, one_of, open_prompt
from adducir.models.gguf import SUFFIX
from adducir.models.sources import ModelSource, known, model_source
from adducir.rerankers.asked import AskedRecipe, Asker, Ordering, Verdict
from adducir.rerankers.causal import Question, pieces_of
from adducir.rerankers.permutations import permutation, windows
from adducir.rerankers.recipe import Length, Windowed

_PASSES = 10
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class PointwiseRecipe(AskedRecipe, Question):
    """A language model's answer about each document.

    With a template (of the recipe, or published for the model's name) the model continues it as it
    stands; otherwise it is asked with a prompt, ``binary`` by default.
    """

    scores: ClassVar[str] = "log-odds of the answer yes, or the expected grade"

    conditions: ClassVar = dict.fromkeys(
        ("template", "instruction", "yes", "no"), without("prompt")
    )

    model: Literal["llm-pointwise"] = "llm-pointwise"
    top: Length = 20
    """How many of the first token's spellings the answer lists."""
    low_mass: float = Field(0.5, ge=0, le=1)
    """Answers with less probability on yes and no (or the grades) are counted."""

    def asker(self, llm: Answerer, folder: Path) -> "PointwiseAsker":
        source = ModelSource(llm.name)
        if isinstance(llm, LocalModel) and not llm.base.endswith(SUFFIX):
            source = model_source(llm.base, folder)
        if self.template or (self.prompt is None and known(source, "rerankers")):
            stated, _ = self.stated(source)
            if not stated.get("no"):
                raise InputError(
                    f"{llm.name} is scored by the logit of one token, of which answers have the "
                    "probability alone.",
                    hint="Set `no`, or use a recipe with `model: yes-no`.",
                )
            return PointwiseAsker(self, llm, None, stated)
        if idle := [key for key in ("instruction", "yes", "no") if getattr(self, key) is not None]:
            raise InputError(
                f"`{idle[0]}` has no effect: no template is published for {llm.name}.",
                hint="Set `template`, too, or a `prompt` with the answers.",
            )
        return PointwiseAsker(self, llm, open_prompt(self.prompt or "binary", Prompt, folder))


class PointwiseAsker(Asker):
    def __init__(
        self,
        recipe: PointwiseRecipe,
        llm: Answerer,
        prompt: Prompt | None,
        stated: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(recipe, llm, prompt)
        self.stated = stated or {}
        if stated:
            self.template = "".join(pieces_of(stated, ""))  # a server adds its own start

    @property
    def statement(self) -> str:
        if self.prompt is not None:
            return super().statement
        tokens = f"{self.stated['yes']!r} against {self.stated['no']!r}"
        return f"asks {self.llm.name} {self.template!r}, scores {tokens}"

    @property
    def identity(self) -> dict[str, Any]:
        return {"template": self.template} if self.prompt is None else super().identity

    def request(self, query: str, text: str, words: int) -> Request:
        top, one = self.recipe.top, {self.llm.answer_key: 1}
        if isinstance(self.prompt, Prompt):
            messages = self.prompt.messages({"query": query}, text, words)
            return Request(messages, {**one, "logprobs": True, "top_logprobs": top})
        before, after = self.template.split("{document}")
        parts = [part.replace("{query}", query) for part in (before, after)]
        return Request(((RAW, cut_text(text, words).join(parts)),), {**one, "logprobs": top})

    def bound(self, query: str, texts: Sequence[str]) -> list[Request]:
        return [self.request(query, text, self.words) for text in texts]

    def talk(self, query: str, texts: Sequence[str]) -> Talk:
        verdict = Verdict(np.full(len(texts), np.nan))
        verdict.facts["cut texts"] = sum(len(text.split()) > self.words for text in texts)
        builders = [partial(self.request, query, text) for text in texts]
        answers = yield from self.replies(builders, verdict)
        for number, answer in enumerate(answers):
            value, status = None, str(answer.status)
            if answer.status in ("ok", "cut", "empty"):
                value = self.score(answer, verdict)
                status = "ok" if value is not None else "unparsed"
            if value is not None:
                verdict.scores[number] = value
            verdict.answers.append((answer, status))
        return verdict

    def score(self, answer: Answer, verdict: Verdict) -> float | None:
        """The score that a first token's probabilities give; None if none is of an answer."""
        if not answer.top:
            raise MachineError(
                f"{self.llm.name} answers without the probabilities of its first token.",
                hint="Use a server that gives `top_logprobs`, a model in this process, or "
                "`model: llm-listwise`.",
            )
        if isinstance(self.prompt, Prompt):
            grades = self.prompt.answers
            shares = masses(grades, answer.top)
        else:
            grades = {self.stated["no"]: 0, self.stated["yes"]: 1}
            shares = {
                grade: exp(answer.top[token])
                for token, grade in grades.items()
                if token in answer.top
            }
        mass = sum(shares.values())
        verdict.facts["low mass"] += mass < self.recipe.low_mass
        if not mass:
            return None
        values = sorted(set(grades.values()))
        if len(values) > 2:
            return sum(grade * share for grade, share in shares.items()) / mass
        # A spelling that is not listed is at most as probable as the last one that is.
        listed = [exp(value) for value in answer.top.values()]
        rest = max(min([*listed, 1 - sum(listed)]), 1e-12)
        verdict.facts["one answer not listed"] += len(shares) < 2
        no, yes = (shares.get(grade, rest) for grade in values)
        return log(yes) - log(no)


class ListwiseAsker(Asker):
    @property
    def statement(self) -> str:
        recipe = self.recipe
        return f"{super().statement}; windows of {recipe.window}, {recipe.stride} apart"

    def request(self, query: str, texts: Sequence[str], words: int) -> Request:
        labels = [str(number) for number in range(1, len(texts) + 1)]
        longest = {self.llm.answer_key: self.recipe.answer_length}
        return Request(self.prompt.messages(query, texts, labels, words), longest)

    def _spans(self, count: int) -> list[tuple[int, int]]:
        spans = windows(count, self.recipe.window, self.recipe.stride)
        return [(first, end) for first, end in spans if end - first > 1] * self.recipe.passes

    def bound(self, query: str, texts: Sequence[str]) -> list[Request]:
        longest = sorted(texts, key=len, reverse=True)
        spans = self._spans(len(texts))
        return [self.request(query, longest[: end - first], self.words) for first, end in spans]

    def orders(self, query: str, texts: Sequence[str], verdict: Verdict) -> Ordering:
        order, seed = np.arange(len(texts)), self.recipe.shuffle
        draw = None if seed is None else np.random.default_rng([seed, *query.encode()])
        for first, end in self._spans(len(texts)):
            inside = order[first:end].copy()
            shown = inside if draw is None else draw.permutation(inside)
            build = partial(self.request, query, [texts[number] for number in shown])
            (answer,) = yield from self.replies([build], verdict)
            if answer.status not in ("ok", "cut"):
                verdict.answers.append((answer, answer.status))
                continue
            read = permutation(answer.text, len(shown))
            verdict.facts.update(read.faults)
            status = "repaired" if read.faults else "ok"
            verdict.answers.append((answer, "unparsed" if read.order is None else status))
            if read.order is not None:
                verdict.facts["unchanged windows"] += bool((np.diff(read.order) == 1).all())
                order[first:end] = shown[read.order]
        return order


class ListwiseRecipe(AskedRecipe, Windowed):
    """A language model that orders windows of passages."""

    asks: ClassVar = ListwiseAsker

    model: Literal["llm-listwise"] = "llm-listwise"
    prompt: str | None = "listwise"
    passes: Length = 1
    """How often the windows slide over all."""
    shuffle: int | None = None
    """A seed: passages of a window are shown in random order, so that an answer which repeats the
    order says nothing."""
    answer_length: Length = Field(default_factory=lambda data: 7 * data.get("window", 20))
    """The longest answer, in tokens; by default 7 per passage."""


class Choosing(AskedRecipe):
    """A language model that chooses the best of a few passages."""

    is_listwise: ClassVar[bool] = True
    scores: ClassVar[str] = "1 / rank"

    prompt: str | None = "choice"
    answer_length: Length = 8
    """The longest answer, in tokens."""


class Chooser(Asker):
    def request(self, query: str, texts: Sequence[str], words: int) -> Request:
        labels = _LETTERS[: len(texts)]
        longest = {self.llm.answer_key: self.recipe.answer_length}
        parameters = longest | one_of(labels, self.llm)
        return Request(self.prompt.messages(query, texts, labels, words), parameters)

    def chosen(
        self, query: str, sets: Sequence[Sequence[str]], verdict: Verdict
    ) -> Generator[Sequence[Request], Sequence[Answer], list[int | None]]:
        """The place of the best text of each set; None without a readable answer."""
        builders = [partial(self.request, query, texts) for texts in sets]
        answers = yield from self.replies(builders, verdict)
        places = list[int | None]()
        for answer, texts in zip(answers, sets, strict=True):
            is_answer = answer.status in ("ok", "cut")
            # "B", "[B]", "Passage B" and "B." name a passage; a sentence does not.
            bare = answer.text.strip().strip('"').removeprefix("Passage ").strip("[]().: ")
            label = bare if is_answer else ""
            place = _LETTERS[: len(texts)].find(label) if len(label) == 1 else -1
            status = "ok" if place >= 0 else "unparsed" if is_answer else answer.status
            verdict.answers.append((answer, status))
            places.append(place if place >= 0 else None)
        return places


class SetwiseAsker(Chooser):
    def bound(self, query: str, texts: Sequence[str]) -> list[Request]:
        size, count = self.recipe.children, len(texts)
        longest = sorted(texts, key=len, reverse=True)[: size + 1]
        depth, node = 0, count - 1  # of the last node of the heap
        while node > 0:
            depth, node = depth + 1, (node - 1) // size
        sunk = (count - 2) // size + 1 + min(self.recipe.best, count)
        return [self.request(query, longest, self.words)] * (sunk * depth)

    def orders(self, query: str, texts: Sequence[str], verdict: Verdict) -> Ordering:
        heap, ranked, size = list(range(len(texts))), list[int](), self.recipe.children
        for root in range((len(heap) - 2) // size, -1, -1):
            yield from self._sift(query, texts, heap, root, verdict)
        while heap and len(ranked) < self.recipe.best:
            ranked.append(heap[0])
            last = heap.pop()
            if heap:
                heap[0] = last
                yield from self._sift(query, texts, heap, 0, verdict)
        return np.array([*ranked, *sorted(heap)], dtype=np.int64)

    def _sift(
        self, query: str, texts: Sequence[str], heap: list[int], root: int, verdict: Verdict
    ) -> Talk:
        """Let a node sink until it is better than its children."""
        size = self.recipe.children
        while (first := root * size + 1) < len(heap):
            places = [root, *range(first, min(first + size, len(heap)))]
            some = [texts[heap[place]] for place in places]
            (choice,) = yield from self.chosen(query, [some], verdict)
            best = min(places, key=heap.__getitem__) if choice is None else places[choice]
            if best == root:
                return
            heap[root], heap[best] = heap[best], heap[root]
            root = best


class SetwiseRecipe(Choosing):
    """A language model that chooses the best of a few passages, in a heapsort."""

    asks: ClassVar = SetwiseAsker

    model: Literal["llm-setwise"] = "llm-setwise"
    children: int = Field(3, ge=1, le=25)
    """Of a node of the heap: each question is about one passage more."""
    best: Length = 10
    """How many passages are ranked; the others keep their order below."""


class PairwiseAsker(Chooser):
    def _pairs(self, count: int) -> list[tuple[int, int]]:
        if self.recipe.method == "all-pairs":
            return [(a, b) for b in range(count) for a in range(b)]
        passes = range(min(self.recipe.passes or _PASSES, count - 1))
        return [(a, a + 1) for done in passes for a in range(count - 2, done - 1, -1)]

    def bound(self, query: str, texts: Sequence[str]) -> list[Request]:
        longest = sorted(texts, key=len, reverse=True)[:2]
        return [self.request(query, longest, self.words)] * (2 * len(self._pairs(len(texts))))

    def orders(self, query: str, texts: Sequence[str], verdict: Verdict) -> Ordering:
        order, pairs = np.arange(len(texts)), self._pairs(len(texts))
        if self.recipe.method == "sliding":
            for a, b in pairs:
                (wins,) = yield from self._wins(query, texts, [(order[a], order[b])], verdict)
                if wins == 0:
                    order[[a, b]] = order[[b, a]]
            return order
        points = np.zeros(len(texts))
        wins_of = yield from self._wins(query, texts, pairs, verdict)
        for (a, b), wins in zip(pairs, wins_of, strict=True):
            points[a] += wins
            points[b] += 1 - wins
        return np.argsort(-points, kind="stable").astype(np.int64)

    def _wins(
        self, query: str, texts: Sequence[str], pairs: Sequence[tuple[int, int]], verdict: Verdict
    ) -> Generator[Sequence[Request], Sequence[Answer], list[float]]:
        """For each pair, 1 if its first wins in both orders, 0 if its second does, else a half."""
        sets = [[texts[one], texts[other]] for a, b in pairs for one, other in ((a, b), (b, a))]
        places = yield from self.chosen(query, sets, verdict)
        wins = list[float]()
        for first, second in zip(places[::2], places[1::2], strict=True):
            is_clear = first is not None and second is not None and first != second
            verdict.facts["pairs with two answers"] += first is not None and first == second
            wins.append(float(first == 0) if is_clear else 0.5)
        return wins


class PairwiseRecipe(Choosing):
    """A language model that chooses the better of two passages, shown in both orders."""

    asks: ClassVar = PairwiseAsker

    model: Literal["llm-pairwise"] = "llm-pairwise"
    method: Literal["all-pairs", "sliding"] = "all-pairs"
    """`all-pairs`: a point for each pair won, half a point for one in which the two answers differ.
    `sliding`: passes from the bottom up, in which a passage that wins both times rises."""
    passes: Annotated[Length | None, needs(method="sliding")] = None
    """Passes of `sliding`, by default 10: as many passages reach their place at the top."""
