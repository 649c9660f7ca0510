"""The families of indexes: retrieval models, feedback methods and languages, by name; engines.

Packages add kinds through entry points ``adducir.models``, ``adducir.feedback`` and
``adducir.languages``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from adducir.core.registry import Family

if TYPE_CHECKING:
    from adducir.indexes.analysis import Language
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.models import Model

_HERE = "adducir.indexes"

MODELS: "Family[Model]" = Family(
    "models",
    f"{_HERE}.models:Model",
    {
        "bm25": f"{_HERE}.models:BM25",
        "qld": f"{_HERE}.models:QLD",
        "okapi": f"{_HERE}.models:Okapi",
        "dph": f"{_HERE}.models:DPH",
        "impact": f"{_HERE}.models:Impact",
    },
    what="retrieval model",
)

FEEDBACK: "Family[FeedbackMethod]" = Family(
    "feedback",
    f"{_HERE}.feedback:FeedbackMethod",
    {
        "rm3": f"{_HERE}.feedback:RM3",
        "rocchio": f"{_HERE}.feedback:Rocchio",
    },
    what="feedback method",
)

_OF_LUCENE = (
    "ar bg bn ca ckb cs da de el es et eu fa fi fr ga gl ha hi hu hy id it ja ko lt lv ne nl no pl "
    "pt pt-br ro ru so sr sv sw ta te th tr uk yo zh pretokenized"
)

LANGUAGES: "Family[Language]" = Family(
    "languages",
    f"{_HERE}.analysis:Language",
    {
        "en": f"{_HERE}.analysis:English",
        **{code: f"{_HERE}.languages:{code}" for code in _OF_LUCENE.split()},
    },
    what="language",
)

EngineName = Literal["lucene", "memory"]
KINDS: dict[EngineName, str] = {"lucene": "lucene-index", "memory": "memory-index"}
"""The kind of artifact that each engine builds."""
VERSIONS: dict[EngineName, int] = {"lucene": 1, "memory": 4}
IMPACTS_VERSION = 5
DENSE = "dense-index"


def holds_impacts(recipe: Mapping[str, Any]) -> bool:
    """Whether a memory index is of token weights that are ready, in a layout of their own."""
    language = recipe.get("analysis", {}).get("language", "en")
    return "weights" in recipe and LANGUAGES.kind(language).is_pretokenized
