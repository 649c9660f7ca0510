"""monoBERT: BERT as a classifier of query and passage (Nogueira and Cho, arXiv 1901.04085, 2019).

The input is ``[CLS] query [SEP] text [SEP]``, at most 512 word pieces, the query's part in segment
0 and the text's in segment 1. The text is cut, never the query (but for one that would leave the
text less than a quarter of the room). The score is the log-probability of the last of two classes,
s = log softmax(z)[relevant], or the logit where there is but one.
"""

from typing import Literal

from adducir.rerankers.cross_encoder import CrossEncoder, CrossEncoderRecipe
from adducir.rerankers.recipe import Length


class MonoBERTRecipe(CrossEncoderRecipe):
    """A monoBERT, as it is or to be trained; the keys are those of a cross-encoder.

    Attributes:
        base: By default the authors' group's model for MS MARCO.
        tokenizer: That model comes without one of its own.
        length: Word pieces of an input.
        labels: Two classes, as in the paper.
    """

    model: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    base: str = "castorini/monobert-large-msmarco"
    length: Length | None = 512
    labels: Literal[1, 2] = 2


MonoBERT = CrossEncoder
"""The network is that of any cross-encoder."""
