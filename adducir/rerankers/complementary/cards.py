"""The model card of a model that selects evidence."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adducir.models.cards import model_card
from adducir.models.training import History
from adducir.rerankers.complementary.recipe import listed

if TYPE_CHECKING:
    from adducir.rerankers.complementary.training import Course

_SUMMARIES = {
    "complementary": "Selects the set of passages that answers a question together: relevant, "
    "diverse and compact (Mou et al., 2020). A cross-encoder gives each passage a probability and "
    "a vector; a beam search in the vector space selects the set.",
    "ranker": "Ranks passages by their probability to be evidence for a question, each by itself: "
    "the relevance-only baseline of Mou et al. (2020).",
    "drn": "Selects the most relevant passage and then the most novel one: DRN with BERT, a "
    "baseline of Mou et al. (2020) after Harel et al. (2019).",
}
_USAGE = """```sh
adducir select --model {name} --questions questions.jsonl.gz --output chosen.jsonl
adducir sets chosen.jsonl --questions questions.jsonl.gz
```"""


def card(name: str, course: "Course", counts: Mapping[str, Any], history: History) -> str:
    """The card in Markdown; it tells sources as the recipe writes them."""
    recipe = course.recipe
    said = recipe.model_dump(mode="json", exclude={"description", "data", "base"})
    weights = said.get("weights")
    kind = "ranker" if weights and not any(weights.values()) else str(said["kind"])
    data = recipe.data
    divided = (
        {"validation": list(listed(data.validation))}
        if data.validation
        else {"shares of questions": data.divided, "seed of the division": data.seed}
    )
    return model_card(
        name,
        _SUMMARIES[kind],
        tags=("complementary-evidence", "question-answering", "information-retrieval"),
        base=recipe.base,
        sections={
            "Data": {
                "training": list(listed(data.train)),
                **divided,
                "questions left out": list(listed(data.without)),
                "relevance is learnt from": data.passages,
            },
            "Counts": {key.replace("_", " "): value for key, value in counts.items()},
            "Settings": said,
        },
        history=history,
        usage=_USAGE.format(name=name),
    )
