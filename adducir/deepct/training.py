"""The training of a term weighter: from a recipe in ``deepct/`` to a model's folder.

A row is a passage: its word pieces, and for each word the index of its first piece and its target.
The loss is the mean squared error of word weights. Leak control leaves out documents and their
copies, documents whose text differs only in case and white space. Rows are deterministic.

How well weights recover a passage's reference terms is measured by average precision: its words
except stop words are ranked by weight; those with a positive target are relevant. Ties use the
exact mean over all orders of the tied words, so that constant weights equal chance.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError, UsageError, gathering
from adducir.core.files import scratch_folder
from adducir.core.fingerprint import digest_of, fingerprint
from adducir.core.progress import progress
from adducir.core.recipe import as_tuple
from adducir.corpora.documents import Document, refuse_absent, text_of
from adducir.corpora.sources import file_path, source_path
from adducir.deepct.model import KIND, EncodedPassage, PassageReader, TermWeighter
from adducir.deepct.recipe import DeepCTRecipe, TermWeighterSettings
from adducir.deepct.terms import STOP_LISTS, Matcher, match_key, stop_words
from adducir.models.folders import network_of
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.machine import choose_device, seed_of
from adducir.models.peers import loadable_network, outputs_of
from adducir.models.running import PLAIN, Running
from adducir.models.work import padded
from adducir.training.data import Rows, TrainingData, in_lists, same_number, sample, stored
from adducir.training.leaks import TrainedOn, documents_left
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch

_COLUMNS = {"docno": "string", "keys": "[string]", "ids": "[int32]", "firsts": "[int32]"}
_COLUMNS |= {"targets": "[float32]", "is_stop": "[bool]", "length": "int32"}
_COUNTED = (
    "without_reference",  # of documents; the following are of the others' passages
    *("passages", "without_words", "without_positive"),
    *("examples", "words", "stop_words", "positives"),
)
_MEASURED, _KNOWN = 500, 20_000
"""Passages to evaluate a trained model, and for tf-idf's idf."""
Row = Mapping[str, Any]
"""A passage: docno, its words' keys, firsts, targets, is_stop; its ids."""
Weigh = Callable[[Sequence[Row]], Sequence[NDArray[np.floating[Any]]]]
RESAMPLES = 10_000


