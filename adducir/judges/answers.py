"""Answers of a language model: asked for once, kept for good.

The cache is one SQLite file. Its key is the digest of everything that decides an answer: the
messages, the parameters sent, the model's name and revision, and the number of the repeat. The
first answer is the answer, since temperature 0 is not deterministic across concurrency. What the
server says that it is stands in the value, as do the raw text and the log-probabilities; refusals
and too long prompts are answers, faults of the network are not.

Each request ends in a status: ``ok``, ``refused`` (by a filter), ``too_long`` (the prompt does not
fit), ``cut`` (the answer ended at its longest), ``empty`` or ``failed`` (no answer after the last
try).
"""

import asyncio
import hashlib
import json
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from adducir.core.errors import ArtifactError, MachineError, UsageError
from adducir.core.packages import required
from adducir.core.progress import progress
from adducir.core.texts import counted, shortened
from adducir.judges.llm import LanguageModel

Status = Literal["ok", "refused", "too_long", "cut", "empty", "failed"]
FAILED: Status = "failed"
_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT, answer TEXT)"
_LONGEST_WAIT = 60.0
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window)|maximum.{0,20}tokens|too (?:long|many tokens)", re.I
)


@dataclass(frozen=True)
class Request:
    """What is asked: messages, and parameters that override the model's.

    Attributes:
        messages: (role, text) in order.
        parameters: Such as ``logprobs`` or ``response_format``.
        repeat: The number of the repeat, from 0.
    """

    messages: tuple[tuple[str, str], ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0

    def body(self, model: LanguageModel) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in self.messages]
        return {"model": model.name, "messages": messages, **model.parameters, **self.parameters}

    def key(self, model: LanguageModel) -> str:
        whole = {**self.body(model), "model": model.identity, "repeat": self.repeat}
        return hashlib.sha256(_canonical(whole).encode()).hexdigest()

    @property
    def characters(self) -> int:
        return sum(len(text) for _, text in self.messages)


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        status: See the module.
        text: The answer, without any reasoning.
        reasoning: What the model says it thought; never parsed.
        top: The first token's most probable spellings and their log-probabilities, if asked for.
        tokens_in: Tokens of the prompt, as the server counted.
        tokens_out: Tokens of the answer.
        model: What the server says it is, with its fingerprint.
        message: Why there is no answer.
        date: When, in UTC.
    """

    status: Status
    text: str = ""
    reasoning: str = ""
    top: Mapping[str, float] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    message: str = ""
    date: str = ""


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class AnswerCache:
    """Answers by key in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._used():
            self._database = sqlite3.connect(path, timeout=60)
            self._database.execute("PRAGMA journal_mode=WAL")
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
        answers: dict[str, Answer] = {}
        query = "SELECT answer FROM answers WHERE key = ?"
        with self._used():
            for key in keys:
                for (text,) in self._database.execute(query, (key,)):
                    answers[key] = Answer(**json.loads(text))
        return answers

    def add(self, key: str, body: Mapping[str, Any], answer: Answer) -> None:
        """Keep an answer; one that is there already stays."""
        row = (key, _canonical(body), _canonical(asdict(answer)))
        with self._used(), self._database:
            self._database.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", row)

    def close(self) -> None:
        self._database.close()


@dataclass
class Asked:
    """What asking brought: an answer per request, in order, and what it took.

    Attributes:
        answers: In the order of the requests.
        cached: How many were in the cache.
        tokens_in: Tokens sent now.
        tokens_out: Tokens received now.
    """

    answers: list[Answer]
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def statuses(self) -> Counter[str]:
        return Counter(answer.status for answer in self.answers)


def plan(model: LanguageModel, requests: Sequence[Request], cache: AnswerCache) -> str:
    """What asking would take, in a sentence, before anything is sent."""
    keys = dict.fromkeys(request.key(model) for request in requests)
    cached = cache.find(list(keys))
    missing = {key: request for request in requests if (key := request.key(model)) not in cached}
    # At least two characters a token in English; other scripts may take one or more a character.
    tokens_in = sum(request.characters for request in missing.values()) // 2
    tokens_out = len(missing) * (model.max_tokens or 0)
    cost = model.cost(tokens_in, tokens_out)
    sent = counted(len(missing), "request")
    priced = "" if cost is None else f", {cost:,.2f} by the stated price"
    return (
        f"{sent} to {model.name}, {len(keys) - len(missing):,} cached; at most about "
        f"{tokens_in:,} tokens in and {tokens_out:,} out{priced}"
    )


def ask(
    model: LanguageModel,
    requests: Sequence[Request],
    cache: AnswerCache,
    *,
    offline: bool = False,
    transport: Any = None,
) -> Asked:
    """Answer requests from the cache, and by asking the model for the others.

    Answers are kept as they come, so that a killed run goes on where it stopped.

    Args:
        model: Whom to ask.
        requests: What to ask.
        cache: Where answers are kept.
        offline: Whether to use the cache alone.
        transport: An httpx2 transport, for tests.

    Raises:
        UsageError: An answer is not in the cache, offline; or the server refuses a parameter.
        MachineError: The key is missing, or wrong; or a limit is reached.
    """
    keys = [request.key(model) for request in requests]
    answers = cache.find(list(dict.fromkeys(keys)))
    missing = {
        key: request for key, request in zip(keys, requests, strict=True) if key not in answers
    }
    if missing and offline:
        raise UsageError(
            f"{counted(len(missing), 'answer')} of {len(set(keys)):,} are not in {cache.path}.",
            hint="Ask for them without --offline, or use the cache that has them.",
        )
    record = Asked([], cached=len(keys) - len(missing))
    if missing:
        _refuse_above(model, len(missing))
        with progress().doing("asking", len(missing), "requests"):
            new = asyncio.run(_ask_all(model, missing, cache, record, transport))
        answers |= new
    record.answers = [answers[key] for key in keys]
    return record


