"""The model card of a trained cross-encoder."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adducir.deepct.recipe import listed
from adducir.models.cards import model_card
from adducir.models.training import History

if TYPE_CHECKING:
    from adducir.rerankers.training import Course

_SUMMARY = (
    "A cross-encoder: it reads a query and a text in one input and gives the text a score, which "
    "is {scale}. It was trained pair by pair with {loss}."
)
_USAGE = """```sh
adducir rerank --run RUN --topics TOPICS --index INDEX --model {name} --output reranked.trec.gz
```

```python
from sentence_transformers import CrossEncoder

CrossEncoder("{name}").predict([("a query", "a text")])
```"""


def card(name: str, course: "Course", counts: Mapping[str, Any], history: History) -> str:
    """The card in Markdown; it tells sources as the recipe writes them."""
    recipe, part = course.recipe, course.part
    without = part.without
    is_logit = recipe.labels == 1
    data: dict[str, Any] = {"pairs": part.pairs}
    if part.query_field is not None:
        data = {
            "corpus": part.corpus.source if part.corpus else None,
            "queries": f"the field {part.query_field}",
            "texts": [name for name in listed(recipe.fields) if name != part.query_field]
            or "the corpus' other fields",
            "positives": "a document's own text",
            "negatives": f"{part.negatives} other documents' for each, at random",
            "documents, at most": part.most or "all",
        }
    elif part.pairs is None:
        data = {
            "topics": part.topics,
            "qrels": list(listed(part.qrels)),
            "corpus": part.corpus.source if part.corpus else None,
            "fields": list(listed(recipe.fields)) or "the corpus' own",
            "negatives from": list(listed(part.runs)) or "documents judged lower",
            "positives": f"grade {part.grade} or better",
            "negatives": f"{part.negatives} for each positive, at most",
            "unjudged documents": "negatives" if part.unjudged else "not used",
        }
    return model_card(
        name,
        _SUMMARY.format(
            scale="the logit" if is_logit else "the log-probability of the second class",
            loss="binary cross-entropy" if is_logit else "cross-entropy of two classes",
        ),
        tags=("cross-encoder", "reranking", "information-retrieval"),
        base=recipe.base,
        sections={
            "Data": data,
            "Leak control": {
                "left out: queries of": list(listed(without.topics)),
                "left out: judged in": list(listed(without.qrels)),
                "left out: pooled in": list(listed(without.pools)),
                f"left out: in the top {without.depth} of": list(listed(without.runs)),
                "queries named": len(course.leaks.queries),
                "documents named": len(course.leaks.documents),
            },
            "Counts": {key.replace("_", " "): value for key, value in counts.items()},
            "Settings": recipe.model_dump(
                mode="json", include={"model", "length", "labels", "held_out", "training"}
            ),
        },
        history=history,
        usage=_USAGE.format(name=name),
    )
