"""The families of indexes: retrieval models, feedback methods and languages, by name; engines.

Packages add kinds through entry points ``adducir.models``, ``adducir.feedback`` and
``adducir.languages``.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from adducir.core.recipe import Keyed, KeyPath, errors_at, no_effect, one_of, unknown_key, validated
from adducir.core.registry import Family

if TYPE_CHECKING:
    from adducir.indexes.analysis import Language
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.models import Model
    from adducir.indexes.settings import IndexSettings

_HERE = "adducir.indexes"

MODELS: "Family[Model]" = Family(
    "models",
    f"{_HERE}.models:Model",
    {
        "bm25": f"{_HERE}.models:BM25",
        "qld": f"{_HERE}.models:QLD",
        "okapi": f"{_HERE}.models:Okapi",
        "dph": f"{_HERE}.models:DPH",
        "bm25+": f"{_HERE}.models:BM25Plus",
        "bm25l": f"{_HERE}.models:BM25L",
        "jm": f"{_HERE}.models:JelinekMercer",
        "pl2": f"{_HERE}.models:PL2",
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
        "bo1": f"{_HERE}.feedback:Bo1",
    },
    what="feedback method",
)

PRETOKENIZED = "pretokenized"
"""The code of texts that are already terms separated by blanks, Anserini's ``-pretokenized``."""
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

INDEXES: "Family[IndexSettings]" = Family(
    "indexes",
    f"{_HERE}.settings:IndexSettings",
    {
        "lucene": f"{_HERE}.settings:LuceneSettings",
        "memory": f"{_HERE}.settings:MemorySettings",
        "weights": f"{_HERE}.settings:TokenWeightSettings",
        "dense": f"{_HERE}.dense_settings:DenseSettings",
    },
    what="index engine",
)

KINDS = {"lucene": "lucene-index", "memory": "memory-index", "dense": "dense-index"}
"""The kind of artifact that each engine builds."""
OPENERS = {
    "lucene-index": f"{_HERE}.lucene:LuceneIndex",
    "memory-index": f"{_HERE}.memory.index:MemoryIndex",
}
"""What opens artifacts that need no options: importing all settings takes longer than a search."""
VERSIONS = {"lucene": 1, "memory": 4, "dense": 3}
IMPACTS_VERSION = 6


def holds_impacts(recipe: Mapping[str, Any]) -> bool:
    """Whether a memory index is of token weights that are ready, in a layout of their own."""
    analysis = recipe.get("analysis")
    language = analysis.get("language", "en") if isinstance(analysis, Mapping) else "en"
    return "weights" in recipe and LANGUAGES.kind(language).is_pretokenized


def kind_of(entry: Mapping[str, Any]) -> "type[IndexSettings]":
    """The kind of index that settings describe: their ``engine``, or that of their ``weights``."""
    engine = entry.get("engine")
    if entry.get("weights") is not None and engine in (None, "memory"):
        engine = "weights"
    engine = "lucene" if engine is None else str(engine)
    if engine not in INDEXES:
        raise errors_at((("engine",), one_of([*INDEXES], engine)))
    return INDEXES.kind(engine)


def no_effect_with(kind: "type[IndexSettings]") -> Keyed:
    is_weights = "weights" in kind.model_fields
    return no_effect("with {}", "weights" if is_weights else ("engine", kind.engine))


def settings_of(entry: Mapping[str, Any], others: Collection[str] = ()) -> "IndexSettings":
    """An index's settings by key, as files and commands state them; ``others`` must be beside them.

    Raises:
        ValidationError: With the path of each wrong key.
    """
    kind = kind_of(entry)
    values = {key: value for key, value in entry.items() if key not in ("engine", *others)}
    keys, wrong = [*kind.model_fields, "engine", *others], list[tuple[KeyPath, str]]()
    wrong += [((key,), "this key is required") for key in others if key not in entry]
    for key in [key for key in values if key not in kind.model_fields]:
        is_of_another = any(key in another.model_fields for another in INDEXES.kinds().values())
        message = no_effect_with(kind) if is_of_another else unknown_key(key, keys)
        wrong.append(((key,), message))
        del values[key]
    settings, problems = validated(kind, values)
    if settings is None or wrong:
        raise errors_at(*wrong, *problems)
    return settings
