"""Asks an OpenAI-compatible server: many requests at a time, each tried again where that helps."""

import asyncio
import json
import random
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Any

from adducir.core.errors import MachineError, UsageError
from adducir.core.packages import required
from adducir.core.texts import shortened
from adducir.judges.answers import Conversation, spellings
from adducir.judges.exchange import FAILED, Answer, Request, Status

if TYPE_CHECKING:
    from adducir.judges.llm import LanguageModel

_LONGEST_WAIT = 60.0
_LONGEST_MESSAGE = 200
_IN_A_ROW = 20
"""After more requests than these and those at a time have failed, no others are tried."""
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window)|maximum.{0,20}tokens|too (?:long|many tokens)", re.I
)
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)


def answer(conversation: Conversation, model: "LanguageModel", transport: Any = None) -> None:
    """Answer whatever waits, until nothing does."""
    asyncio.run(_Asking(conversation, model).all(transport))


class _Asking:
    """Asks for what waits, and stops if nobody is there to answer."""

    def __init__(self, conversation: Conversation, model: "LanguageModel") -> None:
        self.conversation, self.model = conversation, model
        self.news, self.busy = asyncio.Event(), 0
        self.is_there = False  # the server answered something, if only with an error
        self.failed = 0  # requests in a row that failed, after all their tries

    async def all(self, transport: Any) -> None:
        httpx2, model = required("httpx2"), self.model
        limits = httpx2.Limits(max_connections=model.concurrency)
        async with httpx2.AsyncClient(
            headers=model.headers(), timeout=model.timeout, transport=transport, limits=limits
        ) as client:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(model.concurrency):
                        group.create_task(self._work(client))
            except BaseExceptionGroup as several:  # the first stopped the others
                raise several.exceptions[0] from None

    async def _work(self, client: Any) -> None:
        conversation = self.conversation
        while conversation.waiting or self.busy:
            if not conversation.waiting:  # an answer may bring more
                self.news.clear()
                await self.news.wait()
                continue
            key, request = conversation.waiting.popleft()
            self.busy += 1
            began = time.perf_counter()
            answer = await self._ask(client, request)
            seconds = round(time.perf_counter() - began, 3)
            conversation.resolve(key, request, replace(answer, seconds=seconds))
            self._stop_if_in_vain(answer)
            self.busy -= 1
            self.news.set()

    def _stop_if_in_vain(self, answer: Answer) -> None:
        self.failed = self.failed + 1 if answer.status == FAILED else 0
        hint = "What was answered is kept: run it again when the server answers."
        endpoint = f"`endpoint` of {self.model.name}, {self.model.endpoint},"
        if self.failed and not self.is_there:
            raise MachineError(
                f"{endpoint} cannot be reached: {answer.message}.",
                hint=f"Start the server, or correct `endpoint` in the model's file. {hint}",
            )
        if self.failed > _IN_A_ROW + self.model.concurrency:
            raise MachineError(
                f"{endpoint} failed {self.failed} requests in a row: {answer.message}.", hint=hint
            )

    async def _ask(self, client: Any, request: Request) -> Answer:
        httpx2, model, message = required("httpx2"), self.model, ""
        path = "chat/completions" if request.raw is None else "completions"
        for attempt in range(model.retries + 1):
            wait = min(_LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311
            try:
                response = await client.post(f"{model.endpoint}/{path}", json=request.body(model))
                self.is_there |= not _is_page(response)
                if response.status_code == 200:
                    return _answer_of(response)
                message = f"HTTP {response.status_code}: {_without_key(model, _reason(response))}"
                if response.status_code not in (408, 409, 425, 429) and response.status_code < 500:
                    return _refusal(model, request, response, message)
                wait = _stated_wait(response.headers.get("retry-after", ""), wait)
            except (httpx2.HTTPError, httpx2.StreamError, *_MALFORMED) as error:
                unreachable = httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError
                self.is_there |= isinstance(error, httpx2.HTTPError) and not isinstance(
                    error, unreachable
                )
                kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
                message = f"{kind}{error}"
            if attempt < model.retries:
                await asyncio.sleep(wait)
        message = shortened(_without_key(model, message).rstrip("."), _LONGEST_MESSAGE)
        return Answer(FAILED, message=message, date=_now())


def _is_page(response: Any) -> bool:
    """Whether this is a web page: another server's, or that of one before a server that is down."""
    return bool(response.text.lstrip()[:1] == "<")


def _answer_of(response: Any) -> Answer:
    try:
        return _read(_json(response), _now())
    except _MALFORMED as error:
        why = "but a web page" if _is_page(response) else f"({error})"
        raise ValueError(f"not an answer {why}: {shortened(response.text)}") from None


def _stated_wait(header: str, otherwise: float) -> float:
    """Seconds that a server asks to wait, which it states as a number or as a date."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return otherwise
    return min(_LONGEST_WAIT, max(0.0, seconds)) if isfinite(seconds) else otherwise


def _json(response: Any) -> Any:
    """A response's JSON; halves of surrogate pairs, which no file can hold, become U+FFFD."""
    data = response.json()
    if "\\ud" in response.text.lower():
        text = json.dumps(data, ensure_ascii=False)
        data = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return data


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _reason(response: Any) -> str:
    try:
        body = _json(response)
        error = body.get("error", body)
        text = error.get("message", error) if isinstance(error, dict) else error
    except _MALFORMED:
        text = response.text
    return " ".join(str(text).split()).rstrip(".")


def _without_key(model: "LanguageModel", text: str) -> str:
    key = model.headers().get("Authorization", "").removeprefix("Bearer ")
    return text.replace(key, "***") if key else text


def _refusal(model: "LanguageModel", request: Request, response: Any, message: str) -> Answer:
    """A prompt that does not fit is an answer; a refused key or parameter stops everything."""
    brief = shortened(message, _LONGEST_MESSAGE)
    if response.status_code in (401, 403):
        hint = f"`key_from` names the environment variable with it: {model.key_from}."
        if model.key_from is None:
            hint = "Name the environment variable with the key: `key_from`."
        raise MachineError(f"{model.endpoint} refuses the key: {brief}.", hint=hint)
    if response.status_code == 404:
        raise MachineError(
            f"{model.endpoint} does not have {model.name!r}: {brief}.",
            hint="Check `endpoint` (with its /v1) and `name`.",
        )
    if response.is_redirect:
        raise MachineError(
            f"{model.endpoint} is elsewhere: HTTP {response.status_code}.",
            hint=f"Set `endpoint`; it points to {response.headers.get('location', 'nowhere')}.",
        )
    if _TOO_LONG.search(message):
        return Answer("too_long", message=brief, date=_now())
    if re.search("content.?filter|content.?policy|moderation", message, re.I):
        return Answer("refused", message=brief, date=_now())
    if sent := [key for key in (*model.parameters, *request.parameters) if key in message]:
        raise UsageError(
            f"{model.name} refuses the parameter `{sent[0]}`: {brief}.",
            hint="Set it to null (or leave it out of `extra`) if the model does not support it.",
        )
    raise UsageError(
        f"{model.name} refuses the request: {brief}.",
        hint=f"Check the file of the language model; sent were {', '.join(request.body(model))}.",
    )


def without_thought(text: str) -> tuple[str, str]:
    """An answer, and the thought before it that a server without a parser leaves there."""
    thought = _THOUGHT.match(text)
    return (text[thought.end() :], thought[1]) if thought else (text, "")


def _first_token(choice: Any) -> dict[str, float]:
    """The first token's spellings: chats and llama.cpp list objects, other completions a dict."""
    stated = choice.get("logprobs") or {}
    if stated.get("content"):
        top = stated["content"][0].get("top_logprobs") or []
        return spellings((str(token["token"]), float(token["logprob"])) for token in top)
    first = (stated.get("top_logprobs") or [{}])[0]
    return spellings((str(token), float(value)) for token, value in first.items())


def _read(data: Any, date: str) -> Answer:
    """An answer from the server's JSON; one of _MALFORMED if it is not one."""
    choice = data["choices"][0]
    said, usage = choice.get("message") or {"content": choice["text"]}, data.get("usage") or {}
    text, thought = without_thought(said.get("content") or "")
    reason = choice.get("finish_reason")
    status: Status = "ok"
    if reason == "content_filter" or said.get("refusal"):
        status = "refused"
    elif reason == "length":
        status = "cut"
    elif not text.strip():
        status = "empty"
    if reason is None:
        raise ValueError("the answer was cut off by the server")
    return Answer(
        status,
        text=text,
        reasoning=said.get("reasoning_content") or said.get("reasoning") or thought,
        top=_first_token(choice),
        tokens_in=int(usage.get("prompt_tokens") or 0),
        tokens_out=int(usage.get("completion_tokens") or 0),
        model=" ".join(filter(None, [data.get("model"), data.get("system_fingerprint")])),
        message=str(said.get("refusal") or ""),
        date=date,
    )
