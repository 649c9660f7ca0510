"""Asks an OpenAI-compatible server: many requests at a time, each tried again where that helps."""

import asyncio
import json
import random
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from adducir.core.errors import MachineError, UsageError
from adducir.core.packages import required
from adducir.core.texts import shortened
from adducir.judges.answers import Conversation, spellings
from adducir.judges.exchange import FAILED, Answer, Request

if TYPE_CHECKING:
    from adducir.judges.llm import LanguageModel

_LONGEST_WAIT = 60.0
_LONGEST_MESSAGE = 200
_IN_A_ROW = 20
"""After more requests than these and those at a time have failed, no others are tried."""
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window)|maximum.{0,20}tokens|too (?:long|many tokens)"
    r"|max\w*.model.len|`inputs`.{0,30}tokens",  # vLLM's, and TGI's
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content.?(?:filter|policy|management)|moderation|flagged|usage polic|safety (?:system|polic)",
    re.IGNORECASE,
)
_FINISHED = {
    **dict.fromkeys(("length", "max_tokens", "model_length"), "cut"),
    **dict.fromkeys(("content_filter", "safety", "refusal", "recitation"), "refused"),
}
_NOT_FINISHED = ("", "none", "null", "abort", "error")
_SETTINGS = {
    "max_tokens": "Set `max_tokens_key: max_completion_tokens` in the model's file, or another "
    "`max_tokens` there (or `answer_length` in a reranker's recipe).",
    "response_format": "Set `constrains: false` in the model's file.",
    "top_logprobs": "Set a smaller `top` in the reranker's recipe.",
    "logprobs": "Use a server that gives them (or set a smaller `top` in the reranker's recipe), a "
    "model in this process, or `model: llm-listwise`.",
}
"""Where parameters are set that the file of the language model does not have."""
_PAY = "What was answered is kept: run it again when the account can pay."
_STOPS = (
    ((401, 403), "refuses the key", "`key_from` names the environment variable with it: {key}."),
    ((402, 429), "wants to be paid", _PAY),
    ((404,), "does not have {name}", "Check `endpoint` (with its /v1) and `name`."),
    (range(300, 400), "is elsewhere", "Set `endpoint`; it points to {location}."),
)
"""HTTP statuses that stop everything, what they mean, and what to do."""
_OPENS = re.compile(
    r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\]|<\|channel\|>analysis<\|message\|>)"
)
_CLOSES = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|<\|channel\|>final<\|message\|>"
)


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
                fault = ServerFault.of(response)
                message = f"HTTP {response.status_code}: {_without_key(model, fault.message)}"
                is_passing = response.status_code in (408, 409, 425, 429)
                is_passing |= response.status_code >= 500
                if not is_passing or "insufficient_quota" in fault.kind:
                    return _refusal(model, request, response, fault, message)
                wait = stated_wait(response.headers, wait)
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
        return Answer.now(FAILED, message=message)


def _is_page(response: Any) -> bool:
    """Whether this is a web page: another server's, or that of one before a server that is down."""
    return bool(response.text.lstrip()[:1] == "<")


def _answer_of(response: Any) -> Answer:
    try:
        return _read(_json(response))
    except _MALFORMED as error:
        why = "but a web page" if _is_page(response) else f"({error})"
        raise ValueError(f"not an answer {why}: {shortened(response.text)}") from None


def stated_wait(headers: Mapping[str, str], otherwise: float) -> float:
    """Seconds that a server asks to wait, which it states as a number or as a date."""
    header, milliseconds = headers.get("retry-after", ""), headers.get("retry-after-ms")
    try:
        seconds = float(header) if milliseconds is None else float(milliseconds) / 1000
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return otherwise
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return min(_LONGEST_WAIT, max(0.0, seconds)) if isfinite(seconds) else otherwise


def _json(response: Any) -> Any:
    """A response's JSON; halves of surrogate pairs, which no file can hold, become U+FFFD."""
    data = response.json()
    if "\\ud" in response.text.lower():
        text = json.dumps(data, ensure_ascii=False)
        data = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return data


class ServerFault(NamedTuple):
    """What a server says of an error: a message, its code and type, the parameter it is about."""

    message: str
    kind: str
    parameter: str

    @classmethod
    def of(cls, response: Any) -> "ServerFault":
        error: Any = {}
        try:
            body = _json(response)
            body = body[0] if isinstance(body, list) else body  # Gemini's
            error = body.get("error", body)
            error = error if isinstance(error, dict) else {"message": error}
            text = error.get("message", error)
        except _MALFORMED:
            text = response.text
        kind = f"{error.get('code')} {error.get('type')}"
        parameter = str(error.get("param") or "")
        return cls(" ".join(str(text).split()).rstrip("."), kind, parameter)

    def refused(self, sent: Iterable[str]) -> str | None:
        """The parameter, of those sent, that it is about."""
        places = {
            key: place.start()
            for key in sent
            if (place := re.search(rf"(?<!\w){re.escape(key)}(?!\w)", self.message))
        }
        stated = next((key for key in sent if key == self.parameter.partition(".")[0]), None)
        return stated or min(places, key=places.__getitem__, default=None)


