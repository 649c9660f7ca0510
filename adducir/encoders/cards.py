"""The model card of a dual encoder."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adducir.encoders.recipe import listed
from adducir.encoders.settings import Settings
from adducir.models.cards import model_card
from adducir.models.training import History

if TYPE_CHECKING:
    from adducir.encoders.training import Course

_SUMMARY = (
    "A dual encoder that finds the passage masked in a context: contexts and passages go through "
    "{towers}, and their vectors are compared by {similarity}. It was trained by in-batch contrast "
    "(dense-RELiC, Thai et al., 2022; EGRET, Wang et al., 2022)."
)
_TOWERS = {"separate": "an encoder each", "shared": "one encoder"}
_SIMILARITY = {"dot": "inner product", "cosine": "cosine"}
_USAGE = """```sh
adducir encode --model {name} --spans spans.jsonl.gz --side span --output vectors
adducir ask BOOK.txt "a prompt" --model {name}
```

In Python, `SentenceTransformer({path})` loads {what}."""


def card(
    name: str,
    course: "Course",
    settings: Settings,
    chosen: Mapping[str, Any],
    counts: Mapping[str, Any],
    history: History,
) -> str:
    """The card in Markdown; it tells sources as the recipe writes them.

    Args:
        name: The encoder's.
        course: What was asked for.
        settings: What the encoder keeps of it.
        chosen: What was settled where the recipe left it open.
        counts: What became of the data.
        history: How the training went.
    """
    recipe = course.recipe
    is_one = settings.towers == "shared"
    path = "FOLDER" if is_one else "FOLDER + '/query'"
    what = "it" if is_one else "the tower of contexts, `/document` that of spans"
    data = recipe.data
    divided = (
        {"validation": list(listed(data.validation))}
        if data.validation
        else {"shares of groups": data.divided, "seed of the division": data.seed}
    )
    return model_card(
        name,
        _SUMMARY.format(
            towers=_TOWERS[settings.towers], similarity=_SIMILARITY[settings.similarity]
        ),
        tags=("sentence-transformers", "information-retrieval", "masked-span-retrieval"),
        base=recipe.base,
        sections={
            "Data": {
                "training": list(listed(data.train)),
                **divided,
                "groups left out": list(listed(data.without)),
            },
            "Counts": {key.replace("_", " "): value for key, value in counts.items()},
            "Settings": settings.model_dump(mode="json")
            | dict(chosen)
            | recipe.model_dump(mode="json", include={"batches", "training"}),
        },
        history=history,
        usage=_USAGE.format(name=name, path=path, what=what),
    )
