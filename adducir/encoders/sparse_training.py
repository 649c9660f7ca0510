"""The training of a learned sparse encoder (SPLADE): from a recipe in ``encoders/`` to a folder.

A token's weight is the maximum over a text's positions of ``log(1 + relu(logit))`` of a masked
language model (Formal et al., SIGIR 2021), and the score of a query and a text is the inner product
of their weights. What keeps weights few is the FLOPS regulariser (Paria et al., ICLR 2020), added
to the loss for queries and for texts: the sum over tokens of the square of the mean weight in the
batch, times a weight that rises quadratically in the first steps. With ``document_only``, queries
are bags of their words, which no network reads (SPLADE-doc; Formal et al., 2021b).
"""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from adducir.core.errors import InputError
from adducir.core.recipe import Recipe
from adducir.encoders.reading import Reader
from adducir.models.folders import SIDES, Attention, Side, look
from adducir.models.machine import seed_of
from adducir.models.peers import tower
from adducir.training.retrievers import RetrieverRecipe, RetrieverTraining

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SparseEncoder

Length = Annotated[int, Field(ge=3)]
Weight = Annotated[float, Field(ge=0)]


class FlopsPart(Recipe):
    """The FLOPS regulariser; its defaults are those of sentence-transformers' examples."""

    query: Weight = 5e-5
    """The weight for queries; no effect with `document_only`."""
    document: Weight = 3e-5
    """The weight for texts."""
    ramp: Annotated[float, Field(ge=0, le=1)] = 1 / 3
    """The share of the steps in which both weights rise from 0, quadratically."""

    def penalty(
        self, queries: "torch.Tensor", texts: "torch.Tensor", done: float
    ) -> "torch.Tensor":
        """The penalty of (Q, V) and (C, V) weights after a share of the steps."""
        risen = min(1.0, done / self.ramp) ** 2 if self.ramp else 1.0
        of_queries, of_texts = ((weights.mean(0) ** 2).sum() for weights in (queries, texts))
        return risen * (self.query * of_queries + self.document * of_texts)


class SpladeRecipe(RetrieverRecipe):
    """A whole recipe, ``encoders/NAME.yaml``; see docs/encoders.md for its keys."""

    kind: Literal["splade"] = "splade"
    """What the recipe trains."""
    base: str = "distilbert-base-uncased"
    """A masked language model, or a learned sparse encoder."""
    attention: Attention | None = None
    """What a decoder's tokens attend to, if its files do not state it."""
    document_only: bool = False
    """Whether queries are bags of their words."""
    query_length: Length | None = None
    """Maximum tokens of a query; by default the model's maximum."""
    document_length: Length = 256
    """Maximum tokens of a text."""
    flops: FlopsPart = FlopsPart()
    """The regulariser."""

    @model_validator(mode="after")
    def _has_effect(self) -> "SpladeRecipe":
        if self.document_only and "query" in self.flops.model_fields_set:
            raise ValueError("`flops.query` has no effect with `document_only`")
        return self


class SpladeTraining(RetrieverTraining[SpladeRecipe]):
    """A learned sparse encoder: weights of the vocabulary's tokens, for an inverted index."""

    recipe_type = SpladeRecipe
    artifact = "sparse-encoder"
    needs_examples = True
    card = """A learned sparse encoder (SPLADE; Formal et al., 2021): it weighs the vocabulary's
tokens for an inverted index.

## Use

```sh
adducir encode --sparse --model {name} --corpus CORPUS --output weights/corpus
adducir encode --sparse --model {name} --topics TOPICS --output weights/topics
adducir index --weights weights/corpus --output index
adducir search --index index --topics weights/topics --output run.trec.gz
```

In Python, `sentence_transformers.SparseEncoder("{name}")` loads it."""

    @property
    def kept(self) -> Collection[str]:  # type: ignore[override]
        seen = look(self.base)
        if seen.kind not in ("sparse", "masked-lm", "causal-lm"):
            needed = "a language model with its head, such as distilbert-base-uncased"
            raise seen.no_base("learned sparse encoder", needed, self.base.folder)
        return ("head", "modules", "prompts")

    @cached_property
    def encoder(self) -> "SparseEncoder":
        import torch
        from sentence_transformers import SparseEncoder
        from sentence_transformers.base.modules import Router
        from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

        from adducir.encoders.sparse import load_sparse_encoder
        from adducir.encoders.statement import check_sparse

        _ = self.kept  # a base of another kind is refused
        recipe = self.recipe
        if recipe.document_only and check_sparse(self.base, recipe.attention) is not None:
            raise InputError("`document_only` is not supported for decoders.")
        torch.manual_seed(seed_of(recipe.training.seed, "head"))
        encoder = load_sparse_encoder(self.base, recipe.attention)
        modules: list[Any] = [*encoder.children()]
        if isinstance(modules[0], Router):
            if not recipe.document_only:
                message = f"{self.base.name} reads queries apart from texts."
                raise InputError(message, path=self.base.folder, hint="Set `document_only: true`.")
        elif recipe.document_only:
            tokenizer, network = modules[0].tokenizer, modules[0].model
            if network.get_input_embeddings().num_embeddings != len(tokenizer):
                network.resize_token_embeddings(len(tokenizer))  # rows without a token
            ones = SparseStaticEmbedding(tokenizer, torch.ones(len(tokenizer)), frozen=True)
            router = Router.for_query_document([ones], modules)
            encoder = SparseEncoder(modules=[router], device="cpu", similarity_fn_name="dot")
        lengths = recipe.query_length, recipe.document_length
        for side, length in zip(SIDES, lengths, strict=True):
            module = tower(encoder, side)[0]
            limit = min(filter(None, (length, module.max_seq_length)))
            if hasattr(module, f"{side}_length"):
                setattr(module, f"{side}_length", limit)
            else:
                module.max_seq_length = module.tokenizer.model_max_length = limit
        return encoder

    def model(self) -> "torch.nn.Module":
        return self.encoder

    @cached_property
    def readers(self) -> dict[Side, Reader]:
        """How each side's texts become token ids."""
        readers = dict[Side, Reader]()
        for side in SIDES:
            module = tower(self.encoder, side)[0]
            length = getattr(module, f"{side}_length", None) or module.max_seq_length
            prompt, is_network = self.encoder.prompts.get(side) or "", hasattr(module, "model")
            readers[side] = Reader(module.tokenizer, length, prompt, is_network)
        return readers

    def features(self, ids: "torch.Tensor", mask: "torch.Tensor", side: Side) -> dict[str, Any]:
        return {"input_ids": ids, "attention_mask": mask, "task": side}

    def regulariser(self, queries: "torch.Tensor", texts: "torch.Tensor") -> "torch.Tensor":
        flops = self.recipe.flops
        if self.recipe.document_only:
            queries = queries[:0].sum(0, keepdim=True)
        return flops.penalty(queries, texts, self.done)

    def save(self, model: Any, folder: Path) -> None:
        model.save(str(folder), create_model_card=False)
