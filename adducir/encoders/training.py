"""The training of a dual encoder: from a recipe in ``encoders/`` to a model's folder.

From masked spans, each context is contrasted with all spans of its batch (in-batch negatives,
InfoNCE): loss = mean over i of -log(exp(c_i . s_i / t) / sum over j of exp(c_i . s_j / t)) (van den
Oord et al., 2018; equation 1 of EGRET; section 3.2 of RELiC, which both sum instead of averaging,
with t = 1). Spans with the same text as s_i are not wrong answers to c_i and are left out of the
sum. :mod:`Examples <adducir.training.examples>` have queries and documents instead.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from adducir.core.config import load, validate
from adducir.core.errors import AdducirError, InputError, gathering
from adducir.core.texts import same_words
from adducir.corpora.sources import expanded, file_path
from adducir.corpora.spans import MaskedSpan, context_text, read_spans
from adducir.encoders.kinds import EncoderSource, described, encoder_source, refuse_tokenizer
from adducir.encoders.reading import ContextPart, LengthPart, Reader, Towers
from adducir.encoders.settings import EncodingSettings, PoolingMode, Similarity
from adducir.models.folders import Side, left_out
from adducir.models.sources import RECIPES
from adducir.models.work import Numbers
from adducir.training.data import DataPart, Rows, TrainingData, divided, in_lists, same_number
from adducir.training.losses import COSINE_TEMPERATURE, LOSSES
from adducir.training.retrievers import (
    RetrieverRecipe,
    RetrieverSettings,
    RetrieverTraining,
    row_of,
)
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch

    from adducir.encoders.model import DualEncoder


class EncoderSettings(RetrieverSettings):
    """The papers' settings if stated; RELiC's batches, because EGRET does not state its own."""

    epochs: Annotated[int, Field(ge=1)] = 10
    batch_size: Annotated[int, Field(ge=2)] = 100
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0


class EncoderRecipe(RetrieverRecipe):
    """A whole recipe, ``encoders/NAME.yaml``; see docs/encoders.md for its keys."""

    kind: Literal["dual-encoder"] = "dual-encoder"
    """What the recipe trains."""
    towers: Towers = "separate"
    """Whether contexts and spans, or queries and documents, share a network."""
    pooling: PoolingMode | None = None
    """How tokens' vectors are pooled; by default as in the base."""
    similarity: Similarity | None = None
    """How vectors are compared; by default as in the base."""
    context: ContextPart = ContextPart()
    """What is read around the mask."""
    lengths: LengthPart = LengthPart()
    """Maximum tokens, including special ones."""
    data: DataPart | None = None
    """The masked spans to train on, instead of `examples`."""
    training: EncoderSettings = EncoderSettings()

    @model_validator(mode="after")
    def _one_source(self) -> "EncoderRecipe":
        if (self.data is None) == (self.examples is None):
            raise ValueError("give either `data` (masked spans) or `examples`")
        of_the_other = ("context",) if self.data is None else ("fields", "held_out")
        if stated := sorted(self.model_fields_set.intersection(of_the_other)):
            other = "data" if self.data is None else "examples"
            raise ValueError(f"`{stated[0]}` has no effect without `{other}`")
        return self


def spans_of(part: DataPart, folder: Path) -> Iterator[tuple[MaskedSpan, str]]:
    """A recipe's spans with their parts; a group is in one part only."""
    return divided(part, folder, read_spans, group=lambda span: span.group, groups="groups")


_OF_SPANS = """A dual encoder that retrieves the passage masked in a context (as dense-RELiC, Thai
et al., 2022, and EGRET, Wang et al., 2022).

## Use

```sh
adducir encode --model {name} --spans spans.jsonl.gz --set side=span --output vectors
adducir literary-evidence ask BOOK.txt "a prompt" --model {name}
```

In Python, `SentenceTransformer("{name}")` loads it: `encode_query` encodes contexts,
`encode_document` passages."""
_OF_EXAMPLES = """A dual encoder that retrieves documents for queries.

## Use

```sh
adducir index corpus.jsonl --engine dense --encoder {name} --output index
adducir search --index index --topics topics.tsv --output run.trec.gz
```

In Python, `SentenceTransformer("{name}")` loads it: `encode_query` encodes queries,
`encode_document` documents."""


