"""An OpenAI-compatible server that answers by a script, or by a function."""

import json
import re

import httpx2
import numpy as np

from adducir.judges.answers import converse, one_round
from adducir.judges.exchange import Request
from adducir.judges.llm import LanguageModel

NOW = {"retry-after": "0"}
CLIENT = httpx2.AsyncClient


def model(**more):
    stated = {"endpoint": "http://localhost:1/v1", "name": "m", "retries": 1, **more}
    return LanguageModel.model_validate(stated)


def request(text="hello", **more):
    return Request((("user", text),), **more)


def ask(model, requests, cache, **more):
    """What was asked, with an answer to each request, in their order."""
    (answers,), asked = converse(model, [one_round(requests)], cache, **more)
    asked.answers = answers
    return asked


def said(text="2", *, finish="stop", **more):
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    choice |= {key: more.pop(key) for key in ("logprobs",) if key in more}
    choice["message"] |= {
        key: more.pop(key) for key in ("reasoning_content", "refusal") if key in more
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 3}
    return {"choices": [choice], "usage": usage, "model": "it", "system_fingerprint": "f1", **more}


class Server:
    """Answers requests by a script: each an (HTTP status, JSON or text, headers), or a function."""

    def __init__(self, *script):
        self.script, self.bodies, self.headers = list(script), [], []
        self.transport = httpx2.MockTransport(self.handle)

    def handle(self, request):
        self.bodies.append(json.loads(request.content))
        self.headers.append(dict(request.headers))
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if callable(step):
            step = step(self.bodies[-1])
        if isinstance(step, Exception):
            raise step
        status, content, *headers = (200, step) if isinstance(step, dict) else step
        text = content if isinstance(content, str) else json.dumps(content)
        return httpx2.Response(status, text=text, headers=dict(*headers))


def listed(*rows):
    """A chat's log-probabilities of a first token."""
    return {"content": [{"top_logprobs": [{"token": t, "logprob": v} for t, v in rows]}]}


def thinks(**probabilities):
    """An answer whose first token has these log-probabilities; _ is a blank."""
    top = [(token.replace("_", " "), value) for token, value in probabilities.items()]
    return said(top[0][0], finish="length", logprobs=listed(*top))


def client_of(server):
    """What replaces ``httpx2.AsyncClient``, so that a command asks the server."""
    return lambda **options: CLIENT(**options | {"transport": server.transport})


def passages(body):
    """The labels and texts that a request shows, in order."""
    user = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return re.findall(r"^(?:Passage |\[)(\w+)[\]:] (.*)$", "\n".join(user), re.MULTILINE)


def sorts(key):
    """A server that orders passages by a key of their texts, largest first."""

    def answer(body):
        shown = sorted(passages(body), key=lambda row: -key(row[1]))
        return said(" > ".join(f"[{label}]" for label, _ in shown))

    return Server(answer)


def chooses(key):
    return Server(lambda body: said(max(passages(body), key=lambda row: key(row[1]))[0]))


def numbered(count, seed=0):
    values = np.random.default_rng(seed).permutation(count)
    return [f"text {value}" for value in values], values


def number(text):
    return int(text.split()[-1])
