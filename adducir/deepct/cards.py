"""The model card of a term weighter."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adducir.deepct.recipe import listed
from adducir.models.cards import model_card
from adducir.models.training import History

if TYPE_CHECKING:
    from adducir.deepct.training import Course

_SUMMARY = (
    "A DeepCT term weighter (Dai and Callan, 2020): it gives each word of a passage a weight that "
    "says how much the word matters to what the passage is about. A word's weight is {weight} of "
    "its first word piece."
)
_USAGE = """```sh
adducir deepct show --model {name} --text "Nuclear energy is clean and safe."
adducir deepct expand --model {name} --corpus CORPUS --output expanded.jsonl.gz
```

The network is a token classifier with one label:
`transformers.AutoModelForTokenClassification.from_pretrained(FOLDER)`."""


def card(name: str, course: "Course", counts: Mapping[str, Any], history: History) -> str:
    """The card in Markdown; it tells sources as the recipe writes them."""
    recipe = course.recipe
    weight = "the sigmoid of the logit" if recipe.activation == "sigmoid" else "the logit"
    target = (
        {"reference field": list(listed(recipe.reference))}
        if recipe.topics is None
        else {"query term recall": recipe.topics.model_dump(exclude_none=True)}
    )
    shown = {key.replace("_", " "): value for key, value in counts.items()}
    by_source = shown.pop("excluded by source", {})
    return model_card(
        name,
        _SUMMARY.format(weight=weight),
        tags=("term-weighting", "deepct", "information-retrieval"),
        base=recipe.base,
        sections={
            "Data": {
                "corpus": recipe.corpus.source,
                "text": list(listed(recipe.text)),
                **target,
                "stop words": f"{course.stop_words.name} ({len(course.stop_words):,} words)",
            },
            "Leak control": {
                "left out: judged in": list(listed(recipe.without.qrels)),
                "left out: pooled in": list(listed(recipe.without.pools)),
                f"left out: in the top {recipe.without.depth} of": list(
                    listed(recipe.without.runs)
                ),
                "documents named": len(course.without),
                "of them in the corpus, by source": by_source,
            },
            "Counts": shown,
            "Settings": recipe.model_dump(
                mode="json",
                include={
                    "settings",
                    "keys",
                    "activation",
                    "stop_words_in_loss",
                    "passages",
                    "keep_empty",
                    "most",
                    "held_out",
                    "training",
                },
            ),
        },
        history=history,
        usage=_USAGE.format(name=name),
    )
