"""The kinds of generators, by key: ``{bart: facebook/bart-base}``.

Packages add their own kinds through the entry-point group ``adducir.generators``.
"""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.recipe import Recipe
from adducir.core.registry import Family, chosen_by_key
from adducir.models.sources import ModelSource, model_source

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.generators.generator import Generator

Length = Annotated[int, Field(ge=1)]


class Decoding(Recipe):
    """How texts are generated from the top passages; docs/hindsight.md has the keys."""

    passages: Length = 8
    """How many top-ranked passages texts are generated from."""
    best: Length = 5
    """The depth of the best of several texts, at most `passages`."""
    beams: Length = 4
    """The beams of the search, which is run for each passage separately."""
    max_length: Length = 40
    """Maximum tokens."""
    min_length: Annotated[int, Field(ge=0)] = 5
    """Minimum tokens."""
    no_repeat_ngram_size: Annotated[int, Field(ge=0)] | None = None
    """The length of n-grams that are not repeated; by default the checkpoint's."""
    length_penalty: float | None = None
    """The exponent of the length; by default the checkpoint's."""
    early_stopping: bool | None = None
    """Whether to stop as soon as enough texts end; by default as the checkpoint does."""

    @model_validator(mode="after")
    def _best_are_written(self) -> "Decoding":
        if "best" in self.model_fields_set and self.best > self.passages:
            raise ValueError(
                f"`best: {self.best}` needs {self.best} texts, but `passages` is {self.passages}"
            )
        return self


class GeneratorRecipe(Recipe):
    """A generator; its fields are its hyperparameters."""

    def identities(self, folder: Path) -> Mapping[str, str]:
        """The fingerprints of its starting point, by name, without loading anything."""
        del folder
        return {}

    @abstractmethod
    def load(self, folder: Path) -> "Generator":
        """The generator before training; relative paths start at ``folder``, the study's."""


class LexicalMixture(GeneratorRecipe):
    """A unigram mixture of passage and collection: exact, and without pretraining."""

    lexical: float = Field(0.5, gt=0, lt=1)
    """Initial share of the passage."""

    def load(self, folder: Path) -> "Generator":
        from adducir.studies.grounded_generation.generators.generator import Lexical

        del folder
        return Lexical(self.lexical)


class _Sequences(GeneratorRecipe):
    """An encoder-decoder from transformers."""

    tokenizer: str | None = None
    """The model whose tokenizer it uses."""
    input_length: Length = 64
    """Maximum tokens of the input; longer ones keep their end."""
    passage_length: Length = 178
    """Maximum tokens of the passage."""
    output_length: Length = 64
    """Maximum tokens of the target."""
    document_marker: str = "[DOC]"
    """Text between input and passage."""

    checkpoint: ClassVar[str]  # the field that names it
    classname: ClassVar[str]  # its class in transformers

    def identities(self, folder: Path) -> Mapping[str, str]:
        return {"generator": self._source(folder).identity()}

    def _source(self, folder: Path) -> ModelSource:
        return model_source(getattr(self, self.checkpoint), folder, self.tokenizer)

    def load(self, folder: Path) -> "Generator":
        from adducir.studies.grounded_generation.generators.seq2seq import Seq2Seq

        lengths = (self.input_length, self.passage_length, self.output_length)
        return Seq2Seq(self._source(folder), self.classname, lengths, self.document_marker)


class BART(_Sequences):
    """BART (Lewis et al., ACL 2020)."""

    checkpoint: ClassVar = "bart"
    classname: ClassVar = "BartForConditionalGeneration"
    bart: str = "facebook/bart-base"
    """The checkpoint."""


class T5(_Sequences):
    """T5 (Raffel et al., JMLR 2020)."""

    checkpoint: ClassVar = "t5"
    classname: ClassVar = "T5ForConditionalGeneration"
    t5: str = "t5-small"
    """The checkpoint."""


_KINDS = {"lexical": "LexicalMixture", "bart": "BART", "t5": "T5"}
GENERATORS = Family(
    "generators",
    GeneratorRecipe,
    {name: f"{__name__}:{kind}" for name, kind in _KINDS.items()},
    what="generator",
)


def _named(value: Any) -> Any:
    """Plain ``lexical`` means ``{lexical: 0.5}``."""
    if isinstance(value, str) and value in GENERATORS:
        return GENERATORS.make(value)
    return value


AnyGenerator = Annotated[
    SerializeAsAny[GeneratorRecipe],
    BeforeValidator(chosen_by_key(GENERATORS)),
    BeforeValidator(_named),
]
"""A generator as an entry of a recipe."""
