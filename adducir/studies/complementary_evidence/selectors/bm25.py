"""``bm25``: the passages that BM25 ranks first, without training: a baseline of relevance alone."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet
from adducir.studies.complementary_evidence.selectors.reading import text_of
from adducir.studies.complementary_evidence.selectors.selector import Selector


class BM25Selection(Selector):
    """The passages that BM25 ranks first; a question's passages are its collection."""

    size: int = Field(2, ge=1, description="L, passages of a set.")
    k1: float = Field(0.9, ge=0, description="Saturation of term frequency.")
    b: float = Field(0.4, ge=0, le=1, description="Weight of length.")
    analysis: Literal["lucene", "split"] = Field(
        "lucene", description="Anserini's English analysis, or lower case and cut at white space."
    )

    def choose(self, questions: Sequence[EvidenceQuestion]) -> list[SelectedSet]:
        """See :meth:`Selector.choose`; the score is the sum of the passages' scores."""
        from adducir.indexes.analysis import Analysis
        from adducir.indexes.candidates import CandidateSet, lower_split, vocabularies
        from adducir.indexes.models import BM25

        asked = [question for question in questions if question.passages]
        vocabulary = vocabularies(Analysis() if self.analysis == "lucene" else lower_split)
        model = BM25(k1=self.k1, b=self.b)
        found = {question.id: SelectedSet(question.id, (), 0.0) for question in questions}
        for question in asked:
            texts = [text_of(passage) for passage in question.passages]
            passages = CandidateSet.over(texts, vocabulary())
            ranking = passages.rank([question.question], model, self.size)
            ids = tuple(question.passages[number].id for number in ranking.numbers[0])
            found[question.id] = SelectedSet(question.id, ids, float(ranking.scores[0].sum()))
        return list(found.values())
