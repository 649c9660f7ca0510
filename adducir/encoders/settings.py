"""What users can set of how an encoder reads and compares texts."""

from typing import Annotated, Any, Literal

from pydantic import Field

from adducir.core.recipe import RARE, Recipe

PoolingMode = Literal["first", "mean", "max", "last", "weighted-mean", "pooler"]
"""The vector of the first token ([CLS], <s>); the mean, maximum or position-weighted mean (SGPT) of
the tokens; that of the last token, as decoders need; or BERT's pooler: a dense layer with tanh on
the first token's vector."""
Similarity = Literal["dot", "cosine"]
_Length = Annotated[int, Field(ge=3)] | None


class EncodingSettings(Recipe):
    """What the user sets of an encoder's statement; None is left to the model."""

    pooling: PoolingMode | None = Field(default=None, json_schema_extra=RARE)
    """How the encoder pools its tokens' vectors."""
    similarity: Similarity | None = Field(default=None, json_schema_extra=RARE)
    """How the encoder's vectors are compared."""
    query_prompt: str | None = Field(default=None, json_schema_extra=RARE)
    """What the encoder reads before each query."""
    document_prompt: str | None = Field(default=None, json_schema_extra=RARE)
    """What the encoder reads before each document."""
    query_length: _Length = Field(default=None, json_schema_extra=RARE)
    """Maximum tokens of a query, including special ones."""
    document_length: _Length = Field(default=None, json_schema_extra=RARE)
    """Maximum tokens of a document, including special ones."""
    dimensions: Annotated[int, Field(ge=1)] | None = Field(default=None, json_schema_extra=RARE)
    """Keep the first numbers of a vector (Matryoshka; Kusupati et al., 2022)."""
    attention: Literal["causal", "bidirectional"] | None = Field(
        default=None, json_schema_extra=RARE
    )
    """What a decoder's tokens attend to: those before them, or all."""
    truncation_side: Literal["left", "right"] | None = Field(default=None, json_schema_extra=RARE)
    """Where long texts are cut."""
    end_token: bool | None = Field(default=None, json_schema_extra=RARE)
    """Whether each text ends in the tokenizer's end token."""
    special_tokens: bool | None = Field(default=None, json_schema_extra=RARE)
    """Whether the tokenizer adds its special tokens."""
    pool_prompt: bool | None = Field(default=None, json_schema_extra=RARE)
    """Whether the prompt's tokens count when pooling."""
    prompt_pair: bool | None = Field(default=None, json_schema_extra=RARE)
    """Whether prompt and text are two texts, with a separator between them."""
    query_padding: str | None = Field(default=None, json_schema_extra=RARE)
    """The token that extends queries to their maximum."""

    def given(self) -> dict[str, Any]:
        """What is set, of these fields alone."""
        return self.model_dump(include={*EncodingSettings.model_fields}, exclude_none=True)
