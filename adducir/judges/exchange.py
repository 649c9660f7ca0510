"""What a language model is asked, and what comes back.

Each request ends in a status: ``ok``, ``refused`` (by a filter), ``too_long`` (the prompt does not
fit), ``cut`` (the answer ended at its longest), ``empty`` or ``failed`` (no answer after the last
try).
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adducir.core.errors import IncompleteError

if TYPE_CHECKING:
    from adducir.judges.llm import Answerer

Status = Literal["ok", "refused", "too_long", "cut", "empty", "failed"]
FAILED: Status = "failed"
SHORTENED, EMPTY = "shortened prompts", "without text"
RAW = "raw"


@dataclass(frozen=True)
class Request:
    """What is asked: messages, and parameters that override the model's.

    Attributes:
        messages: (role, text) in order; one of the role ``raw`` is continued as it stands, without
            a chat template.
        parameters: Such as ``logprobs`` or ``response_format``.
        repeat: The number of the repeat, from 0.
    """

    messages: tuple[tuple[str, str], ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0

    @property
    def raw(self) -> str | None:
        """The text to continue, if it is not a chat."""
        return self.messages[0][1] if self.messages[0][0] == RAW else None

    def body(self, model: "Answerer") -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in self.messages]
        asked = {"messages": messages} if self.raw is None else {"prompt": self.raw}
        return {"model": model.name, **asked, **model.parameters, **self.parameters}

    def key(self, model: "Answerer") -> str:
        whole = {**self.body(model), "model": model.identity, "repeat": self.repeat}
        return hashlib.sha256(canonical_json(whole).encode()).hexdigest()

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
        seconds: From the request to the answer; in this process, its share of the batch's.
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
    seconds: float = 0.0

    @classmethod
    def now(cls, status: Status, **facts: Any) -> "Answer":
        """An answer of this moment."""
        return cls(status, date=datetime.now(UTC).isoformat(timespec="seconds"), **facts)


def told(counts: Counter[str]) -> str:
    """Counts by name, such as those of statuses, the largest first."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common() if count)


def unreadable_share(statuses: Counter[str]) -> float:
    """The share of answers that cannot be read."""
    total = statuses.total() - statuses[SHORTENED] - statuses[EMPTY]
    return (total - statuses["ok"]) / max(1, total)


def refuse_unreadable(
    share: float, most: float, what: str, counts: str, cache: Path, more: str = ""
) -> None:
    """Stop above a share of answers that say nothing; ``more``: what else may help."""
    if share > most:
        raise IncompleteError(
            f"{share:.1%} of the {what}, more than {most:.1%} ({counts}); nothing was written.",
            path=cache,
            hint=f"Answers are kept: run it again to ask only for failed ones{more}.",
        )


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
