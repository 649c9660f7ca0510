"""How DeepCT weights the words of the snippets in a report, of systems that search such documents.

The weight of a word is taken from what was indexed: its count in the field of weighted words over
the count of a word of weight 1. A word of several passages has the sum of its weights in them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from adducir.deepct.expanded import WEIGHTED, ExpandedCorpus
from adducir.deepct.rendering import Rendering
from adducir.deepct.words import words
from adducir.experiments.retrieval.index_step import IndexStep
from adducir.experiments.retrieval.snippets import opened
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.tables.report.quoted import WORD


def weights(
    study: RetrievalStudy, snippets: Mapping[str, str]
) -> dict[str, Mapping[str, Sequence[int]]]:
    """For each system that searches weighted documents the weights of its snippets' words.

    Of a system of several runs they are those of its first run, whose hits the report shows.

    Args:
        study: The experiment, whose runs are made.
        snippets: By docno.
    """
    found: dict[str, Mapping[str, Sequence[int]]] = {}
    known: dict[str, Mapping[str, Sequence[int]]] = {}
    for row, systems in study.rows.items() if snippets else ():
        name = study.recipe.systems[systems[0]].needs_index(systems[0], study)
        if name is None or name not in study.indexes:
            continue
        corpus = study.corpora[study.recipe.indexes[name].corpus].corpus
        index = study.indexes[name]
        if not isinstance(corpus, ExpandedCorpus) or WEIGHTED not in index.fields:
            continue
        if name not in known:
            known[name] = _of_index(index, corpus, snippets)
        found[row] = known[name]
    return found


def _of_index(
    index: IndexStep, corpus: ExpandedCorpus, snippets: Mapping[str, str]
) -> Mapping[str, Sequence[int]]:
    """The weights of an index's documents, by docno."""
    found: dict[str, Sequence[int]] = {}
    for store, _ in opened(index, ()):
        for docno, text in snippets.items():
            if docno in store:
                counts = Counter(store.get(docno).fields.get(WEIGHTED, "").lower().split())
                found[docno] = _of_text(text, counts, corpus)
    return found


def _of_text(text: str, counts: Mapping[str, int], corpus: ExpandedCorpus) -> list[int]:
    """The weight of each word of a text in hundredths."""
    known = iter(words(text, whole=corpus.settings.keys == "words"))
    word, found = next(known, None), []
    for match in WORD.finditer(text):
        # What is one word here may be a part of one of DeepCT's ("well-known"), never more.
        while word is not None and word.end <= match.start():
            word = next(known, None)
        inside = word is not None and word.start < match.end()
        count = counts.get(word.text.lower(), 0) if word is not None and inside else 0
        found.append(_weight(count, corpus.rendering))
    return found


def _weight(count: int, rendering: Rendering) -> int:
    """The weight, in hundredths, of a word that is counted so often."""
    share = count / rendering.scale
    weight = round(100 * (share**2 if rendering.transform == "sqrt" else share))
    return max(weight, 1) if count else 0
