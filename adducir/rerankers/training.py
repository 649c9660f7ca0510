"""The training of a cross-encoder: from a recipe in ``rerankers/`` to a model's folder.

It learns from relevant and non-relevant pairs of query and text. For judged topics, documents
judged relevant are positives, and documents from runs (or judged lower) are negatives. For
documents only, one field is the query and the others answer it, as an argument's premise supports
its conclusion: a document's own text is its query's positive; texts of random other documents are
the negatives. Negatives never equal a positive of their query.

With one label the loss of a pair is binary cross-entropy of the logit, with two it is cross-entropy
of the classes (Nogueira and Cho, 2019).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from adducir.core.errors import InputError, gathering
from adducir.core.files import scratch_folder
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.progress import progress
from adducir.core.recipe import as_tuple
from adducir.core.texts import same_text
from adducir.corpora.documents import text_of
from adducir.corpora.reading import QrelsReading, TopicReading
from adducir.corpora.sources import file_path, source_path
from adducir.corpora.topics import Topics
from adducir.models.loading import (
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    with_padding,
)
from adducir.models.machine import seed_of
from adducir.rerankers.cross_encoder import (
    CLASSIFIER,
    KIND,
    CrossEncoderRecipe,
    Encoded,
    MonoBERTRecipe,
    PairReader,
)
from adducir.rerankers.rerank import refuse_absent, texts_of
from adducir.runs.docnos import absent
from adducir.runs.read import read_run
from adducir.training.data import Rows, TrainingData, same_number, stored
from adducir.training.leaks import documents_left
from adducir.training.recipe import ModelRecipe
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch

_COLUMNS = {"ids": "[int32]", "types": "[int8]", "label": "float32", "length": "int32"}
_COUNTED = ["queries", "left_out_queries", "left_out_documents", "without_positive", "missing"]
_COUNTED += ["positives", "negatives"]
_TOGETHER = 1024
_TRIES = 50
"""Documents tried for a negative before giving up."""
_Drawn = tuple[str, list[str], list[str]]
"""A query, its positives, its negatives."""


class CrossEncoderTraining(Trainable[CrossEncoderRecipe]):
    """A cross-encoder that scores a query and a document read together."""

    recipe_type: ClassVar[type[ModelRecipe]] = CrossEncoderRecipe
    artifact = "reranker"
    unit = "pairs"
    card = """A cross-encoder: it reads a query and a text in one input and scores the text.

## Use

```sh
adducir rerank --run RUN --topics TOPICS --index INDEX --model {name} --output reranked.trec.gz
```

