"""Every reader of files, by the name of a file that it reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[[Path], Any]


def _topics(path: Path) -> Any:
    from adducir.corpora.topics import load_topics

    return load_topics(path)


def _qrels(path: Path) -> Any:
    from adducir.corpora.qrels import load_qrels

    return load_qrels(path)


def _run(path: Path) -> Any:
    from adducir.runs.read import read_run

    return read_run(path)


def _check(path: Path) -> Any:
    from adducir.runs.check import check

    return check([path])


def _corpus(path: Path) -> Any:
    from adducir.corpora.sources import open_corpus

    return list(open_corpus(str(path)))


def _cacm(path: Path) -> Any:
    from adducir.corpora.sources import open_corpus

    return list(open_corpus(str(path), format="cacm"))


def _weights(path: Path) -> Any:
    from adducir.corpora.token_weights import read_token_weights

    return list(read_token_weights(path))


def _folds(path: Path) -> Any:
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.experiments.tuning.folds import JudgedTopics, Pool, from_file

    topics, qrels = path.with_name("judged.tsv"), path.with_name("judged.qrels")
    if not topics.exists():
        topics.write_text("".join(f"{n}\tcats\n" for n in range(1, 5)))
        qrels.write_text("".join(f"{n} 0 d1 1\n" for n in range(1, 5)))
    pool = Pool.of([JudgedTopics("t", load_topics(topics), load_qrels(qrels))])
    return from_file(pool, path)


def _ratings(path: Path) -> Any:
    from adducir.studies.exemplification.ratings_files import read_ratings

    return read_ratings(path)


def _ranks(path: Path) -> Any:
    from adducir.evaluation.rank_files import read_ranks

    return read_ranks(path, "x")


def _key(path: Path) -> Any:
    from adducir.studies.literary_evidence.proxy.files import read_key

    return read_key(path)


def _choices(path: Path) -> Any:
    from adducir.studies.literary_evidence.proxy.choices import read_choices
    from adducir.studies.literary_evidence.proxy.files import read_key

    key = path.with_name("the-key.csv")
    if not key.exists():
        key.write_text("item,gold,group,docno_1,docno_2,task\n1,2,g,d1,d2,abc\n2,1,g,d3,d1,abc\n")
    return read_choices(path, read_key(key), "judge")


def _relic(path: Path) -> Any:
    from adducir.corpora.relic import read_relic

    return read_relic(path)


def _submission(path: Path) -> Any:
    from adducir.corpora.relic import RelicBook, RelicQuote
    from adducir.studies.literary_evidence.submission import read_submission

    quotes = {"q1": RelicQuote(["a"], None, 1, []), "q2": RelicQuote([], None, 1, ["b"])}
    return read_submission(path, {"book": RelicBook(quotes, [f"{n}." for n in range(100)])})


def _hotpot(path: Path) -> Any:
    from adducir.studies.complementary_evidence.hotpotqa import read_hotpotqa

    return list(read_hotpotqa(path))


def _mnli(path: Path) -> Any:
    from adducir.studies.complementary_evidence.mnli12 import read_mnli

    return list(read_mnli(path))


def _contexts(path: Path) -> Any:
    from adducir.studies.grounded_generation.contexts import read_contexts

    return list(read_contexts(path))


def _pages(path: Path) -> Any:
    from adducir.studies.grounded_generation.kilt import cut_page, read_pages

    return [passage for page in read_pages(path) for passage in cut_page(page, 2)]


def _passages(path: Path) -> Any:
    from adducir.studies.grounded_generation.kilt import read_passages

    return list(read_passages(path))


def _wow(path: Path) -> Any:
    from adducir.studies.grounded_generation.kilt import read_kilt

    return list(read_kilt(path))


def _nlgen(path: Path) -> Any:
    from adducir.studies.grounded_generation.nlgen import read_nlgen

    return read_nlgen(path)


def _generated(path: Path) -> Any:
    from adducir.studies.grounded_generation.texts import read_generated

    return read_generated(path)


def _references(path: Path) -> Any:
    from adducir.studies.grounded_generation.texts import read_references

    return read_references(path)


def _texts(form: str | None) -> Call:
    def call(path: Path) -> Any:
        from adducir.studies.exemplification.texts import read_texts

        return list(read_texts([path], form))

    return call


def _book(path: Path) -> Any:
    from adducir.studies.literary_evidence.sources import read_source

    return read_source(path)


def _work(path: Path) -> Any:
    from adducir.studies.literary_evidence.sources import read_source

    return read_source(path, is_work=True)


def _requested(path: Path) -> Any:
    from adducir.studies.literary_evidence.ask import open_book

    return open_book(path)


def _spans(path: Path) -> Any:
    from adducir.corpora.spans import read_spans

    return list(read_spans(path))


def _questions(path: Path) -> Any:
    from adducir.studies.complementary_evidence.questions import read_questions

    return list(read_questions(path))


def _chosen(path: Path) -> Any:
    from adducir.studies.complementary_evidence.questions import read_selected

    return list(read_selected(path))


def _metadata(path: Path) -> Any:
    from adducir.runs.metadata import read_metadata

    return read_metadata(path.with_name(path.name.removesuffix(".ir-metadata.yml")))


def _manifest(path: Path) -> Any:
    from adducir.core.artifacts import read_manifest

    return read_manifest(path.parent)


def _settings(path: Path) -> Any:
    from adducir.models.artifacts import read_settings

    return read_settings(path)


def _stopwords(path: Path) -> Any:
    from adducir.deepct.terms import stop_words

    return stop_words(path)


def _recipe(path: Path) -> Any:
    """An experiment, a study of ranks or sets, or a model, by the file's name."""
    from adducir.core.config import load, validate
    from adducir.deepct.recipe import DeepCTRecipe
    from adducir.encoders.training import EncoderRecipe
    from adducir.experiments.known_item.study import KnownItem
    from adducir.experiments.retrieval.study import Retrieval
    from adducir.rerankers.registry import recipe_of
    from adducir.studies.complementary_evidence.experiment.study import EvidenceSets
    from adducir.studies.complementary_evidence.selectors.recipe import (
        ComplementaryRecipe,
        DRNRecipe,
    )

    kinds = {
        "table": Retrieval,
        "ranks": KnownItem,
        "sets": EvidenceSets,
        "dual": EncoderRecipe,
        "ours": ComplementaryRecipe,
        "drn": DRNRecipe,
        "weights": DeepCTRecipe,
    }
    document = load(path)
    name = path.stem
    return recipe_of(document) if name == "ce" else validate(document, kinds[name])


