"""An OpenAI-compatible server that answers by a script, or by a function."""

import json

import httpx2

NOW = {"retry-after": "0"}
CLIENT = httpx2.AsyncClient


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
        if callable(self.script[0]):
            return httpx2.Response(200, json=self.script[0](self.bodies[-1]))
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, Exception):
            raise step
        status, content, *headers = step
        text = content if isinstance(content, str) else json.dumps(content)
        return httpx2.Response(status, text=text, headers=dict(*headers))


def thinks(**probabilities):
    """An answer whose first token has these log-probabilities; _ is a blank."""
    top = [{"token": t.replace("_", " "), "logprob": v} for t, v in probabilities.items()]
    return said(top[0]["token"], finish="length", logprobs={"content": [{"top_logprobs": top}]})


def client_of(server):
    """What replaces ``httpx2.AsyncClient``, so that a command asks the server."""
    return lambda **options: CLIENT(**options | {"transport": server.transport})