class DeepCT(Trainable[DeepCTRecipe]):
    """A term weighter: BERT that predicts each word's weight in a passage."""

    recipe_type = DeepCTRecipe
    artifact = "term-weighter"
    columns = ("ids", "firsts", "targets", "is_stop")
    unit = "passages"
    card = """A DeepCT term weighter (Dai and Callan, 2020): it assigns each word of a passage a
weight, its importance to the passage's topic, from its first word piece.

## Use

```sh
adducir deepct show --model {name} --text "Nuclear energy is clean and safe."
adducir deepct expand --model {name} --corpus CORPUS --output expanded.jsonl.gz
```

The network is a token classifier with one label:
`transformers.AutoModelForTokenClassification.from_pretrained("{name}")`."""

    def __init__(self, recipe: DeepCTRecipe, folder: Path) -> None:
        super().__init__(recipe, folder)
        named, self._reference = recipe.stopwords, as_tuple(recipe.reference)
        self._queries_of: dict[str, list[str]] = {}
        with gathering() as opening:
            self.corpus = opening(partial(recipe.corpus.open, folder))
            self._supervision = opening(self._known_queries)
            self.without = opening(partial(recipe.without.excluded, folder))
            self.stop_words = opening(
                lambda: stop_words(named if named in STOP_LISTS else file_path(named, folder))
            )
            self.base = opening(partial(recipe.source, folder))
        shared = sorted(set(as_tuple(recipe.text)) & set(self._reference))
        if shared:
            raise UsageError(
                f"the field {shared[0]!r} is in both text and reference, so its words would be "
                "their own targets.",
                hint="Let the model read other fields than those to predict.",
            )

    def _known_queries(self) -> dict[str, Any]:
        """What determines documents' queries; with topics, reads them."""
        part = self.recipe.topics
        if part is None:
            return {"reference": list(self._reference)}
        topics = part.read_topics(source_path(part.source, self.folder), part.field)
        named = [source_path(source, self.folder) for source in as_tuple(part.qrels)]
        qrels = part.read_qrels(named)
        texts = dict(zip(topics.qids, topics.queries, strict=True))
        for qid, docno, grade in qrels.frame.iter_rows():
            if grade >= part.grade and qid in texts:
                self._queries_of.setdefault(docno, []).append(texts[qid])
        if not self._queries_of:
            raise InputError(
                f"{qrels.source} does not judge any document {part.grade} or better for a topic of "
                f"{topics.source}.",
                hint="Give the topics' judgements, or a lower grade.",
            )
        return {**topics.identity(), **qrels.identity(), "grade": part.grade}

    def trained_on(self, kept: frozenset[int] = frozenset()) -> TrainedOn:
        asked = {query for queries in self._queries_of.values() for query in queries}
        return TrainedOn(
            frozenset(map(same_number, asked)),
            corpus=self.inputs["corpus"] if self._reference and not self.recipe.most else "",
            excluded=self.without.docnos,
            key="without",
        )

    def _queries(self, document: Document) -> Sequence[str]:
        if not self._reference:
            return self._queries_of.get(document.docno, ())
        reference = text_of(document, self._reference)
        return [reference] if reference.strip() else []

    @property
    def settings(self) -> dict[str, Any]:
        sources = ("kind", "corpus", "topics", "without", "settings", "stopwords")
        return self.recipe.fingerprinted(dict.fromkeys(sources, True))

    @cached_property
    def inputs(self) -> dict[str, str]:
        return {
            "corpus": fingerprint(self.corpus.identity()),
            "supervision": fingerprint(self._supervision),
            "without": fingerprint(self.without.identity()),
            "stop words": fingerprint({"stop_words": digest_of(sorted(self.stop_words))}),
            "base": self.base.identity(),
        }

    @property
    def model_settings(self) -> TermWeighterSettings:
        recipe = self.recipe
        silent = () if recipe.stop_words_in_loss else tuple(sorted(self.stop_words))
        shared = recipe.model_dump(include={"tokenization", "activation", "passages"})
        return TermWeighterSettings(text=as_tuple(recipe.text), stop_words=silent, **shared)

    def dataset(self, folder: Path) -> TrainingData:
        data = stored(folder, _COLUMNS, self._rows)
        train = sample(data.train, self.recipe.most, seed_of(self.recipe.training.seed, "most"))
        return TrainingData(train, data.validation, data.test, data.counts)

    def _rows(self, counts: dict[str, Any]) -> Rows:
        recipe, reader = self.recipe, PassageReader.of(network_of(self.base), self.model_settings)
        if recipe.passages.unit == "pieces" and recipe.passages.length > reader.max_pieces:
            raise InputError(
                f"passages of {recipe.passages.length} pieces do not fit the model "
                f"{self.base.name}, which reads {reader.max_pieces}.",
                hint="Lower `passages.length`.",
            )
        matcher = Matcher(self.stop_words, recipe.tokenization)
        tally = Counter[str]()
        for some in in_lists(self._documents(counts), 256):
            cuts = [reader.cut(text_of(document, as_tuple(recipe.text))) for document in some]
            flat = [passage for passages in cuts for passage in passages]
            encoded = iter(reader.encode(flat, recipe.training_length))
            for document, passages in zip(some, cuts, strict=True):
                recall = matcher.recall(self._queries(document))
                name = document.fields.get(recipe.held_out.by or "", "") or document.docno
                part = recipe.held_out.part_of(name)
                tally["without_reference"] += not recall
                for passage in passages:
                    read = next(encoded)
                    if not recall:
                        continue
                    targets, is_stop = matcher.targets(passage.text, passage.words, recall)
                    positives = sum(value > 0 for value in targets)
                    is_empty = bool(targets) and not positives
                    tally.update(passages=1, without_words=not targets, without_positive=is_empty)
                    if targets and (positives or recipe.keep_empty):
                        sums = {"words": len(targets), "stop_words": sum(is_stop)}
                        tally.update(examples=1, positives=positives, **sums)
                        row = {
                            "docno": document.docno,
                            "keys": [match_key(word.text) for word in passage.words],
                            **read._asdict(),
                            "targets": targets,
                            "is_stop": is_stop,
                            "length": len(read.ids),
                        }
                        yield part, row
        counts.update({name: tally[name] for name in _COUNTED})
        if not tally["examples"]:
            raise InputError(
                f"{counts['documents']:,} documents leave no training examples: "
                f"{counts['excluded']:,} are left out by leak control, "
                f"{tally['without_reference']:,} lack a reference.",
                path=self.corpus.source,
                hint="Check the fields and what is left out.",
            )

    def _documents(self, counts: dict[str, Any]) -> Iterator[Document]:
        recipe, fields = self.recipe, set[str]()
        text, judged = partial(text_of, fields=as_tuple(recipe.text)), self._queries_of.keys()
        for document in documents_left(self.corpus, self.without, text, counts, judged):
            fields.update(document.fields)
            yield document
        needed = (*as_tuple(recipe.text), *self._reference, *as_tuple(recipe.held_out.by or ()))
        refuse_absent(needed, [fields], self.corpus.source)

    def model(self) -> "torch.nn.Module":
        import torch

        source = loadable_network(self.base)
        if self.kept:
            return cast("torch.nn.Module", load_model(source, KIND))
        torch.manual_seed(seed_of(self.recipe.training.seed, "head"))
        network: Any = load_model(source, KIND, new_head=True, num_labels=1)
        head = network.score if hasattr(network, "score") else network.classifier
        with torch.no_grad():  # as in BERT's own heads
            head.weight.normal_(0.0, 0.02)
            if head.bias is not None:
                head.bias.zero_()
        return cast("torch.nn.Module", network)

    @property
    def kept(self) -> Collection[str]:  # type: ignore[override]
        """The head of a term weighter."""
        network, activation = network_of(self.base), self.recipe.activation
        if outputs_of(network, KIND) != 1:
            return ()
        folder = network.described()
        if (folder / TermWeighterSettings.file).is_file():
            trained = TermWeighterSettings.load(folder).activation
            if trained != activation:
                raise InputError(
                    f"{self.base.name} predicts weights with the activation {trained}, this recipe "
                    f"with {activation}.",
                    path=folder,
                    hint=f"Set `activation: {trained}`.",
                )
        return ("head",)

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        import torch

        def filled(values: list[Any]) -> "torch.Tensor":
            tensors = [torch.from_numpy(np.array(some)) for some in values]
            return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)

        ids_of_rows = [row["ids"].astype(np.int64) for row in rows]
        ids, mask = padded(ids_of_rows, self._filler, torch.device("cpu"))
        counted = [row["firsts"] >= 0 for row in rows]
        if not self.recipe.stop_words_in_loss:
            counted = [mask & ~row["is_stop"] for mask, row in zip(counted, rows, strict=True)]
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "firsts": filled([row["firsts"].clip(0) for row in rows]).long(),
            "targets": filled([row["targets"] for row in rows]).float(),
            "counted": filled(counted),
        }

    @cached_property
    def _filler(self) -> int:
        return load_tokenizer(network_of(self.base)).pad_token_id or 0

    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        ids, mask = batch["input_ids"], batch["attention_mask"]
        logits = model(input_ids=ids, attention_mask=mask).logits[..., 0].float()
        weights = logits.gather(1, batch["firsts"])
        if self.recipe.activation == "sigmoid":
            weights = weights.sigmoid()
        errors: torch.Tensor = ((weights - batch["targets"]) ** 2)[batch["counted"]]
        return errors.sum() / max(1, len(errors))

    def summary(self, data: TrainingData) -> str:
        counts = data.counts
        left_out = counts["excluded"] + counts["copies"]
        copies = f", {counts['copies']:,} of them copies" if counts["copies"] else ""
        return (
            f"{counts['documents']:,} documents, {left_out:,} left out by leak control{copies}; "
            f"{super().summary(data)}"
        )

    def measure(self, model: "torch.nn.Module", data: TrainingData) -> dict[str, Any]:
        reader = PassageReader.of(network_of(self.base), self.model_settings)
        weighter = TermWeighter(model, reader)
        ways = {"trained": by_model(weighter)}
        return {"recovery": self.recovery(ways, data, _MEASURED, _KNOWN)}

    def recovery(
        self,
        ways: Mapping[str, Callable[[Any], Any]],
        data: TrainingData,
        measured: int | None = None,
        sample_size: int | None = None,
    ) -> dict[str, Any] | None:
        part, held_out = ("test", data.test) if len(data.test) else ("validation", data.validation)
        can_be = [number for number, row in enumerate(held_out) if row["targets"].any()]
        rows = list(sample(held_out.select(can_be), measured, 0))
        if not rows:
            return None
        progress().note(f"evaluating the model on {len(rows):,} {part} passages")
        tf_idf = by_tf_idf(sample(data.train, sample_size, 0)["keys"])
        results = recoveries({**ways, "tf-idf": tf_idf, "constant": constant}, rows)
        return {"part": part, "ways": [asdict(result) for result in results]}

    def report(self, counts: Mapping[str, Any]) -> list[str]:
        if not (measured := counts.get("recovery")):
            return []
        ways, part = measured["ways"], measured["part"]
        head = (
            f"{ways[0]['passages']:,} {part} passages of {ways[0]['documents']:,} documents; "
            "average precision with 95% bootstrap intervals over documents"
        )
        return [head, *("{name:<16} {mean:.3f}  [{low:.3f}, {high:.3f}]".format(**w) for w in ways)]


