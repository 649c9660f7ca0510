"""Asks an OpenAI-compatible server: many requests at a time, each tried again where that helps."""

import asyncio
import random
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from adducir.core.errors import MachineError, UsageError
from adducir.core.packages import required
from adducir.core.texts import shortened
from adducir.judges.answers import FAILED, Answer, Conversation, Request, Status, spellings

if TYPE_CHECKING:
    from adducir.judges.llm import LanguageModel

_LONGEST_WAIT = 60.0
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window)|maximum.{0,20}tokens|too (?:long|many tokens)", re.I
)
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)


def answer(conversation: Conversation, model: "LanguageModel", transport: Any = None) -> None:
    """Answer whatever waits, until nothing does."""
    asyncio.run(_answer(conversation, model, transport))


async def _answer(conversation: Conversation, model: "LanguageModel", transport: Any) -> None:
    httpx2, news, busy = required("httpx2"), asyncio.Event(), 0
    limits = httpx2.Limits(max_connections=model.concurrency)
    async with httpx2.AsyncClient(
        headers=model.headers(), timeout=model.timeout, transport=transport, limits=limits
    ) as client:

        async def work() -> None:
            nonlocal busy
            while conversation.waiting or busy:
                if not conversation.waiting:  # an answer may bring more
                    news.clear()
                    await news.wait()
                    continue
                key, request = conversation.waiting.popleft()
                busy += 1
                began = time.perf_counter()
                answer = await _ask_one(client, model, request)
                seconds = round(time.perf_counter() - began, 3)
                conversation.resolve(key, request, replace(answer, seconds=seconds))
                busy -= 1
                news.set()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(model.concurrency):
                    group.create_task(work())
        except BaseExceptionGroup as several:  # the first stopped the others
            raise several.exceptions[0] from None


async def _ask_one(client: Any, model: "LanguageModel", request: Request) -> Answer:
    httpx2, message = required("httpx2"), ""
    path = "chat/completions" if request.raw is None else "completions"
    for attempt in range(model.retries + 1):
        wait = min(_LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311
        try:
            response = await client.post(f"{model.endpoint}/{path}", json=request.body(model))
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


def _without_key(model: "LanguageModel", text: str) -> str:
    key = model.headers().get("Authorization", "").removeprefix("Bearer ")
    return text.replace(key, "***") if key else text


def _refusal(model: "LanguageModel", request: Request, response: Any, message: str) -> Answer:
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
    """An answer from the server's JSON; a KeyError or TypeError if it is not one."""
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
        tokens_in=int(usage.get("prompt_tokens", 0)),
        tokens_out=int(usage.get("completion_tokens", 0)),
        model=" ".join(filter(None, [data.get("model"), data.get("system_fingerprint")])),
        message=str(said.get("refusal") or ""),
        date=date,
    )