```python
from sentence_transformers import CrossEncoder

CrossEncoder("{name}").predict([("a query", "a text")])
```"""

    def __init__(self, recipe: CrossEncoderRecipe, folder: Path) -> None:
        super().__init__(recipe, folder)
        if recipe.examples is None:
            what = "the recipe lacks `examples`, so nothing can be trained."
            raise InputError(what, hint="Use it without training: adducir rerank --model RECIPE.")
        self.part = part = recipe.examples
        self.counts: Counter[str] = Counter()
        self._runs = [file_path(one, folder) for one in as_tuple(part.runs)]

        def topics(source: str, field: str | None = None) -> Topics:
            return part.read_topics(source_path(source, folder), field)

        with gathering() as each:
            left_out = [each(partial(topics, source)) for source in as_tuple(part.without.topics)]
            self._documents = each(partial(part.without.excluded, folder))
            self._corpus = each(partial(part.corpus.open, folder))
            if part.query_field is None:
                named = [source_path(one, folder) for one in as_tuple(part.qrels)]
                self._digests = [each(partial(source_digest, path)) for path in self._runs]
                self._topics = each(partial(topics, str(part.topics), part.topic_field))
                self._qrels = each(partial(part.read_qrels, named))
            self.base = each(partial(recipe.source, folder))
        self._queries = frozenset(same_text(query) for one in left_out for query in one.queries)

    @property
    def settings(self) -> dict[str, Any]:
        of_use = ("precision", "label", "batch_tokens")  # read from the current recipe
        values = self.recipe.fingerprinted(dict.fromkeys(("kind", "examples", *of_use), True))
        reading = {*TopicReading.model_fields, *QrelsReading.model_fields}
        named = {"topics", "topic_field", "qrels", "corpus", "runs", "without", *reading}
        examples = self.part.model_dump(mode="json", exclude=named, exclude_none=True)
        return values | {"examples": examples}

    @cached_property
    def inputs(self) -> dict[str, str]:
        opened: dict[str, Any] = {"corpus": self._corpus.identity()}
        if self.part.query_field is None:
            opened |= {"topics": self._topics.identity(), "qrels": self._qrels.identity()}
            opened["runs"] = self._digests
        opened["without"] = [sorted(self._queries), self._documents.identity()]
        found = {name: fingerprint(identity) for name, identity in opened.items()}
        return found | {"base": self.base.identity()}

    @cached_property
    def _reader(self) -> PairReader:
        config = load_config(self.base)
        return PairReader(load_tokenizer(self.base), config, self.recipe.length)

    def dataset(self, folder: Path) -> TrainingData:
        return stored(folder, _COLUMNS, self._rows)

    def _rows(self, counts: dict[str, Any]) -> Rows:
        with scratch_folder() as scratch:
            examples = self.examples(scratch)
            while some := list(islice(examples, _TOGETHER)):
                read = self._reader.read([(query, text) for query, text, _ in some])
                for (query, _, label), encoded in zip(some, read, strict=True):
                    row = {"label": label, "length": len(encoded), **vars(encoded)}
                    yield self.recipe.held_out.part_of(same_text(query)), row
        counts.update({name: self.counts[name] for name in _COUNTED})

    def examples(self, folder: Path) -> Iterator[tuple[str, str, float]]:
        """The examples; fills ``counts``, and stores texts temporarily in an empty folder."""
        self.counts.clear()
        drawn = self._judged(folder) if self.part.query_field is None else self._own(folder)
        for query, best, worse in drawn:
            if not best or not worse:
                self.counts["without_positive"] += 1
                continue
            self.counts.update(queries=1, positives=len(best), negatives=len(worse))
            yield from ((query, text, 1.0) for text in best)
            yield from ((query, text, 0.0) for text in worse)
        if not self.counts["queries"]:
            raise InputError(
                "none of the queries has both a positive and a negative to train on.",
                path=self._corpus.source,
                hint="Do all sources belong to one collection, and is the query's field text? "
                f"Counts: {dict(self.counts)}.",
            )

    def _judged(self, folder: Path) -> Iterator[_Drawn]:
        topics = self._candidates()
        wanted = {docno for _, *both in topics for docnos in both for docno in docnos}
        wanted |= self._documents.docnos
        texts = texts_of(
            self._corpus, wanted, as_tuple(self.recipe.fields), folder=folder / "texts"
        )
        relevant = {docno for _, best, _ in topics for docno in best}
        if unknown := {docno for docno in relevant if texts.find(docno) is None}:
            progress().note(absent(unknown, len(relevant), "relevant", "the corpus"))
        left_out = (texts.find(docno) or "" for docno in self._documents.docnos)
        barred = {same_text(text) for text in left_out if text.strip()}

        def usable(docnos: Iterable[str]) -> Iterator[str]:
            for text in (texts.find(docno) or "" for docno in docnos):
                if not text.strip():
                    self.counts["missing"] += 1
                elif same_text(text) in barred:
                    self.counts["left_out_documents"] += 1
                else:
                    yield text

        for query, positives, others in topics:
            best = list(usable(positives))
            taken, worse = {same_text(text) for text in best}, list[str]()
            draw = np.random.default_rng(seed_of(self.part.seed, "negatives", query))
            shuffled = (others[number] for number in draw.permutation(len(others)))
            for text in usable(shuffled):
                if len(worse) == self.part.negatives * len(best):
                    break
                if same_text(text) not in taken:
                    worse.append(text)
            yield query, best, worse

    def _candidates(self) -> list[_Drawn]:
        """Each query with the docnos of its positives and of its pool of negatives."""
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in self._qrels.frame.iter_rows():
            grades.setdefault(qid, {})[docno] = grade
        ranked: dict[str, dict[str, None]] = {}
        for path in self._runs:
            for qid, docno, _ in read_run(path).top(self.part.depth).frame.iter_rows():
                ranked.setdefault(qid, {})[docno] = None
        found = []
        for qid, query in zip(self._topics.qids, self._topics.queries, strict=True):
            if same_text(query) in self._queries:
                self.counts["left_out_queries"] += 1
                continue
            judged = grades.get(qid, {})
            pool = ranked.get(qid, {}) if self.part.runs else judged
            best = [docno for docno, grade in judged.items() if grade >= self.part.grade]
            worse = [docno for docno in pool if judged.get(docno, -1) < self.part.grade]
            out = self._documents
            self.counts["left_out_documents"] += sum(docno in out for docno in (*best, *worse))
            allowed = [docno for docno in best if docno not in out]
            found.append((query, allowed, [docno for docno in worse if docno not in out]))
        return found

    def _own(self, folder: Path) -> Iterator[_Drawn]:
        """Examples from documents only; memory holds docnos and 8-byte digests."""
        part, field = self.part, str(self.part.query_field)
        every = as_tuple(self.recipe.fields) or self._corpus.default_fields
        fields = [name for name in every if name != field]
        if not fields:
            raise InputError(f"the text's only field is {field!r}, which is the query.")
        docnos, queries, texts = list[str](), list[int](), list[int]()
        same, excluded, known = dict[int, set[int]](), dict[str, Any](), set[str]()
        for document in documents_left(
            self._corpus, self._documents, lambda document: text_of(document, fields), excluded
        ):
            known |= document.fields.keys()
            query, text = document.fields.get(field, ""), text_of(document, fields)
            if not query.strip() or not text.strip():
                self.counts["without_positive"] += 1
            elif same_text(query) in self._queries:
                self.counts["left_out_queries"] += 1
            else:
                docnos.append(document.docno)
                queries.append(same_number(query))
                texts.append(same_number(text))
                same.setdefault(queries[-1], set()).add(texts[-1])
        refuse_absent([field, *as_tuple(self.recipe.fields)], [known], self._corpus.source)
        self.counts["left_out_documents"] += excluded["excluded"] + excluded["copies"]
        order = sorted(range(len(docnos)), key=lambda n: seed_of(part.seed, "document", docnos[n]))
        drawn = dict[int, list[int]]()
        for number in sorted(order[: part.most]):
            draw = np.random.default_rng(seed_of(part.seed, "negatives", docnos[number]))
            taken, others = set(same[queries[number]]), list[int]()
            for other in draw.integers(0, len(docnos), _TRIES * part.negatives).tolist():
                if len(others) < part.negatives and texts[other] not in taken:
                    taken.add(texts[other])
                    others.append(other)
            drawn[number] = others
        wanted = {docnos[n] for number, others in drawn.items() for n in (number, *others)}
        text_by = texts_of(self._corpus, wanted, fields, folder / "texts")
        query_by = texts_of(self._corpus, wanted, [field], folder / "queries")
        for number, others in drawn.items():
            own, *rest = text_by.get(docnos[n] for n in (number, *others))
            yield query_by.get([docnos[number]])[0], [own], rest

    def model(self) -> "torch.nn.Module":
        import torch

        labels = self.recipe.labels
        torch.manual_seed(seed_of(self.recipe.training.seed, "head"))
        if self.base.has_architecture(CLASSIFIER):
            network: Any = load_model(self.base, KIND)
            if network.config.num_labels != labels:
                raise InputError(
                    f"the classifier of {self.base.name} has {network.config.num_labels} outputs, "
                    f"not {labels}.",
                    hint="Train a cross-encoder from one with 1 output, a monoBERT from one with "
                    "2, or start from an encoder.",
                )
        else:
            network = load_model(self.base, KIND, new_head=True, num_labels=labels)
        # Whatever the base's classes were called, the saved model names what it learned.
        network.config.id2label = dict(enumerate(("irrelevant", "relevant")[-labels:]))
        network.config.label2id = {name: key for key, name in network.config.id2label.items()}
        with_padding(network, load_tokenizer(self.base))
        return cast("torch.nn.Module", network)

    def save(self, model: Any, folder: Path) -> None:
        super().save(model, folder)
        tokenizer = load_tokenizer(self.base)  # sentence-transformers cuts inputs as it says
        tokenizer.model_max_length = longest_input(model.config, tokenizer, self.recipe.length)
        with_padding(model, tokenizer)
        tokenizer.chat_template = None  # it was trained on plain pairs, and is read so everywhere
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        tokenizer.save_pretrained(folder)

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        import torch

        some = [Encoded(row["ids"].astype(np.int64), row["types"].astype(np.int64)) for row in rows]
        labels = torch.tensor([float(row["label"]) for row in rows])
        return {**self._reader.padded(some, torch.device("cpu")), "labels": labels}

    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

        labels = batch["labels"]
        inputs = {name: values for name, values in batch.items() if name != "labels"}
        logits = model(**inputs).logits.float()
        if self.recipe.labels == 1:
            return binary_cross_entropy_with_logits(logits[:, 0], labels)
        return cross_entropy(logits, labels.long())

    def summary(self, data: TrainingData) -> str:
        counts = data.counts
        return (
            f"{counts['queries']:,} queries, {counts['left_out_queries']:,} queries and "
            f"{counts['left_out_documents']:,} documents left out by leak control; "
            f"{super().summary(data)}"
        )


class MonoBERTTraining(CrossEncoderTraining):
    """A monoBERT: a cross-encoder with two classes."""

    recipe_type = MonoBERTRecipe