def evaluate_recovery(training: DeepCT, model: Path, running: Running = PLAIN) -> list[str]:
    """How well a model, the untrained one, tf-idf and chance recover terms of held-out passages."""
    place = choose_device(running.device)
    trained = TermWeighter.load(model).to(place)
    reader = PassageReader.of(training.base, training.model_settings)
    if (trained.reader.tokenizer.get_vocab(), trained.reader.longest) != (
        reader.tokenizer.get_vocab(),
        reader.longest,
    ):
        raise InputError(
            "the model's tokenizer or its longest input is not that of the recipe's base.",
            path=model,
            hint="Evaluate a model with the recipe that it was trained with.",
        )
    with scratch_folder() as folder:
        data = training.dataset(folder)
        untrained = TermWeighter(training.model(), trained.reader).to(place)
        weighters = {"trained": trained, "untrained": untrained}
        ways = {name: by_model(weighter, running) for name, weighter in weighters.items()}
        recovery = training.recovery(ways, data)
    if recovery is None:
        raise InputError(
            "none of the held-out passages has a reference term.", path=training.corpus.source
        )
    return training.report({"recovery": recovery})


@dataclass(frozen=True)
class Recovery:
    """Mean average precision with its 95% bootstrap interval over documents."""

    name: str
    mean: float
    low: float
    high: float
    passages: int
    documents: int


