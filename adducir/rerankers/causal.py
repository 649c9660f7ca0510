"""Language models that answer whether a document is relevant, such as Qwen3-Reranker.

A template asks about a query and a document; with z the logits of the next token, the score is
z[yes] - z[no], the log-odds of the answer, or z[yes] alone where the makers use no other token.
Template, instruction and tokens are published with each model (``models/known.yaml``) or set; a
model for which neither holds is refused, because any other question gives other scores.

Pieces of a template are tokenised one by one, as in the makers' code. Only the document is cut, and
a query that would leave it less than a quarter. Padding comes first and is masked: the last token
is the template's.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.errors import InputError
from adducir.models.folders import look
from adducir.models.known import known
from adducir.models.loading import load_model, load_tokenizer, longest_input, with_padding
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, padded
from adducir.rerankers.recipe import Length, Pair, Pointwise, RerankerRecipe

if TYPE_CHECKING:
    import torch

_PARTS = ("{query}", "{document}")


class Question(RerankerRecipe):
    """What a language model is asked, and the tokens of its answers, as published or set.

    Attributes:
        template: The question, in pieces that are tokenised separately; it contains {query} and
            {document}, and may contain {instruction} and {bos}.
        instruction: What {instruction} stands for.
        yes: The token of a relevant document.
        no: That of another; without it the score is the logit of ``yes``.
    """

    template: tuple[str, ...] | None = None
    instruction: str | None = None
    yes: str | None = None
    no: str | None = None

    def stated(self, source: ModelSource) -> tuple[dict[str, Any], str]:
        """Its values and what states them; an InputError where nothing does."""
        published = known(source, "rerankers")
        facts: dict[str, Any] = {}
        if published and self.template is None:  # tokens answer the question that was asked
            facts = dict(published.facts)
        keys = ("template", "instruction", "yes", "no", "length")
        stated = {key: value for key in keys if (value := getattr(self, key, None)) is not None}
        missing = [key for key in ("template", "yes") if key not in facts | stated]
        if missing:
            raise InputError(
                f"what to ask this language model is not known: {' and '.join(missing)}.",
                path=source.folder or source.name,
                hint="Set `template` (with {query} and {document}), `yes` and `no` in a recipe "
                "with `model: yes-no`, as the model's card says.",
            )
        facts_ = facts | stated
        text = "".join(facts_["template"])
        if absent := [part for part in _PARTS if text.count(part) != 1]:
            message = f"the template must contain {absent[0]} once."
            raise InputError(message, path=source.folder or source.name)
        origin = "set" if not facts else published.title if published else ""
        return facts_, origin + (" and set" if facts and stated else "")


def pieces_of(stated: Mapping[str, Any], bos: str) -> list[str]:
    """A question's pieces, with what does not depend on query and document filled in."""
    instruction = stated.get("instruction") or ""
    if instruction:
        instruction = stated.get("instructed", "{}").replace("{}", instruction)
    values = {"{instruction}": instruction, "{bos}": bos}
    return [_filled(piece, values) for piece in stated["template"]]


class YesNoRecipe(Question):
    """A language model's answer to whether a document is relevant.

    Attributes:
        length: Tokens of an input; by default as published, or as many as the model reads.
    """

    classes: ClassVar[tuple[str, ...]] = ("ForCausalLM", "LMHeadModel")
    scores: ClassVar[str] = "log-odds of the answer yes"

    model: Literal["yes-no"] = "yes-no"
    length: Length | None = None

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        return look(source).kind == "causal-lm" and known(source, "rerankers") is not None

    def statement(self, source: ModelSource) -> str:
        facts, origin = self.stated(source)
        tokens = f"{facts['yes']!r} against {facts['no']!r}" if facts.get("no") else facts["yes"]
        instruction = f", instruction {facts['instruction']!r}" if facts.get("instruction") else ""
        return f"asks {''.join(facts['template'])!r}{instruction}, scores {tokens} ({origin})"

    def load(self, source: ModelSource) -> "YesNo":
        facts, _ = self.stated(source)
        network = load_model(source, "AutoModelForCausalLM")
        return YesNo(network, load_tokenizer(source), facts)


