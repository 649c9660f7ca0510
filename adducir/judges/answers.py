"""Answers of a language model: asked for once, kept for good.

The cache is one SQLite file. Its key is the digest of everything that decides an answer: the
messages, the parameters sent, the model's name and revision, and the number of the repeat. The
first answer is the answer, since temperature 0 is not deterministic across concurrency. What the
server says that it is stands in the value, as do the raw text and the log-probabilities; refusals
and too long prompts are answers, faults of the network are not.

Each request ends in a status: see :mod:`adducir.judges.exchange`.
"""

import json
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core import setting
from adducir.core.errors import ArtifactError, MachineError, UsageError, worded
from adducir.core.progress import progress
from adducir.core.texts import counted, listed
from adducir.judges.exchange import FAILED, SHORTENED, Answer, Request, canonical_json

if TYPE_CHECKING:
    from adducir.judges.llm import Answerer

CACHE = "answers.sqlite"
_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT, answer TEXT)"
_LEAST_WORDS = 16
_ROUNDED = 0.01  # how far above 0 rounding may leave a log-probability
_shared: ContextVar[tuple[Path, Path] | None] = ContextVar("shared answers", default=None)


def using_shared(study: Path, cache: Path) -> AbstractContextManager[Any]:
    """Inside the block, answers come from files in ``study`` alone, or else from ``cache``."""
    return setting(_shared, (study.resolve(), cache))