READERS: dict[str, list[Call]] = {
    "topics.trec": [_topics],
    "topics.xml": [_topics],
    "topics.tsv": [_topics],
    "topics.jsonl": [_topics],
    "qrels.txt": [_qrels],
    "run.trec": [_run, _check],
    "corpus.jsonl": [_corpus],
    "corpus.trec": [_corpus],
    "corpus.tsv": [_corpus],
    "cacm.all": [_cacm],
    "weights.jsonl": [_weights],
    "folds.json": [_folds],
    "ratings.csv": [_ratings],
    "ranks.tsv": [_ranks],
    "key.csv": [_key],
    "choices.csv": [_choices],
    "choices.jsonl": [_choices],
    "relic.json": [_relic],
    "submission.json": [_submission],
    "hotpot.json": [_hotpot],
    "mnli.jsonl": [_mnli],
    "mnli.tsv": [_mnli],
    "kilt.jsonl": [_texts("kilt"), _texts(None)],
    "eli5.jsonl": [_texts("eli5"), _texts(None)],
    "nq.jsonl": [_texts("nq"), _texts(None)],
    "qa.jsonl": [_texts("qa"), _texts(None)],
    "book.txt": [_book, _requested, _texts(None)],
    "work.txt": [_work],
    "spans.jsonl": [_spans],
    "questions.jsonl": [_questions],
    "chosen.jsonl": [_chosen],
    "contexts.jsonl": [_contexts],
    "pages.jsonl": [_pages],
    "passages.jsonl": [_passages],
    "wow.jsonl": [_wow],
    "nlgen.json": [_nlgen],
    "generated.jsonl": [_generated],
    "references.jsonl": [_references],
    "run.trec.ir-metadata.yml": [_metadata],
    "manifest.json": [_manifest],
    "settings.json": [_settings],
    "stopwords.txt": [_stopwords],
    "table.yaml": [_recipe],
    "ranks.yaml": [_recipe],
    "sets.yaml": [_recipe],
    "dual.yaml": [_recipe],
    "ce.yaml": [_recipe],
    "ours.yaml": [_recipe],
    "drn.yaml": [_recipe],
    "weights.yaml": [_recipe],
}
