"""Prompts: files with what is asked, the answers that are allowed, and how long a text may be.

Bundled are ``graded`` (0 to 3) and ``binary``. A text is fenced by markers that it cannot contain,
and only texts are cut. An answer must be one of those allowed, whole: "I cannot grade this 3" is no
3.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from adducir.core.config import load, validate
from adducir.core.errors import UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Recipe
from adducir.core.texts import nearest

_HERE = Path(__file__).with_name("prompts")
_FENCE = re.compile(r"<(/?)\s*document\s*>", re.IGNORECASE)
_PLACES = re.compile(r"\{(query|description|narrative|text)\}")


class Prompt(Recipe):
    """The keys of a prompt's file.

    Attributes:
        kind: Distinguishes this file from others.
        version: Raised when the wording changes.
        system: The system message; empty for none.
        user: The user's message, with the places {query}, {description}, {narrative} and {text}.
        answers: The grade of each answer that is allowed.
        words: The longest text, in words; longer ones are cut there, and counted.
    """

    kind: Literal["prompt"] = "prompt"
    version: str
    system: str = ""
    user: str
    answers: dict[str, int]
    words: int = Field(300, ge=1)

    @field_validator("user")
    @classmethod
    def _has_places(cls, value: str) -> str:
        if missing := [place for place in ("{query}", "{text}") if place not in value]:
            raise ValueError(f"lacks the place {missing[0]}")
        return value

    @field_validator("answers")
    @classmethod
    def _are_distinct(cls, value: dict[str, int]) -> dict[str, int]:
        if len(value) < 2 or any(text != text.strip() or not text for text in value):
            raise ValueError("must be at least two texts without blanks around them")
        return value

    @property
    def identity(self) -> str:
        return fingerprint(self.model_dump(mode="json"))

    def messages(
        self, topic: Mapping[str, str], text: str
    ) -> tuple[tuple[tuple[str, str], ...], bool]:
        """The messages for a topic (query, description, narrative) and a text; was it cut?"""
        words = text.split()
        is_cut = len(words) > self.words
        fenced = _FENCE.sub(r"(\1document)", " ".join(words[: self.words]) if is_cut else text)
        filled = _PLACES.sub(lambda place: {**topic, "text": fenced}.get(place[1], ""), self.user)
        user = ("user", re.sub(r"\n{3,}", "\n\n", filled))
        return ((("system", self.system), user) if self.system else (user,)), is_cut

    def grade(self, answer: str) -> int | None:
        """The grade of an answer that is, whole, one of those allowed; quotes are JSON's."""
        return self.answers.get(answer.strip().strip('"'))

    @property
    def constraint(self) -> dict[str, object]:
        """The parameter that asks a server for one of the answers."""
        numbers = all(text == str(grade) for text, grade in self.answers.items())
        allowed = list(self.answers.values()) if numbers else list(self.answers)
        schema = {"name": "answer", "strict": True, "schema": {"enum": allowed}}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}


def open_prompt(source: str) -> Prompt:
    """A bundled prompt by name, or a file."""
    bundled = sorted(path.stem for path in _HERE.glob("*.yaml"))
    if source in bundled:
        return validate(load(_HERE / f"{source}.yaml"), Prompt)
    if not Path(source).is_file():
        raise UsageError(
            f"{source!r} is neither a prompt's file nor one of the bundled prompts"
            f"{nearest(source, bundled) or '.'}",
            hint=f"Bundled are {', '.join(bundled)}.",
        )
    return validate(load(Path(source)), Prompt)
