"""The questions of a proxy task and the texts of its candidates, from a test collection."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from adducir.core.errors import InputError, UsageError
from adducir.corpora.documents import Corpus, text_of
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.run import Run
from adducir.studies.literary_evidence.proxy.tasks import MASK, Question


def questions_of_topics(
    topics: Topics, qrels: Qrels, groups: Topics | None = None
) -> list[Question]:
    """Contexts as topics, with the one relevant document of each as gold item.

    Args:
        topics: The contexts.
        qrels: The gold items: documents with a grade above 0.
        groups: The groups of the items, as the queries of the same topics.

    Raises:
        InputError: A topic has not exactly one gold item.
    """
    gold_items: dict[str, list[str]] = {}
    for qid, docno, grade in qrels.frame.iter_rows():
        if grade > 0:
            gold_items.setdefault(qid, []).append(docno)
    group = dict(zip(groups.qids, groups.queries, strict=True)) if groups else {}
    found = []
    for qid, context in zip(topics.qids, topics.queries, strict=True):
        right = gold_items.get(qid, [])
        if len(right) != 1:
            raise InputError(
                f"topic {qid} has {len(right)} relevant documents, where the task needs one gold "
                "item.",
                path=qrels.source,
                hint="Leave the topic out, or judge one document as relevant.",
            )
        found.append(Question(qid, context, right[0], group.get(qid, "")))
    return found


def questions_of_spans(path: Path) -> list[Question]:
    """Masked spans with their contexts; the span's group is the item's.

    Raises:
        InputError: The file is malformed, or a span names no candidate as its gold item.
    """
    from adducir.corpora.spans import context, read_spans

    found = []
    for span in read_spans(path):
        if span.candidate is None:
            raise InputError(f"the span {span.id} names no candidate as its gold item.", path=path)
        left, right = context(span)
        whole = " ".join(part for part in (left, MASK, right) if part)
        found.append(Question(span.id, whole, span.candidate, span.group))
    return found


def ranking_of(run: Run) -> dict[str, list[str]]:
    """The docnos of every topic of a run, best first."""
    ranking: dict[str, list[str]] = {}
    for qid, docno in run.frame.select("qid", "docno").iter_rows():
        ranking.setdefault(qid, []).append(docno)
    return ranking


def scores_of(run: Run, qids: Collection[str]) -> dict[str, dict[str, float]]:
    """The scores of every document for these topics of a run."""
    scores: dict[str, dict[str, float]] = {}
    wanted = set(qids)
    for qid, docno, score in run.frame.iter_rows():
        if qid in wanted:
            scores.setdefault(qid, {})[docno] = score
    return scores


def texts_of(
    corpus: Corpus,
    questions: Sequence[Question],
    ranking: Mapping[str, Sequence[str]],
    fields: Sequence[str] = (),
) -> dict[str, str]:
    """The texts of the gold items and of all candidates that the ranking names for the questions.

    Args:
        fields: The fields to show; by default the corpus's texts.

    Raises:
        InputError: The corpus is malformed.
        UsageError: It has none of the documents.
    """
    wanted = {question.gold for question in questions}
    for question in questions:
        wanted.update(ranking.get(question.id, ()))
    shown = tuple(fields) or corpus.default_fields
    texts = {
        document.docno: text_of(document, shown) for document in corpus if document.docno in wanted
    }
    if not texts:
        raise UsageError(
            f"{corpus.source} holds none of the gold items and none of the candidates.",
            hint="Name the corpus that the run was made on.",
        )
    return texts
