"""How an encoder reads and compares texts: one statement, each value of it with its source.

A value is set by the user, stated by the model's files (those of sentence-transformers, or an
architecture such as DPR's), published for the model's name (``models/known.yaml``), or, where
sentence-transformers' files leave it open, what that program assumes. A plain transformer states
neither pooling nor similarity: these are asked for, never guessed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError, Keyed, worded
from adducir.core.texts import listed
from adducir.encoders.settings import EncodingSettings
from adducir.models.folders import (
    SENTENCE_SETTINGS,
    Attention,
    Look,
    Side,
    attention_of,
    config_of,
    look,
    modules_of,
    network_settings,
    object_in,
)
from adducir.models.peers import T5_ENCODERS
from adducir.models.sources import ModelSource, known

RECIPE = "the recipe's default"
ALLOWED = "allowed by the user"
SET, FILES, ASSUMED = "set", "the model's files", "assumed, as sentence-transformers does"
_FROM_THEIRS = {"cls": "first", "lasttoken": "last", "weightedmean": "weighted-mean"}
THEIR_MODES = {ours: theirs for theirs, ours in _FROM_THEIRS.items()} | {"pooler": "cls"}
_OLD_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}
_ASK = Keyed(
    "Set them, such as {} and {}: the model's card says which, or mteb's entry.",
    *(("pooling", "first"), ("similarity", "dot")),
)


class Fact(NamedTuple):
    value: Any
    source: str


@dataclass(frozen=True)
class Statement:
    """One side's values by the names of settings; ``pooling`` may name several modes."""

    facts: Mapping[str, Fact] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.facts[name].value if name in self.facts else None

    def limited(self, name: str, limit: int) -> "Statement":
        """The same, with a length that the network does not exceed."""
        fact = self.facts.get(name, Fact(limit, FILES))
        fact = fact if fact.value <= limit else Fact(limit, FILES)
        return replace(self, facts={**self.facts, name: fact})

    def unstated(self, *without: str) -> dict[str, Any]:
        """The values that the model's own files do not determine."""
        names = self.facts.keys() - set(without)
        return {name: self[name] for name in sorted(names) if self.facts[name].source != FILES}


def state(
    source: ModelSource,
    side: Side,
    settings: EncodingSettings | None = None,
    *,
    is_base: bool = False,
) -> Statement:
    """The statement of one side; lengths are absent where only the network limits them.

    Args:
        is_base: For training, a plain transformer's pooling may be left out: the first token's
            vector, or the last one's of a decoder; vectors are compared by inner product.

    Raises:
        InputError: Pooling or similarity is neither stated, known nor set, or it is another kind
            of model.
    """
    seen, published = look(source), known(source, "encoders")
    stated_values = settings.given() if settings else {}
    folder = source.described()
    # Training takes the encoder of a T5, whose decoder is left out.
    kind_of_config = object_in(folder / "config.json").get("model_type")
    is_t5 = is_base and seen.kind == "seq2seq" and kind_of_config in T5_ENCODERS
    if seen.kind not in ("encoder", "transformer", "masked-lm", "causal-lm") and not is_t5:
        if is_base:
            raise seen.no_base("dual encoder", "an encoder or a network without a head", folder)
        message = f"this is a {seen.title}, not a dense encoder."
        raise InputError(message, path=folder, hint=seen.use)
    stated = _of_modules(folder, side) if modules_of(folder) else {}
    if not modules_of(folder) and re.match("DPR|Roberta.*Dot", seen.title):  # by its class
        stated = {"pooling": "first", "similarity": "dot"}
    facts = {name: Fact(value, FILES) for name, value in stated.items()}
    attention = attention_of(config_of(source, side))
    if attention is None and "attention" in stated_values:
        raise _not_a_decoder(seen, folder)
    if attention == "bidirectional":
        facts["attention"] = Fact(attention, FILES)
    if source.runs_code:
        facts["code"] = Fact(True, ALLOWED)
    if published is not None:
        for name, value in published.facts.items():
            # Prompts are saved empty by a program that was not told any.
            if name not in facts or (name.endswith("_prompt") and not facts[name].value):
                facts[name] = Fact(value, published.title)
    facts |= {name: Fact(value, SET) for name, value in stated_values.items()}
    prompts = _prompts(folder)
    prompt = facts.get(f"{side}_prompt")
    if prompt is not None and prompt.source == SET and prompt.value in prompts:  # by its name
        facts[f"{side}_prompt"] = Fact(prompts[prompt.value], SET)
    elif prompt is None and side == "query" and (named := {n: p for n, p in prompts.items() if p}):
        message = f"its prompts are named {listed(sorted(named))}: none is for queries."
        hint = f"Set {worded('query_prompt')} to one of these or to a text; to '' for none."
        raise InputError(message, path=folder / SENTENCE_SETTINGS, hint=hint)
    if "similarity" not in facts and modules_of(folder):
        facts["similarity"] = Fact("cosine", ASSUMED)
    attention = facts["attention"].value if "attention" in facts else attention
    if is_base and "pooling" not in facts:
        facts["pooling"] = Fact("last" if attention == "causal" else "first", RECIPE)
    if is_base:
        facts.setdefault("similarity", Fact("dot", RECIPE))
    if attention == "causal" and "pooling" in facts and facts["pooling"].value == "first":
        raise InputError(
            f"the first token of a {seen.title} sees no other and is the same for all texts.",
            path=folder,
            hint=f"Set {worded('pooling')} to last or mean"
            + ("." if is_base else f", or {worded('attention')} to bidirectional."),
        )
    missing = [name for name in ("pooling", "similarity") if name not in facts]
    if missing:
        raise InputError(
            f"this is a plain transformer ({seen.title}), whose files do not state its "
            f"{' and '.join(missing)} as an encoder.",
            path=folder,
            hint=_ASK,
        )
    other = "document_" if side == "query" else "query_"
    return Statement({name: fact for name, fact in facts.items() if not name.startswith(other)})