def spellings(listed: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Log-probabilities by spelling; tokens that are spelled alike add up, impossible ones do not.

    Raises:
        ValueError: A value is not a log-probability.
    """
    top = dict[str, float]()
    for text, value in listed:
        if value is None or exp(min(value, 1.0)) == 0.0:  # servers write null, -9999 or -inf
            continue
        if not value <= _ROUNDED:
            raise ValueError(f"{value} is not a log-probability")
        top[text] = log(exp(top[text]) + exp(value)) if text in top else float(value)
    return top


class AnswerCache:
    """Answers by key in one SQLite file.

    Args:
        path: The file.
        writes: Whether answers are added; otherwise nothing is written, not even a missing file.
    """

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self.path, self.writes = path, writes
        if writes:
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._used():
            if not writes and path.exists():
                # Immutable: otherwise SQLite writes its index of the log beside it. A log that is
                # there holds the last answers of a process that runs, or was killed.
                mode = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
                uri = f"{path.absolute().as_uri()}?{mode}"
                self._database = sqlite3.connect(uri, timeout=60, uri=True)
                self._database.execute("SELECT 1 FROM answers LIMIT 1")
                return
            self._database = sqlite3.connect(path if writes else ":memory:", timeout=60)
            self._database.execute("PRAGMA journal_mode=WAL")
            # Of a killed process everything is kept; a power cut may lose the last answers.
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(_SCHEMA)
            self._database.commit()

    @contextmanager
    def _used(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise ArtifactError(
                f"this is not a cache of answers, or cannot be used: {error}.",
                path=self.path,
                hint="Move it away; answers are asked for again.",
            ) from error

    def find(self, keys: Sequence[str]) -> dict[str, Answer]:
        query = "SELECT key, answer FROM answers WHERE key = ?"
        with self._used():
            rows = [row for key in keys for row in self._database.execute(query, (key,))]
        return {key: Answer(**json.loads(text)) for key, text in rows}

    def add(self, key: str, body: Mapping[str, Any], answer: Answer) -> None:
        """Keep an answer; one that is there already stays."""
        row = (key, canonical_json(body), canonical_json(asdict(answer)))
        with self._used(), self._database:
            self._database.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", row)

    def models(self) -> list[str]:
        """The models whose answers it has, by the names they were asked under."""
        query = "SELECT DISTINCT json_extract(request, '$.model') FROM answers ORDER BY 1"
        with self._used():
            return [name for (name,) in self._database.execute(query)]

    def copy(self, target: Path) -> None:
        with self._used(), closing(sqlite3.connect(target)) as database:
            self._database.backup(database)

    def close(self) -> None:
        self._database.close()


def answers_copy(path: Path, copy: Path) -> Path:
    """A cache as one file: the last answers of a killed process, too, which its log holds."""
    if not Path(f"{path}-wal").exists():
        return path
    with closing(AnswerCache(path, writes=False)) as cache:
        cache.copy(copy)
    return copy


@dataclass(frozen=True)
class Answering:
    """Where answers are kept, and whether to use these alone.

    Attributes:
        cache: The file; by default the language model's, or ``answers.sqlite`` beside the output.
        offline: Whether to use the cache alone.
        transport: An httpx2 transport, for tests.
        dry: Whether nobody will be asked, because it is only planned.
    """

    cache: Path | None = None
    offline: bool = False
    transport: Any = None
    dry: bool = False

    def opened(self, model: "Answerer", beside: Path | None) -> AnswerCache:
        path = self.cache or model.cache_path
        if (shared := _shared.get()) is not None:
            study, cache = shared
            is_inside = path is not None and path.resolve().is_relative_to(study)
            return AnswerCache(path if path and is_inside else cache, writes=False)
        beside_it = Path(CACHE) if beside is None else beside.with_name(CACHE)
        writes = not (self.dry or self.offline or model.offline)
        return AnswerCache(path or beside_it, writes=writes)


@dataclass
class Asked:
    """What asking brought, and took.

    Attributes:
        path: The cache.
        answers: To different requests.
        cached: How many different requests were in the cache.
        sent: How many were sent now.
        tokens: Sent and received now.
    """

    path: Path
    answers: list[Answer] = field(default_factory=list)
    cached: int = 0
    sent: int = 0
    tokens: int = 0

    @property
    def statuses(self) -> Counter[str]:
        return Counter(answer.status for answer in self.answers)

    @property
    def is_metered(self) -> bool:
        """Whether the server said how many tokens its answers took."""
        return all(answer.tokens_in for answer in self.answers if answer.text)

    def usage(self, model: "Answerer") -> dict[str, Any]:
        """For metadata: what the answers took when they were given, and by whom and when."""
        tokens_in = sum(answer.tokens_in for answer in self.answers)
        tokens_out = sum(answer.tokens_out for answer in self.answers)
        dates = [answer.date for answer in self.answers if answer.date]
        cost = model.cost(tokens_in, tokens_out) if self.is_metered else None
        return {
            "says it is": dict(Counter(answer.model for answer in self.answers if answer.model)),
            "requests": len(self.answers),
            "cached": self.cached,
            "tokens": {"in": tokens_in, "out": tokens_out},
            **({} if cost is None else {"cost": cost}),
            "first answer": min(dates, default=""),
            "last answer": max(dates, default=""),
        }


Talk = Generator[Sequence[Request], Sequence[Answer], Any]
"""Yields requests, is sent their answers, may ask again, and returns what they come to."""


class Conversation:
    """Talks that go on as their answers come, from the cache or from whoever answers.

    Attributes:
        waiting: Requests that nobody has been asked yet, with their keys.
        results: What each talk returned.
        record: What was asked so far.
    """

    def __init__(self, model: "Answerer", talks: Sequence[Talk], cache: AnswerCache) -> None:
        self.model, self.cache, self._talks = model, cache, talks
        self.waiting = deque[tuple[str, Request]]()
        self.results: list[Any] = [None] * len(talks)
        self.record = Asked(cache.path)
        self._made = [0] * len(talks)  # requests, by talk
        self._answers: dict[str, Answer] = {}
        self._needed: dict[int, list[str]] = {}  # keys, by talk that waits
        self._missing = [0] * len(talks)  # of these without an answer
        self._asking = dict[str, list[int]]()  # talks, by key
        for number in range(len(talks)):
            self._advance(number, None)

    def resolve(self, key: str, request: Request, answer: Answer) -> None:
        """Keep an answer, and let the talks that waited for it go on."""
        if answer.status != FAILED:
            self.cache.add(key, request.body(self.model), answer)
        record, limits = self.record, self.model.limits
        if limits.tokens is not None and answer.text and not answer.tokens_in:
            raise MachineError(
                f"{self.model.name} does not say how many tokens it takes (`usage`), so that "
                "`limits.tokens` cannot be kept.",
                hint="Limit the `requests` instead.",
            )
        record.sent += 1
        record.tokens += answer.tokens_in + answer.tokens_out
        self._answers[key] = answer
        progress().advance(1)
        for number in self._asking.pop(key):
            self._missing[number] -= 1
            if not self._missing[number]:
                keys = self._needed.pop(number)
                self._advance(number, [self._answers[key] for key in keys])
        for name, most, count in (
            ("tokens", limits.tokens, record.tokens),
            ("requests", limits.requests, record.sent + len(self.waiting)),
        ):
            if most is not None and count > most:
                raise MachineError(
                    f"`limits.{name}` of {self.model.name} is reached: {most:,}.",
                    hint="What was answered is kept. Raise the limit, and run it again.",
                )

    def stalled(self) -> dict[int, int]:
        """Talks that wait for an answer, and how many requests they have made."""
        return {number: self._made[number] for number in self._needed}

    def finished(self) -> Asked:
        self.record.answers = [*self._answers.values()]
        return self.record

    def _advance(self, number: int, answers: Sequence[Answer] | None) -> None:
        """Let a talk go on as far as the answers that are there allow."""
        talk = self._talks[number]
        while True:
            try:
                requests = next(talk) if answers is None else talk.send(answers)
            except StopIteration as end:
                self.results[number] = end.value
                return
            self._made[number] += len(requests)
            keys = [request.key(self.model) for request in requests]
            by_key = dict(zip(keys, requests, strict=True))
            stored = self.cache.find([key for key in by_key if key not in self._answers])
            self.record.cached += len(stored)
            self._answers |= stored
            missing = [key for key in by_key if key not in self._answers]
            if missing:
                break
            answers = [self._answers[key] for key in keys]
        self._needed[number], self._missing[number] = keys, len(missing)
        for key in missing:
            if key not in self._asking:
                self.waiting.append((key, by_key[key]))
            self._asking.setdefault(key, []).append(number)


def converse(
    model: "Answerer", talks: Sequence[Talk], cache: AnswerCache, *, transport: Any = None
) -> tuple[list[Any], Asked]:
    """Hold talks with a model, all at the same time, and return what each came to.

    Answers are kept as they come, so that a killed run goes on where it stopped. Nobody is asked if
    none may be written.

    Raises:
        UsageError: An answer is not in a read-only cache; or the server refuses a parameter.
        MachineError: The key is missing, or wrong; or a limit is reached.
    """
    conversation = Conversation(model, talks, cache)
    count = len(conversation.waiting)
    if count and not cache.writes:
        names = f" The cache has answers of {listed(cache.models()) or 'nobody'}."
        raise UsageError(
            f"{counted(count, 'answer')} of {count + conversation.record.cached:,} by {model.name} "
            f"{'is' if count == 1 else 'are'} not in {cache.path}.",
            hint=f"Ask for them without {worded('offline', 'true')}, or use the "
            f"cache that has them.{names}",
        )
    if model.limits.requests is not None and count > model.limits.requests:
        raise UsageError(
            f"{count:,} requests are more than `limits.requests` of {model.name} allows, "
            f"{model.limits.requests:,}.",
            hint="Raise the limit, or ask for less.",
        )
    if count:
        with progress().doing("asking", None, "requests"):
            model.answer(conversation, transport)
    record = conversation.finished()
    faults = Counter(answer.message for answer in record.answers if answer.status == FAILED)
    for message, _ in faults.most_common(1):
        failed = counted(faults.total(), "request")
        progress().note(f"{failed} to {model.name} failed; most often: {message}")
    if not record.is_metered:
        progress().note(f"{model.name} does not say how many tokens answers take: they count 0")
    return conversation.results, record


def one_round(requests: Sequence[Request]) -> Talk:
    """A talk of requests that do not depend on each other's answers, which it returns."""
    return (yield requests)


def fitted(
    builders: Sequence[Callable[[int], Request]], words: int, shortened: Counter[str]
) -> Generator[Sequence[Request], Sequence[Answer], list[tuple[Answer, int]]]:
    """Ask with texts of at most so many words; where a prompt does not fit, with half as many.

    Args:
        builders: Each makes a request of texts of at most a number of words.
        words: Where to begin.
        shortened: Counts the prompts that were.

    Returns:
        The answers, with the words that were allowed.
    """
    answers: dict[int, tuple[Answer, int]] = {}
    todo, longest = list(range(len(builders))), words
    while todo:
        replies = yield [builders[number](words) for number in todo]
        answers |= {number: (reply, words) for number, reply in zip(todo, replies, strict=True)}
        words //= 2
        todo = [number for number in todo if answers[number][0].status == "too_long"]
        if words < _LEAST_WORDS:
            break
    if count := sum(used < longest for _, used in answers.values()):
        shortened[SHORTENED] += count
    return [answers[number] for number in range(len(builders))]


def plan(
    model: "Answerer",
    talks: Sequence[Talk],
    cache: AnswerCache,
    bounds: Sequence[Sequence[Request]] = (),
) -> str:
    """What asking would take, in a sentence, before anything is sent.

    Talks are held as far as the cache goes. Where later requests depend on answers, ``bounds`` has,
    for each talk, as many and as long requests as it may take.
    """
    conversation = Conversation(model, talks, cache)
    missing = [request for _, request in conversation.waiting]
    for number, made in conversation.stalled().items() if bounds else ():
        missing += bounds[number][made:]
    # At least two characters a token in English; other scripts may take one or more a character.
    tokens_in = sum(request.characters for request in missing) // 2
    tokens_out = sum(model.longest_answer(request.parameters) for request in missing)
    cost = model.cost(tokens_in, tokens_out)
    sent = counted(len(missing), "request")
    priced = "" if cost is None else f", {cost:,.2f} by the stated price"
    return (
        f"{sent} to {model.name}, {conversation.record.cached:,} cached; at most about "
        f"{tokens_in:,} tokens in and {tokens_out:,} out{priced}"
    )
