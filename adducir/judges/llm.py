"""Language models behind an OpenAI-compatible server (vLLM, llama.cpp, an API), or in this process.

A file states everything that decides an answer. A parameter that the server refuses is an error
that names it, never left out silently; a key comes from an environment variable and stands nowhere.
"""

import os
import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, field_validator

from adducir.core.config import load, validate
from adducir.core.errors import MachineError
from adducir.core.files import study_folder
from adducir.core.recipe import Recipe
from adducir.models.gguf import weights_of
from adducir.models.sources import RECIPES

if TYPE_CHECKING:
    from adducir.judges.answers import Conversation
    from adducir.judges.local import Speaker


_ASKED = ("model", "messages", "prompt", "stream", "n")
_STATED = ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens")


class Limits(Recipe):
    """When to stop asking."""

    requests: Annotated[int, Field(ge=1)] | None = None
    """Requests sent, at most."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens in and out, at most."""


class Price(Recipe):
    """Per million tokens, in any currency."""

    input: float = Field(..., ge=0)
    """The price of prompts."""
    output: float = Field(..., ge=0)
    """The price of answers."""


class Answerer(Recipe):
    """A language model that answers: what every such file has."""

    kind: Literal["llm"] = "llm"
    """Distinguishes this file from others."""
    description: str = ""
    """For readers."""
    family: str | None = None
    """The family of models that it belongs to, such as qwen: a judge favours systems that use a
    model of its own family, and tables say so."""
    max_tokens: Annotated[int, Field(ge=1)] | None = 64
    """The longest answer; null is not sent."""
    constrains: bool = False
    """Whether to ask for one of a prompt's answers (response_format with a JSON schema), which is
    shorter and always readable."""
    cache: str | None = None
    """The file with all answers; by default `answers.sqlite` beside the output."""
    offline: bool = False
    """Use the cache alone."""
    limits: Limits = Limits()
    """When to stop."""
    price: Price | None = None
    """For the cost, which is not known otherwise."""
    _folder: Path = PrivateAttr(default_factory=Path)  # where its relative paths start

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """Of the model, for messages."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, str]:
        """What an answer is an answer of."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What decides an answer besides the messages."""

    @property
    def answer_key(self) -> str:
        """The parameter for the longest answer."""
        return "max_tokens"

    @abstractmethod
    def answer(self, conversation: "Conversation", transport: Any = None) -> None:
        """Answer whatever waits, until nothing does."""

    def check(self) -> None:
        """Download what will be loaded; an error if it is not available."""

    def longest_answer(self, parameters: Mapping[str, Any]) -> int:
        return int((self.parameters | dict(parameters)).get(self.answer_key) or 0)

    @property
    def cache_path(self) -> Path | None:
        """The file with its answers, if its own file names it."""
        return None if self.cache is None else self._folder / Path(self.cache).expanduser()

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        if self.price is None:
            return None
        return (tokens_in * self.price.input + tokens_out * self.price.output) / 1e6

    def facts(self) -> dict[str, Any]:
        """For metadata: who answers, and how."""
        family = {"family": self.family} if self.family else {}
        return {"name": self.name, **self.identity, **family, "parameters": self.parameters}