def _refuse_above(model: LanguageModel, requests: int) -> None:
    if model.limits.requests is not None and requests > model.limits.requests:
        raise UsageError(
            f"{requests:,} requests are more than `limits.requests` of {model.name} allows, "
            f"{model.limits.requests:,}.",
            hint="Raise the limit, or ask for less.",
        )


async def _ask_all(
    model: LanguageModel,
    missing: Mapping[str, Request],
    cache: AnswerCache,
    record: Asked,
    transport: Any,
) -> dict[str, Answer]:
    httpx2 = required("httpx2")
    answers, waiting = dict[str, Answer](), iter(missing.items())
    limits = httpx2.Limits(max_connections=model.concurrency)
    async with httpx2.AsyncClient(
        headers=model.headers(), timeout=model.timeout, transport=transport, limits=limits
    ) as client:

        async def work() -> None:
            for key, request in waiting:
                answer = await _ask_one(client, model, request)
                answers[key] = answer
                if answer.status != FAILED:
                    cache.add(key, request.body(model), answer)
                record.tokens_in += answer.tokens_in
                record.tokens_out += answer.tokens_out
                progress().advance(1)
                most = model.limits.tokens
                if most is not None and record.tokens_in + record.tokens_out > most:
                    raise MachineError(
                        f"`limits.tokens` of {model.name} is reached: {most:,}.",
                        hint="What was answered is kept. Raise the limit, and run it again.",
                    )

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(model.concurrency, len(missing))):
                    group.create_task(work())
        except BaseExceptionGroup as several:  # the first stopped the others
            raise several.exceptions[0] from None
    return answers


async def _ask_one(client: Any, model: LanguageModel, request: Request) -> Answer:
    httpx2, message = required("httpx2"), ""
    for attempt in range(model.retries + 1):
        wait = min(_LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311
        try:
            response = await client.post(
                f"{model.endpoint}/chat/completions", json=request.body(model)
            )
            if response.status_code == 200:
                return _read(response.json(), _now())
            message = f"HTTP {response.status_code}: {_reason(response)}"
            if response.status_code not in (408, 409, 425, 429) and response.status_code < 500:
                return _refusal(model, request, response, message)
            with_hint = response.headers.get("retry-after", "")
            wait = min(_LONGEST_WAIT, float(with_hint)) if with_hint.isdecimal() else wait
        except (httpx2.HTTPError, httpx2.StreamError, ValueError, KeyError, TypeError) as error:
            message = f"{type(error).__name__}: {shortened(str(error))}"
        if attempt < model.retries:
            await asyncio.sleep(wait)
    return Answer(FAILED, message=_without_key(model, message), date=_now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _reason(response: Any) -> str:
    try:
        body = response.json()
        error = body.get("error", body)
        return shortened(str(error.get("message", error) if isinstance(error, dict) else error))
    except (ValueError, AttributeError):
        return shortened(response.text)


def _without_key(model: LanguageModel, text: str) -> str:
    key = model.headers().get("Authorization", "").removeprefix("Bearer ")
    return text.replace(key, "***") if key else text


def _refusal(model: LanguageModel, request: Request, response: Any, message: str) -> Answer:
    """A prompt that does not fit is an answer; a refused key or parameter stops everything."""
    message = _without_key(model, message)
    if response.status_code in (401, 403):
        raise MachineError(
            f"{model.endpoint} refuses the key: {message}.",
            hint=f"`key_from` names the environment variable with it: {model.key_from}.",
        )
    if response.status_code == 404:
        raise MachineError(
            f"{model.endpoint} does not have {model.name!r}: {message}.",
            hint="Check `endpoint` (with its /v1) and `name`.",
        )
    if _TOO_LONG.search(message):
        return Answer("too_long", message=message, date=_now())
    if re.search("content.?filter|content.?policy|moderation", message, re.I):
        return Answer("refused", message=message, date=_now())
    sent = [key for key in (*model.parameters, *request.parameters) if key in message]
    named = f"the parameter `{sent[0]}`" if sent else "the request"
    raise UsageError(
        f"{model.name} refuses {named}: {message}.",
        hint="Set it to null (or leave it out of `extra`) if the model does not support it.",
    )


def _read(data: Any, date: str) -> Answer:
    """An answer from the server's JSON; a KeyError or TypeError if it is not one."""
    choice = data["choices"][0]
    said, usage = choice["message"], data.get("usage") or {}
    text, reason = said.get("content") or "", choice.get("finish_reason")
    status: Status = "ok"
    if reason == "content_filter" or said.get("refusal"):
        status = "refused"
    elif reason == "length":
        status = "cut"
    elif not text.strip():
        status = "empty"
    if reason is None:
        raise ValueError("the answer was cut off by the server")
    first = ((choice.get("logprobs") or {}).get("content") or [{}])[0]
    return Answer(
        status,
        text=text,
        reasoning=said.get("reasoning_content") or said.get("reasoning") or "",
        top={
            str(token["token"]): float(token["logprob"])
            for token in first.get("top_logprobs") or []
        },
        tokens_in=int(usage.get("prompt_tokens", 0)),
        tokens_out=int(usage.get("completion_tokens", 0)),
        model=" ".join(filter(None, [data.get("model"), data.get("system_fingerprint")])),
        message=str(said.get("refusal") or ""),
        date=date,
    )