def expected_average_precision(weights: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    """Average precision, averaged over the orders of tied words; at least one must be relevant.

    A group of g tied words after m others, with r relevant ones and R relevant before it, adds for
    its i-th rank (r / g) * (R + 1 + (i - 1) * (r - 1) / (g - 1)) / (m + i).
    """
    order = np.argsort(-weights, kind="stable")
    values, hits = weights[order], relevant[order]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    sizes = np.diff(np.r_[starts, len(values)])
    inside = np.add.reduceat(hits.astype(np.int64), starts)
    before = np.cumsum(inside) - inside
    total = 0.0
    for m, g, r, seen in zip(starts, sizes, inside, before, strict=True):
        if r:
            i = np.arange(1, g + 1)
            remaining = (i - 1) * (r - 1) / max(g - 1, 1)
            total += float((r / g * (seen + 1 + remaining) / (m + i)).sum())
    return total / int(hits.sum())


def recoveries(ways: Mapping[str, Weigh], rows: Sequence[Row]) -> list[Recovery]:
    counted = [row for row in rows if (row["targets"][~row["is_stop"]] > 0).any()]
    _, codes = np.unique([str(row["docno"]) for row in counted], return_inverse=True)
    counts, results = np.bincount(codes), []
    draw = np.random.default_rng(seed_of(0, "bootstrap"))
    drawn = draw.integers(0, len(counts), size=(RESAMPLES, len(counts)))
    for name, weigh in ways.items():
        values = []
        for row, weights in zip(rows, weigh(rows), strict=True):
            relevant = row["targets"][~row["is_stop"]] > 0
            if relevant.any():
                content_weights = weights[~row["is_stop"]].astype(np.float64)
                values.append(expected_average_precision(content_weights, relevant))
        sums = np.bincount(codes, weights=values)
        means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        low, high = np.quantile(means, [0.025, 0.975]).tolist()
        mean = float(np.mean(values))
        results.append(Recovery(name, mean, low, high, len(values), len(counts)))
    return results


def by_model(weighter: TermWeighter, running: Running = PLAIN) -> Weigh:
    def weigh(rows: Sequence[Row]) -> Sequence[NDArray[Any]]:
        encoded = [EncodedPassage(row["ids"].astype(np.int64), row["firsts"]) for row in rows]
        return weighter.weights(encoded, running)

    return weigh


def constant(rows: Sequence[Row]) -> list[NDArray[np.float64]]:
    """The same weight for every word: chance."""
    return [np.ones(len(row["targets"])) for row in rows]


def by_tf_idf(samples: Sequence[Sequence[str]]) -> Weigh:
    """Term frequency in the passage times inverse document frequency in other passages."""
    seen, count = Counter(key for keys in samples for key in set(keys)), len(samples)

    def weigh(rows: Sequence[Row]) -> list[NDArray[np.float64]]:
        weights = []
        for keys in (row["keys"] for row in rows):
            frequencies = Counter(keys)
            idf = [frequencies[k] * math.log((count + 1) / (seen[k] + 0.5)) for k in keys]
            weights.append(np.array(idf, dtype=np.float64))
        return weights

    return weigh