def check_sparse(source: ModelSource, attention: Attention | None = None) -> Attention | None:
    """Refuse what is not a learned sparse encoder; returns a decoder's attention."""
    seen, stated = look(source), attention_of(config_of(source))
    if seen.kind not in ("sparse", "masked-lm", "causal-lm"):
        message = f"this is a {seen.title}, not a learned sparse encoder."
        raise InputError(message, path=source.folder, hint=seen.use)
    if attention is not None and stated is None:
        raise _not_a_decoder(seen, source.folder)
    if seen.kind == "causal-lm" and attention is None and stated == "causal":
        message = f"a plain {seen.title} does not state that it is a learned sparse encoder."
        hint = f"If it is, set {worded('attention')} (causal, or bidirectional). {seen.use}"
        raise InputError(message, path=source.folder, hint=hint)
    return attention or stated


def _not_a_decoder(seen: Look, folder: Path | None) -> InputError:
    message = f"a {seen.title} is not a decoder: its tokens attend to all others."
    return InputError(message, path=folder, hint=f"Leave {worded('attention')} out.")


def _prompts(folder: Path) -> dict[str, str]:
    prompts = object_in(folder / SENTENCE_SETTINGS).get("prompts") or {}
    return {str(name): str(text or "") for name, text in prompts.items()}


def _of_modules(folder: Path, side: Side) -> dict[str, Any]:
    """What sentence-transformers' files state."""
    settings, values = object_in(folder / SENTENCE_SETTINGS), dict[str, Any]()
    for kind, place in modules_of(folder, side):
        name, config = kind.rpartition(".")[2], object_in(place / "config.json")
        if name == "Pooling":
            modes = config.get("pooling_mode")
            if modes is None:
                modes = [mode for key, mode in _OLD_MODES.items() if config.get(key)] or ["mean"]
            modes = [modes] if isinstance(modes, str) else modes
            values["pooling"] = "+".join(_FROM_THEIRS.get(mode, mode) for mode in modes)
            values["pool_prompt"] = bool(config.get("include_prompt", True))
        elif name == "Normalize":
            values["similarity"] = "cosine"
        elif name == "Transformer":
            lengths = network_settings(place)
            limits = lengths.get("max_seq_length"), lengths.get(f"{side}_length")
            if known := [limit for limit in limits if limit]:
                values[f"{side}_length"] = min(known)
    stated = settings.get("similarity_fn_name")
    if stated not in (None, "dot", "cosine"):
        message = f"its vectors are compared by {stated} distance, which is not supported."
        hint = "Name an encoder trained for dot or cosine."
        raise InputError(message, path=folder / SENTENCE_SETTINGS, hint=hint)
    if stated and "similarity" not in values:
        values["similarity"] = stated
    if settings.get("truncate_dim"):
        values["dimensions"] = int(settings["truncate_dim"])
    prompts = _prompts(folder)
    named = [name for name in _PROMPTS[side] if name in prompts]
    if named:
        values[f"{side}_prompt"] = next((prompts[name] for name in named if prompts[name]), "")
    elif not any(prompts.values()):
        values[f"{side}_prompt"] = ""
    return values


_SHOWN: Mapping[str, str | Mapping[Any, str]] = {
    "pooling": "pooling {}",
    "similarity": "{}",
    "query_prompt": "queries {}",
    "query_length": "queries of {:,} tokens",
    "query_padding": "queries padded with {}",
    "document_prompt": "documents {}",
    "document_length": "documents of {:,} tokens",
    "dimensions": "{:,} dimensions",
    "attention": {"bidirectional": "attention to all tokens"},
    "truncation_side": "cut on the {}",
    "end_token": {True: "an end token after each text"},
    "special_tokens": {False: "no special tokens"},
    "pool_prompt": {False: "prompts not pooled"},
    "prompt_pair": {True: "prompt and text as a pair"},
    "code": {True: "the model's own code"},
}
"""Each value in words; of switches, only what is unusual."""


def shown(statements: Mapping[Side, Statement]) -> str:
    """Both sides in a line, values of one source together."""
    by_source: dict[str, list[str]] = {}
    for name, words in _SHOWN.items():
        sides = [side for side in statements.values() if name in side.facts]
        for value, source in dict.fromkeys(side.facts[name] for side in sides):
            if not isinstance(words, str):
                text = words.get(value, "")
            elif name.endswith("prompt"):
                text = words.format(json.dumps(value, ensure_ascii=False)) if value else ""
            else:
                text = words.format(value)
            if text:
                by_source.setdefault(source, []).append(text)
    return "; ".join(f"{', '.join(texts)} ({source})" for source, texts in by_source.items())
