"""A language model behind an OpenAI-compatible server: vLLM, llama.cpp, Ollama, or an API.

A file states everything that decides an answer. A parameter that the server refuses is an error
that names it, never left out silently; a key comes from an environment variable and stands nowhere.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from adducir.core.config import load, validate
from adducir.core.errors import MachineError
from adducir.core.recipe import Recipe


class Limits(Recipe):
    """When to stop asking.

    Attributes:
        requests: Requests sent, at most.
        tokens: Tokens in and out, at most.
    """

    requests: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None


class Price(Recipe):
    """Per million tokens, in any currency."""

    input: float = Field(..., ge=0, description="Of prompts.")
    output: float = Field(..., ge=0, description="Of answers.")


class LanguageModel(Recipe):
    """The keys of a language model's file.

    Attributes:
        kind: Distinguishes this file from others.
        description: For readers.
        endpoint: The server, such as http://localhost:8000/v1.
        name: The model, as the server calls it.
        revision: What distinguishes weights of that name, such as a commit; part of the identity.
        key_from: The environment variable with the key, if the server wants one.
        temperature: 0 for the most probable answer; null is not sent.
        top_p: Not sent by default.
        seed: Not sent by default.
        max_tokens: The longest answer; null is not sent.
        max_tokens_key: What the server calls that; reasoning models want max_completion_tokens.
        extra: Other parameters, sent as they are.
        concurrency: Requests at a time; answers depend on it, so it is recorded.
        timeout: Seconds to wait for an answer.
        retries: Further tries after a fault of the server or the network.
        constrains: Whether the server can be asked for one of a prompt's answers (response_format
            with a JSON schema), which is shorter and always readable.
        limits: When to stop.
        price: For the cost, which is not known otherwise.
    """

    kind: Literal["llm"] = "llm"
    description: str = ""
    endpoint: str
    name: str
    revision: str | None = None
    key_from: str | None = None
    temperature: Annotated[float, Field(ge=0)] | None = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = 64
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra: dict[str, Any] = {}  # noqa: RUF012  (pydantic copies it)
    concurrency: int = Field(4, ge=1, le=1024)
    timeout: float = Field(60.0, gt=0)
    retries: int = Field(4, ge=0, le=20)
    constrains: bool = False
    limits: Limits = Limits()
    price: Price | None = None

    @field_validator("endpoint")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("is not an address, such as http://localhost:8000/v1")
        return value.rstrip("/")

    @property
    def identity(self) -> dict[str, str]:
        """What an answer is an answer of: the model's name and revision, whoever serves it."""
        return {"name": self.name, **({"revision": self.revision} if self.revision else {})}

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent besides the messages."""
        options = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            self.max_tokens_key: self.max_tokens,
        }
        return {key: value for key, value in options.items() if value is not None} | self.extra

    def headers(self) -> dict[str, str]:
        if self.key_from is None:
            return {}
        if not (key := os.environ.get(self.key_from)):
            raise MachineError(
                f"the environment variable {self.key_from} (the key of {self.name}) is not set.",
                hint=f"Set it: export {self.key_from}=...",
            )
        return {"Authorization": f"Bearer {key}"}

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        if self.price is None:
            return None
        return (tokens_in * self.price.input + tokens_out * self.price.output) / 1e6


def open_llm(path: Path | str) -> LanguageModel:
    """Read a language model's file.

    Raises:
        InputError: The file is missing or has a wrong key; with its line.
    """
    return validate(load(Path(path)), LanguageModel)
