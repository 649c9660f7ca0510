"""monoBERT: BERT as a classifier of query and passage (Nogueira and Cho, arXiv 1901.04085, 2019).

The input is ``[CLS] query [SEP] text [SEP]``, at most 512 word pieces, the query's part in segment
0 and the text's in segment 1. The text is cut, never the query (but for one that would leave the
text less than a quarter of the room). The score is the log-probability of the relevant one of two
classes, s = log softmax(z)[relevant], or the logit where there is but one.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from adducir.models.sources import ModelSource
from adducir.rerankers.checkpoints import has_architecture
from adducir.rerankers.cross_encoder import CrossEncoderRecipe
from adducir.rerankers.recipe import Length

_BASE = "castorini/monobert-large-msmarco"


class MonoBERTRecipe(CrossEncoderRecipe):
    """A monoBERT, as it is or to be trained; the keys are those of a cross-encoder.

    Attributes:
        base: By default the authors' group's model for MS MARCO.
        tokenizer: By default that model's, which comes without one: BERT's own.
        length: Word pieces of an input.
        labels: Two classes, as in the paper.
    """

    kind: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    model: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    base: str = _BASE
    length: Length | None = 512
    labels: Literal[1, 2] = 2

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        """See :class:`RerankerRecipe`: a classifier of pairs that is called monoBERT."""
        return "monobert" in Path(source.name).name.lower() and has_architecture(
            source, "ForSequenceClassification"
        )

    @model_validator(mode="before")
    @classmethod
    def _with_its_tokenizer(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("base", _BASE) == _BASE:
            return {"tokenizer": "bert-large-uncased", **data}
        return data