class EncoderTraining(RetrieverTraining[EncoderRecipe]):
    """The training of a dual encoder; ``before`` trains its base, if known."""

    recipe_type = EncoderRecipe
    artifact = "dual-encoder"
    kept = ("modules", "projection", "prompts")

    def __init__(
        self,
        recipe: EncoderRecipe,
        folder: Path,
        before: "tuple[Trainable[Any], Path] | None" = None,
        chain: tuple[Path, ...] = (),
    ) -> None:
        with gathering() as opening:
            opening(lambda: super(EncoderTraining, self).__init__(recipe, folder))
            self.before = before or opening(lambda: self._base_training(chain))
            if self.before is None:
                opening(lambda: self.base)
            else:
                path = self.before[1]
                opening(lambda: refuse_tokenizer(recipe.tokenizer, path))
            if (data := recipe.data) is not None:
                self._data = opening(lambda: data.identity(folder))
        if recipe.data is not None:
            self.unit = "spans"
            if self.criterion.needs_negatives:
                name = LOSSES.name_of(type(self.criterion))
                raise InputError(
                    f"the loss {name} needs negatives of each query, which spans do not have.",
                    hint="Set `loss: in-batch-negatives`, or train from `examples`.",
                )

    @property
    def card(self) -> str:  # type: ignore[override]
        return _OF_SPANS if self.recipe.data else _OF_EXAMPLES

    def _base_training(self, chain: tuple[Path, ...]) -> "tuple[Trainable[Any], Path] | None":
        """The training of a base named by its recipe, unless the base exists without its data."""
        path = file_path(self.recipe.base, self.folder)
        if "," in self.recipe.base or path.suffix not in RECIPES:
            return None
        if path in chain:
            raise InputError("this encoder's base depends on itself.", path=path)
        try:
            recipe = validate(load(path), EncoderRecipe)
            training = EncoderTraining(recipe, self.folder, chain=(*chain, path))
        except AdducirError:
            if chain or not path.with_suffix("").is_dir():
                raise
            return None
        return training, path.with_suffix("")

    @cached_property
    def base(self) -> EncoderSource:
        tokenizer = self.recipe.tokenizer and expanded(self.recipe.tokenizer)
        source = encoder_source(expanded(self.recipe.base), self.folder, tokenizer)
        return replace(source, is_base=True)

    def base_statement(self) -> str:
        given = {key: getattr(self.recipe, key) for key in ("pooling", "similarity")}
        stated = EncodingSettings(**{key: value for key, value in given.items() if value})
        sources = self.base.query, self.base.document
        left = "".join(dict.fromkeys(left_out(source, self.kept) for source in sources))
        return f"{self.base.name}: {described(replace(self.base, encoding=stated))}{left}"

    @property
    def settings(self) -> dict[str, Any]:
        values, data = super().settings, self.recipe.data
        if data is None:
            del values["data"], values["context"]
            return values
        del values["fields"], values["held_out"]
        named = {"train", "validation", "without"}
        values["data"] = data.model_dump(mode="json", exclude=named)
        return values | {"held_out": bool(data.validation)}

    @cached_property
    def inputs(self) -> dict[str, str]:
        base = self.before[0].fingerprint if self.before else self.base.identity()
        data = self.examples.identity() if self.examples else self._data
        return {"base": base, **data}

    @cached_property
    def encoder(self) -> "DualEncoder":
        from adducir.encoders.model import DualEncoder

        recipe, keys = self.recipe, ("context", "lengths", "similarity", "towers", "pooling")
        options = {key: getattr(recipe, key) for key in keys}
        if recipe.data is None:
            options["context"] = ContextPart(mask=False)
        return DualEncoder.load(self.base, seed=recipe.training.seed, **options)

    def model(self) -> "torch.nn.Module":
        return self.encoder.model

    def ids(self, texts: Sequence[str], side: Side) -> Sequence[Numbers]:
        inputs = self.encoder.inputs
        return inputs.queries(texts) if side == "query" else inputs.documents(texts)

    def features(self, ids: "torch.Tensor", mask: "torch.Tensor", side: "Side") -> dict[str, Any]:
        return self.encoder.features(ids, mask, side)

    @property
    def readers(self) -> dict[Side, Reader]:
        return {"query": self.encoder.inputs.query, "document": self.encoder.inputs.document}

    @property
    def temperature(self) -> float:
        is_cosine = self.encoder.model.similarity_fn_name == "cosine"
        return COSINE_TEMPERATURE if is_cosine else 1.0

    def rows(self, counts: dict[str, Any]) -> Rows:
        if self.recipe.data is None:
            yield from super().rows(counts)
            return
        groups: dict[str, set[str]] = {"train": set(), "validation": set()}
        numbers = dict[str, int]()
        spans = (
            (span, part) for span, part in spans_of(self.recipe.data, self.folder) if part in groups
        )
        for some in in_lists(spans):
            contexts = self.encoder.inputs.contexts([span for span, _ in some])
            texts = self.encoder.inputs.documents([span.text for span, _ in some])
            for (span, part), context, text in zip(some, contexts, texts, strict=True):
                groups[part].add(span.group)
                same = same_number(same_words(span.text))  # as among candidates
                group = numbers.setdefault(span.group, len(numbers))
                asks = same_number(context_text(span))
                yield part, {**row_of(context, [text], [same]), "asks": asks, "group": group}
        counts.update({f"{part}_groups": len(names) for part, names in groups.items()})

    def save(self, model: "torch.nn.Module", folder: Path) -> None:
        self.encoder.save(folder)

    def summary(self, data: TrainingData) -> str:
        if self.recipe.data is None:
            return super().summary(data)
        counts = data.counts
        return (
            f"{len(data.train):,} spans of {counts['train_groups']:,} groups to train on, "
            f"{len(data.validation):,} of {counts['validation_groups']:,} held out"
        )