class LanguageModel(Answerer):
    """A model behind an OpenAI-compatible server."""

    endpoint: str
    """The server, such as http://localhost:8000/v1."""
    name: str
    """The model, as the server calls it."""
    revision: str | None = None
    """What distinguishes weights of that name, such as a commit; part of the identity."""
    key_from: str | None = None
    """The environment variable with the key, if the server wants one."""
    temperature: Annotated[float, Field(ge=0)] | None = 0.0
    """0 for the most probable answer; null is not sent."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Not sent by default."""
    seed: int | None = None
    """Not sent by default."""
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the server calls `max_tokens`; reasoning models want max_completion_tokens."""
    extra: dict[str, Any] = {}  # noqa: RUF012  (pydantic copies it)
    """Other parameters, sent as they are."""
    concurrency: int = Field(4, ge=1, le=1024)
    """Requests at a time; answers depend on it, so it is recorded."""
    timeout: float = Field(60.0, gt=0)
    """Seconds to wait for an answer."""
    retries: int = Field(4, ge=0, le=20)
    """Further tries after a fault of the server or the network."""

    @field_validator("endpoint")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("is not an address, such as http://localhost:8000/v1")
        try:
            address = urlsplit(value)
            address.port  # noqa: B018  (it is checked only when it is read)
        except ValueError as error:
            raise ValueError(f"is not an address: {error}") from None
        if address.username is not None:
            raise ValueError("has a name or a password: `key_from` keeps keys out of files")
        if address.query or address.fragment or not address.hostname:
            raise ValueError("should end with its path, such as http://localhost:8000/v1")
        return value.rstrip("/")

    @field_validator("extra")
    @classmethod
    def _is_not_stated_elsewhere(cls, value: dict[str, Any]) -> dict[str, Any]:
        if key := next((key for key in value if key in _ASKED), None):
            raise ValueError(f"has {key}, which decides what is asked or how it is answered")
        if key := next((key for key in value if key in _STATED), None):
            raise ValueError(f"has {key}, which is a key of the file itself")
        return value

    @property
    def identity(self) -> dict[str, str]:
        """The model's name and revision, whoever serves it."""
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

    @property
    def answer_key(self) -> str:
        return self.max_tokens_key

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"concurrency": self.concurrency}

    def headers(self) -> dict[str, str]:
        if self.key_from is None:
            return {}
        if not (key := os.environ.get(self.key_from)):
            raise MachineError(
                f"the environment variable {self.key_from} (the key of {self.name}) is not set.",
                hint=f"Set it: export {self.key_from}=...",
            )
        if not re.fullmatch("[!-~]+", key):
            raise MachineError(
                f"the environment variable {self.key_from} (the key of {self.name}) has blanks, "
                "line breaks or characters that are not ASCII.",
                hint="Set it to the key alone; files from Windows end lines with \\r.",
            )
        return {"Authorization": f"Bearer {key}"}

    def answer(self, conversation: "Conversation", transport: Any = None) -> None:
        from adducir.judges.server import answer

        answer(conversation, self, transport)


class LocalModel(Answerer):
    """A model that runs in this process with transformers; always its most probable answer."""

    base: str
    """Its weights: a folder, a GGUF file, or a name on the Hugging Face Hub."""
    template_options: dict[str, Any] = {}  # noqa: RUF012
    """What its chat template may be told, such as `enable_thinking: false`."""
    batch_tokens: Annotated[int, Field(ge=1)] | None = None
    """Padded tokens per batch, which affect the last digits."""
    device: str = "auto"
    """Where it runs."""

    @property
    def name(self) -> str:
        return Path(self.base).name

    @cached_property
    def identity(self) -> dict[str, str]:
        """The digest of its weights, wherever they are."""
        return {"weights": weights_of(self.base, self._folder).identity()}

    @property
    def parameters(self) -> dict[str, Any]:
        options = {"template_options": self.template_options, "max_tokens": self.max_tokens}
        return {key: value for key, value in options.items() if value}

    def check(self) -> None:
        source = weights_of(self.base, self._folder)
        source.local()
        source.local_tokenizer()

    @cached_property
    def speaker(self) -> "Speaker":
        """The network, which is loaded once."""
        from adducir.judges.local import Speaker

        return Speaker(self, weights_of(self.base, self._folder))

    def answer(self, conversation: "Conversation", transport: Any = None) -> None:
        self.speaker.answer(conversation)


def open_llm(source: Path | str, folder: Path | None = None) -> Answerer:
    """A language model by its file, or by the folder or GGUF file with its weights.

    Args:
        source: A YAML file, a folder, a ``.gguf`` file, or a name on the Hugging Face Hub.
        folder: Where relative paths start.

    Raises:
        InputError: The file is missing or has a wrong key; with its line.
    """
    text, start = str(source), folder or Path()
    if Path(text).suffix not in RECIPES:
        model: Answerer = LocalModel(base=text)
    else:
        path = start / Path(text).expanduser()
        document, start = load(path), study_folder(path)
        keys = document.data if isinstance(document.data, dict) else {}
        model = validate(document, LocalModel if "base" in keys else LanguageModel)
    model._folder = start
    return model