class YesNo(Pointwise):
    def __init__(self, network: Any, tokenizer: Any, stated: dict[str, Any]) -> None:
        self.network, self.tokenizer = network, tokenizer
        self._answers = self._tokens(stated)
        self._pieces = pieces_of(stated, tokenizer.bos_token or "")
        fixed = sum(len(self._ids(piece)) for piece in self._pieces if not _parts_in(piece))
        longest = longest_input(network.config.get_text_config(), tokenizer, stated.get("length"))
        room = longest - fixed
        if pair := stated.get("pair_length"):
            between = self._pieces[self._index("{query}") : self._index("{document}")]
            room = min(
                room, pair - sum(len(self._ids(part)) for part in between if not _parts_in(part))
            )
        self._room = self.room(room, 0)

    def _tokens(self, stated: Mapping[str, Any]) -> list[int]:
        return [self._token(stated[key]) for key in ("yes", "no") if stated.get(key)]

    def _token(self, token: str) -> int:
        ids = self.tokenizer(token, add_special_tokens=False)["input_ids"]
        known_ids = self.tokenizer.get_vocab()
        if len(ids) != 1 and token not in known_ids:
            message = f"its tokenizer has no single token for the answer {token!r}."
            raise InputError(message, path=self.tokenizer.name_or_path)
        return int(ids[0] if len(ids) == 1 else known_ids[token])

    def _index(self, part: str) -> int:
        return next(number for number, piece in enumerate(self._pieces) if part in piece)

    def _ids(self, text: str) -> list[int]:
        encode = self.tokenizer.backend_tokenizer.encode
        return list(encode(text, add_special_tokens=False).ids) if text else []

    def encode(self, pairs: Sequence[Pair]) -> list[Numbers]:
        rows = []
        for query, text in pairs:
            ids, room = list[int](), self._room
            pieces: list[list[int] | str] = []
            for piece in self._pieces:
                parts = _parts_in(piece)
                if not parts:
                    pieces.append(self._ids(piece))
                elif parts == ["{query}"]:
                    piece_ids = self._ids(piece.replace("{query}", query))[: room * 3 // 4]
                    room -= len(piece_ids)
                    pieces.append(piece_ids)
                else:
                    pieces.append(piece)
            for part in pieces:  # the document last, with the room that is left
                if isinstance(part, str):
                    part = self._cut(part, query, text, room)
                ids += part
            rows.append(np.array(ids, dtype=np.int64))
        return rows

    def _cut(self, piece: str, query: str, text: str, room: int) -> list[int]:
        """The ids of the piece with the document, of which as much is cut as does not fit."""
        before, after = (part.replace("{query}", query) for part in piece.split("{document}"))
        while True:
            encoding = self.tokenizer.backend_tokenizer.encode(
                before + text + after, add_special_tokens=False
            )
            excess = len(encoding.ids) - room
            end = len(before) + len(text)
            inside = [
                start for start, stop in encoding.offsets if start >= len(before) and stop <= end
            ]
            if excess <= 0 or not inside:
                return list(encoding.ids[:room])
            text = text[: max(0, inside[max(0, len(inside) - excess)] - len(before))]

    def padded(self, batch: Sequence[Numbers]) -> "dict[str, torch.Tensor]":
        """A batch whose padding comes first, with its positions."""
        filler, device = self.network.config.pad_token_id or 0, self.network.device
        ids, mask = padded([row[::-1] for row in batch], filler, device)
        ids, mask = ids.flip(1), mask.flip(1)
        places = (mask.cumsum(1) - 1).clamp(min=0)
        return {"input_ids": ids, "attention_mask": mask, "position_ids": places}

    def values(self, batch: Sequence[Numbers]) -> "torch.Tensor":
        """(n,) log-odds of "yes", or its logit."""
        output = self.network(**self.padded(batch), logits_to_keep=1)
        answers: torch.Tensor = output.logits[:, -1, self._answers].float()
        return answers[:, 0] - answers[:, 1] if len(self._answers) == 2 else answers[:, 0]


class Templated(YesNo):
    """A classifier with one output that reads a language model's template."""

    def _tokens(self, stated: Mapping[str, Any]) -> list[int]:
        with_padding(self.network, self.tokenizer)
        return []

    def values(self, batch: Sequence[Numbers]) -> "torch.Tensor":
        scores: torch.Tensor = self.network(**self.padded(batch)).logits.float()
        return scores[:, 0]


def _parts_in(piece: str) -> list[str]:
    return [part for part in _PARTS if part in piece]


def _filled(piece: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        piece = piece.replace(name, value)
    return piece