def _without_key(model: "LanguageModel", text: str) -> str:
    key = model.headers().get("Authorization", "").removeprefix("Bearer ")
    return text.replace(key, "***") if key else text


def _refusal(
    model: "LanguageModel", request: Request, response: Any, fault: ServerFault, message: str
) -> Answer:
    """A prompt that does not fit is an answer; a refused key or parameter stops everything."""
    brief, status = shortened(message.rstrip(": "), _LONGEST_MESSAGE), response.status_code
    values = {"name": repr(model.name), "key": model.key_from or "not stated"}
    values["location"] = response.headers.get("location", "nowhere")
    for statuses, problem, hint in _STOPS:
        if status in statuses:
            stop = f"{model.endpoint} {problem.format(**values)}: {brief}."
            raise MachineError(stop, hint=hint.format(**values))
    said = f"{message} {fault.kind}"
    parameters = {**model.parameters, **request.parameters}
    if fault.parameter not in parameters:
        if status == 413 or _TOO_LONG.search(said):
            return Answer.now("too_long", message=brief)
        if _FILTERED.search(said):
            return Answer.now("refused", message=brief)
    if key := fault.refused(parameters):
        hint = "Set it to null (or leave it out of `extra`) if the model does not support it."
        if key not in model.extra:
            hint = _SETTINGS.get(key, hint)
        raise UsageError(f"{model.name} refuses the parameter `{key}`: {brief}.", hint=hint)
    raise UsageError(
        f"{model.name} refuses the request: {brief}.",
        hint=f"Check the file of the language model; sent were {', '.join(request.body(model))}.",
    )


def without_thought(text: str) -> tuple[str, str]:
    """An answer, and the thought before it that a server without a parser leaves there.

    Some templates open the thought themselves, so that it only closes; one that is cut is all.
    """
    opened, closed = _OPENS.match(text), _CLOSES.search(text)
    start = opened.end() if opened else 0
    if closed and (opened or not _OPENS.search(text[: closed.start()])):
        return text[closed.end() :], text[start : closed.start()]
    return ("", text[start:]) if opened else (text, "")


def _text_of(content: Any, *kinds: str) -> str:
    """The text of a message's content: all of it, or its parts of some types."""
    if not isinstance(content, list):
        return content or ""
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return "".join(
        _text_of(part.get("text") or part.get(part["type"]), "text")
        for part in parts
        if part["type"] in kinds
    )


def _first_token(choice: Any) -> dict[str, float]:
    """The first token's spellings: chats and llama.cpp list objects, other completions a dict."""
    stated = choice.get("logprobs") or {}
    if stated.get("content"):
        first = stated["content"][0]
        top = first.get("top_logprobs") or ([first] if "logprob" in first else [])
        return spellings((str(token["token"]), token["logprob"]) for token in top)
    first = (stated.get("top_logprobs") or [None])[0]
    if not first and stated.get("tokens"):
        first = {stated["tokens"][0]: (stated.get("token_logprobs") or [None])[0]}
    return spellings((first or {}).items())


def _read(data: Any) -> Answer:
    """An answer from the server's JSON; one of _MALFORMED if it is not one."""
    choice = data["choices"][0]
    said, usage = choice.get("message") or {"content": choice["text"]}, data.get("usage") or {}
    content = said.get("content")
    text, thought = without_thought(_text_of(content, "text", "output_text"))
    is_parts = isinstance(content, list)
    refusal = said.get("refusal") or (is_parts and _text_of(content, "refusal"))
    thought = thought or (_text_of(content, "thinking", "reasoning") if is_parts else "")
    reason = str(choice.get("finish_reason")).lower()
    if reason in _NOT_FINISHED:
        raise ValueError("the answer was cut off by the server")
    status: Any = _FINISHED.get(reason, "ok" if text.strip() else "empty")
    return Answer.now(
        "refused" if refusal else status,
        text=text,
        reasoning=said.get("reasoning_content") or said.get("reasoning") or thought,
        top=_first_token(choice),
        tokens_in=int(usage.get("prompt_tokens") or 0),
        tokens_out=int(usage.get("completion_tokens") or 0),
        model=" ".join(filter(None, [data.get("model"), data.get("system_fingerprint")])),
        message=str(refusal or ""),
    )
