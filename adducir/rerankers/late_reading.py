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
from adducir.models.folders import SENTENCE_SETTINGS, modules_of, object_in
from adducir.models.sources import ModelSource

PUNCTUATION = tuple(string.punctuation)
_KNOWN_MODULES = {"Transformer", "Dense", "MultiVectorMask", "Normalize"}
_OURS = ("sentence_transformers.", "pylate.")


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
        skipped: Words whose tokens have no vectors, on the sides that ``skips`` says.
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
    skips: tuple[bool, bool] = (False, True)
    is_mean: bool = False
    stated: str = "as published for ColBERT"

    def shown(self) -> str:
        """The reading in a line."""
        names = [
            f"{side} after {marker or prompt!r}"
            for side, marker, prompt in zip(
                ("queries", "documents"), self.markers, self.prompts, strict=True
            )
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
    if (folder / "artifact.metadata").is_file() and not modules:
        return _of_stanford(object_in(folder / "artifact.metadata"))
    if not modules:
        return LateReading()
    reading = _of_pylate(settings) if settings.get("model_type") == "ColBERT" else LateReading()
    for kind, place in modules:
        name = kind.rpartition(".")[2]
        if not kind.startswith(_OURS) or name not in _KNOWN_MODULES:
            message = f"its module {kind} would not be computed."
            raise InputError(message, path=folder / "modules.json")
        if settings.get("model_type") != "ColBERT":
            reading = _of_module(name, place, reading)
    if settings.get("model_type") == "ColBERT":
        return reading
    prompts = settings.get("prompts") or {}
    both = (str(prompts.get("query") or ""), str(prompts.get("document") or ""))
    is_mean = settings.get("similarity_fn_name") == "meanmaxsim"
    files = "sentence-transformers' files"
    return replace(reading, markers=(None, None), prompts=both, is_mean=is_mean, stated=files)


def _of_stanford(stated: Mapping[str, Any]) -> LateReading:
    return LateReading(
        markers=(
            stated.get("query_token_id") or "[unused0]",
            stated.get("doc_token_id") or "[unused1]",
        ),
        lengths=(None, stated.get("doc_maxlen") or 220),
        expanded=stated.get("query_maxlen") or 32,
        attend=bool(stated.get("attend_to_mask_tokens")),
        skipped=PUNCTUATION if stated.get("mask_punctuation", True) else (),
        stated="artifact.metadata",
    )


def _of_pylate(stated: Mapping[str, Any]) -> LateReading:
    prompts = stated.get("prompts") or {}
    markers, texts = list[str | None](), list[str]()
    for side in ("query", "document"):
        prefix = stated.get(f"{side}_prefix") or ""
        markers.append(prefix or None)
        texts.append(str(prompts.get(side) or "").removeprefix(prefix))
    attend = stated.get("attend_to_expansion_tokens", stated.get("attend_to_mask_tokens"))
    query, skipped = stated.get("query_length"), stated.get("skiplist_words")
    expands = stated.get("do_query_expansion") is not False
    return LateReading(
        markers=(markers[0], markers[1]),
        prompts=(texts[0], texts[1]),
        lengths=(None if expands else query, stated.get("document_length")),
        expanded=(query or 32) if expands else None,
        attend=bool(attend),
        skipped=PUNCTUATION if skipped is None else tuple(skipped),
        is_mean=stated.get("similarity_fn_name") == "meanmaxsim",
        stated="PyLate's files",
    )


def _of_module(name: str, place: Path, reading: LateReading) -> LateReading:
    if name == "Transformer":
        paths = sorted(place.glob("sentence_*_config.json"))
        config = object_in(paths[0]) if paths else {}
        expansion = config.get("query_expansion")
        return replace(
            reading,
            lengths=(config.get("query_length"), config.get("document_length")),
            expanded=int(expansion["length"]) if expansion else None,
            is_fixed=not expansion or expansion.get("strategy", "fixed") == "fixed",
            attend=bool(expansion and expansion.get("attend")),
            filler=expansion.get("token") if expansion else None,
        )
    config = object_in(place / "config.json")
    if name == "MultiVectorMask":
        if config.get("keep_only_token_ids"):
            message = "it keeps the vectors of some tokens only (images'), which is not supported."
            raise InputError(message, path=place / "config.json")
        tasks = config.get("skiplist_tasks")
        tasks = ["document"] if tasks is None else tasks
        skips = ("query" in tasks, "document" in tasks)
        return replace(reading, skipped=tuple(config.get("skiplist_words") or ()), skips=skips)
    activation = str(config.get("activation_function") or "torch.")
    if name == "Dense" and not activation.startswith("torch."):
        message = f"its dense layer's activation {activation} is not one of torch."
        raise InputError(message, path=place / "config.json")
    return reading
