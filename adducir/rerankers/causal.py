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
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.errors import InputError
from adducir.models.folders import FolderKind
from adducir.models.loading import load_model, load_tokenizer, longest_input
from adducir.models.sources import ModelSource, known
from adducir.rerankers.pairs import Encoded, Pair, Pointwise
from adducir.rerankers.recipe import Length, RerankerRecipe

if TYPE_CHECKING:
    import torch

_PARTS = ("{query}", "{document}")


class Question(RerankerRecipe):
    """What a language model is asked, and the tokens of its answers, as published or set."""

    template: tuple[str, ...] | None = None
    """The question, in pieces that are tokenised separately; it contains {query} and {document},
    and may contain {instruction} and {bos}."""
    instruction: str | None = None
    """What {instruction} stands for."""
    yes: str | None = None
    """The token of a relevant document."""
    no: str | None = None
    """That of another; without it the score is the logit of ``yes``."""

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
        origin = "set" if not facts else published.title if published else ""
        origin += " and set" if facts and stated else ""
        facts |= stated
        text = "".join(facts["template"])
        if absent := [part for part in _PARTS if text.count(part) != 1]:
            message = f"the template must contain {absent[0]} once."
            raise InputError(message, path=source.folder or source.name)
        return facts, origin


def pieces_of(stated: Mapping[str, Any], bos: str) -> list[str]:
    """A question's pieces, with what does not depend on query and document filled in."""
    instruction = stated.get("instruction") or ""
    if instruction:
        instruction = stated.get("instructed", "{}").replace("{}", instruction)
    return [
        piece.replace("{instruction}", instruction).replace("{bos}", bos)
        for piece in stated["template"]
    ]


class YesNoRecipe(Question):
    """A language model's answer to whether a document is relevant."""

    reads: ClassVar[tuple[FolderKind, ...]] = ("causal-lm",)
    scores: ClassVar[str] = "log-odds of the answer yes"

    model: Literal["yes-no"] = "yes-no"
    length: Length | None = None
    """Tokens of an input; by default as published, or as many as the model reads."""

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        return super().accepts(source) and known(source, "rerankers") is not None

    @classmethod
    def accepts(cls, source: ModelSource) -> bool:
        """One that sentence-transformers wraps in a CrossEncoder may be asked, too."""
        return super().accepts(source) or source.has_architecture("ForCausalLM", "LMHeadModel")

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
    is_left = True

    def __init__(self, network: Any, tokenizer: Any, stated: dict[str, Any]) -> None:
        self.network, self.tokenizer = network, tokenizer
        self._answers = [self._token(stated[key]) for key in ("yes", "no") if stated.get(key)]
        self._pieces = pieces_of(stated, tokenizer.bos_token or "")
        longest = longest_input(network.config.get_text_config(), tokenizer, stated.get("length"))
        room = longest - self._fixed(self._pieces)
        if pair := stated.get("pair_length"):
            places = [
                next(number for number, piece in enumerate(self._pieces) if part in piece)
                for part in _PARTS
            ]
            room = min(room, pair - self._fixed(self._pieces[slice(*places)]))
        self._room = self.room(room, 0)

    def _fixed(self, pieces: Sequence[str]) -> int:
        """The tokens of pieces without query and document."""
        return sum(len(self._ids(piece)) for piece in pieces if not _parts_in(piece))

    def _token(self, token: str) -> int:
        vocabulary = self.tokenizer.get_vocab()
        ids = self._ids(token)
        if len(ids) == 1:
            return ids[0]
        if token in vocabulary:
            return int(vocabulary[token])
        message = f"its tokenizer has no single token for the answer {token!r}."
        raise InputError(message, path=self.tokenizer.name_or_path)

    def _ids(self, text: str) -> list[int]:
        encode = self.tokenizer.backend_tokenizer.encode
        return list(encode(text, add_special_tokens=False).ids) if text else []

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        return [Encoded(np.array(self._whole(*pair), dtype=np.int64)) for pair in pairs]

    def _whole(self, query: str, text: str) -> list[int]:
        """The ids of all pieces; the document's are read last, in the room that is left."""
        room, pieces = self._room, list[list[int]]()
        for piece in self._pieces:
            parts = _parts_in(piece)
            ids = [] if "{document}" in parts else self._ids(piece.replace("{query}", query))
            if parts == ["{query}"]:
                ids = ids[: room * 3 // 4]
                room -= len(ids)
            pieces.append(ids)
        place = next(n for n, piece in enumerate(self._pieces) if "{document}" in piece)
        pieces[place] = self._cut(self._pieces[place], query, text, room)
        return list(chain.from_iterable(pieces))

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

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) log-odds of "yes", or its logit."""
        output = self.network(**self.features(batch), logits_to_keep=1)
        answers: torch.Tensor = output.logits[:, -1, self._answers].float()
        return answers[:, 0] - answers[:, 1] if len(self._answers) == 2 else answers[:, 0]


class Templated(YesNo):
    """A classifier with one output that reads a language model's template."""

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        scores: torch.Tensor = self.network(**self.features(batch)).logits.float()
        return scores[:, 0]


def _parts_in(piece: str) -> list[str]:
    return [part for part in _PARTS if part in piece]
