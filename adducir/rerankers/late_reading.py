"""How a late-interaction model reads texts, as its files state it.

Three programs save such models: ColBERT's authors (``artifact.metadata`` beside the weights),
PyLate (keys of ``config_sentence_transformers.json``), and sentence-transformers (the settings of a
MultiVectorEncoder's modules). What none of them states is as published for ColBERT; a recipe's keys
have precedence.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.models.folders import (
    SENTENCE_SETTINGS,
    SIDES,
    Side,
    modules_of,
    network_settings,
    object_in,
)
from adducir.models.peers import check_modules
from adducir.models.sources import ModelSource

PUNCTUATION = tuple(string.punctuation)
_PLURALS = ("queries", "documents")
_KNOWN_MODULES = {"Transformer", "Dense", "MultiVectorMask", "Normalize"}


@dataclass(frozen=True)
class LateReading:
    """How both sides are read: queries first where there are two values.

    Attributes:
        markers: A token after the opening ones, or none.
        prompts: A text before each text.
        lengths: Maximum tokens, None for the network's maximum.
        expanded: Queries are padded to this number of tokens, if at all.
        is_fixed: Whether longer queries are cut to that number.
        attend: Whether other tokens attend to that padding, which counts like a token.
        filler: The token that pads; by default the mask, or a decoder's end token.
        skipped: Words whose tokens have no vectors on the sides in ``skips``.
        is_mean: Whether the score is divided by the number of the query's vectors.
        stated: What states it.
    """

    markers: tuple[str | None, str | None] = ("[unused0]", "[unused1]")
    prompts: tuple[str, str] = ("", "")
    lengths: tuple[int | None, int | None] = (None, 220)
    expanded: int | None = 32
    is_fixed: bool = True
    attend: bool = False
    filler: str | None = None
    skipped: tuple[str, ...] = PUNCTUATION
    skips: tuple[Side, ...] = ("document",)
    is_mean: bool = False
    stated: str = "as published for ColBERT"

    def shown(self) -> str:
        """The reading in a line."""
        names = [
            f"{side} after {marker or prompt!r}"
            for side, marker, prompt in zip(_PLURALS, self.markers, self.prompts, strict=True)
            if marker or prompt
        ]
        query, document = self.lengths
        padded = f"padded to {self.expanded} tokens" if self.expanded else f"of {query} tokens"
        attended = " that others attend to" if self.attend and self.expanded else ""
        names += [f"queries {padded}{attended}"]
        names += [f"documents of {document or 'all'} tokens"]
        names += ["punctuation without vectors" if self.skipped == PUNCTUATION else ""]
        names += ["scores divided by the query's vectors" if self.is_mean else ""]
        return f"{', '.join(filter(None, names))} ({self.stated})"


def stated_reading(source: ModelSource) -> LateReading:
    """What a model's files state; an InputError if it computes what no use here would."""
    folder = source.described()
    settings, modules = object_in(folder / SENTENCE_SETTINGS), modules_of(folder)
    if not modules:
        return _of_stanford(object_in(folder / "artifact.metadata"))
    check_modules(folder)
    for kind, _ in modules:
        if kind.rpartition(".")[2] not in _KNOWN_MODULES:
            message = f"its module {kind} would not be computed."
            raise InputError(message, path=folder / "modules.json")
    if settings.get("model_type") == "ColBERT":
        return _of_pylate(settings)
    prompts = settings.get("prompts") or {}
    reading = LateReading(
        markers=(None, None),
        prompts=(str(prompts.get("query") or ""), str(prompts.get("document") or "")),
        is_mean=settings.get("similarity_fn_name") == "meanmaxsim",
        stated="sentence-transformers' files",
    )
    for kind, place in modules:
        reading = _of_module(kind, place, reading)
    return reading


def _of_stanford(stated: Mapping[str, Any]) -> LateReading:
    return LateReading(
        markers=(
            stated.get("query_token_id") or "[unused0]",
            stated.get("doc_token_id") or "[unused1]",
        ),
        prompts=(" ", " "),  # it reads ". " before a text, and puts the marker for the full stop
        lengths=(None, stated.get("doc_maxlen") or 220),
        expanded=stated.get("query_maxlen") or 32,
        attend=bool(stated.get("attend_to_mask_tokens")),
        skipped=PUNCTUATION if stated.get("mask_punctuation", True) else (),
        stated="artifact.metadata" if stated else LateReading.stated,
    )


def _of_pylate(stated: Mapping[str, Any]) -> LateReading:
    prompts = stated.get("prompts") or {}
    prefixes = [stated.get(f"{side}_prefix") or "" for side in SIDES]
    texts = [
        str(prompts.get(side) or "").removeprefix(prefix)
        for side, prefix in zip(SIDES, prefixes, strict=True)
    ]
    attend = stated.get("attend_to_expansion_tokens", stated.get("attend_to_mask_tokens"))
    query, skipped = stated.get("query_length"), stated.get("skiplist_words")
    expands = stated.get("do_query_expansion") is not False
    return LateReading(
        markers=(prefixes[0] or None, prefixes[1] or None),
        prompts=(texts[0], texts[1]),
        lengths=(None if expands else query, stated.get("document_length")),
        expanded=(query or 32) if expands else None,
        attend=bool(attend),
        skipped=PUNCTUATION if skipped is None else tuple(skipped),
        is_mean=stated.get("similarity_fn_name") == "meanmaxsim",
        stated="PyLate's files",
    )


def _of_module(kind: str, place: Path, reading: LateReading) -> LateReading:
    if kind.endswith("Transformer"):
        config = network_settings(place)
        expansion = config.get("query_expansion") or {}
        return replace(
            reading,
            lengths=(config.get("query_length"), config.get("document_length")),
            expanded=int(expansion["length"]) if expansion else None,
            is_fixed=expansion.get("strategy", "fixed") == "fixed",
            attend=bool(expansion.get("attend")),
            filler=expansion.get("token"),
        )
    if not kind.endswith("MultiVectorMask"):
        return reading
    config = object_in(place / "config.json")
    if config.get("keep_only_token_ids"):
        message = "it keeps the vectors of some tokens only (images'), which is not supported."
        raise InputError(message, path=place / "config.json")
    tasks = config.get("skiplist_tasks")
    skips = reading.skips if tasks is None else tuple(side for side in SIDES if side in tasks)
    return replace(reading, skipped=tuple(config.get("skiplist_words") or ()), skips=skips)
