"""The whole way at scale: term weights, expansion, indexes, search, table; encoding, exact search.

The documents are made of HotpotQA's 8,811 abstracts in ADDUCIR_COLLECTIONS: a document has as many
sentences as an abstract that is drawn for it, and its n-th sentence is the n-th of another abstract
that has so many, drawn as well; its title is that of the abstract that its first sentence is from.
So lengths, the order of sentences and the frequencies of words in them stay those of real texts,
but the vocabulary does not grow with the collection: dictionaries are smaller than those of as many
real documents, posting lists longer. A topic is five words of a sentence, the rarest ones; relevant
is what contains this sentence. The measures say that the way is right from end to end, and nothing
of how good a system is. The passages are two halves of sentences, ten words of each at most.

Each stage is a command that a user types, in a process of its own. For every line that it reports,
the time since the one before, and the most memory since then (proportional set size of the process
and all its workers, once a second) are printed.

    python benchmarks/scale.py [--documents 400000] [--passages 1000000] [--folder DIR] [STAGE ...]
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import psutil

from adducir.models.sources import model_source

TOPICS, WORDS, SHORT, LEARN = 200, 5, 20, 1500
MEGA = 1_000_000

WEIGHTER = """kind: deepct
corpus: {source: abstracts.jsonl}
text: text
reference: title
base: network
passages: {length: 254}
keep_empty: false
held_out: {share: 0.1, test: 0.1}
training: {epochs: 1, batch_size: 16, learning_rate: 1.0e-4, precision: bfloat16}
"""

EXPERIMENT = """description: BM25 over original and over weighted text, two engines, at scale
corpora:
  original: {source: documents.jsonl}
  weighted: {expand: original, model: deepct/abstracts.yaml, scale: 10, precision: bfloat16}
indexes:
  original-memory: {corpus: original, engine: memory, fields: [title, text]}
  original-lucene: {corpus: original, engine: lucene, fields: [title, text]}
  weighted-memory: {corpus: weighted, engine: memory, fields: [title, weighted]}
  weighted-lucene: {corpus: weighted, engine: lucene, fields: [title, weighted]}
topics:
  sentences: {source: topics.tsv, qrels: qrels.txt}
systems:
  BM25: {index: original-memory}
  BM25 (Lucene): {index: original-lucene}
  BM25+RM3: {index: original-memory, rm3: {fb_terms: 10, fb_docs: 5}}
  DeepCT: {index: weighted-memory}
  DeepCT (Lucene): {index: weighted-lucene}
  DeepCT+RM3: {index: weighted-memory, rm3: {fb_terms: 10, fb_docs: 5}}
measures: [AP, nDCG@10, R@100]
comparison: {baseline: BM25, test: t, correction: holm}
table: {snippets: none}
"""

STAGES: dict[str, list[str]] = {
    "train": ["train", "deepct/abstracts.yaml"],
    "experiment": ["experiment", "scale.yaml", "--workers", "{workers}"],
    "vectors": [
        *("index", "passages.jsonl", "--engine", "dense", "--encoder", "network", "--output"),
        *("indexes/passages", "--set", "precision=bfloat16", "--workers", "{workers}"),
    ],
    "exact": [
        *("search", "--index", "indexes/passages", "--topics", "topics.tsv"),
        *("--output", "exact.trec.gz"),
    ],
}


def abstracts() -> dict[str, list[str]]:
    """Sentences of every abstract, by title."""
    folder = os.environ.get("ADDUCIR_COLLECTIONS")
    if not folder:
        sys.exit("ADDUCIR_COLLECTIONS is not set: the texts are made of its HotpotQA abstracts.")
    found: dict[str, list[str]] = {}
    with (Path(folder) / "hotpotqa" / "hotpotqa.subset.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            for title, sentences in json.loads(line)["context"]:
                stripped = [one for sentence in sentences if (one := sentence.strip())]
                if stripped:
                    found[title] = stripped
    return found


Place = tuple[int, int]
"""A sentence: the number of its abstract, and of the sentence there."""


def recombined(
    real: dict[str, list[str]], count: int, seed: int = 1
) -> Iterator[tuple[str, list[Place]]]:
    """For each document its title and its sentences."""
    draw = np.random.default_rng(seed)
    titles = list(real)
    lengths = np.array([len(one) for one in real.values()])
    with_place = [np.flatnonzero(lengths > place) for place in range(lengths.max())]
    for length in draw.choice(lengths, count):
        chosen = [(int(draw.choice(with_place[place])), place) for place in range(length)]
        yield titles[chosen[0][0]], chosen


def content(sentence: str) -> list[str]:
    """The words of a sentence, in lower case, each once."""
    return list(dict.fromkeys(re.findall(r"[a-z]{3,}", sentence.lower())))


def cut(folder: Path, layers: int) -> None:
    """Save MiniLM's embeddings and first layers."""
    from transformers import AutoModel, AutoTokenizer

    source = str(model_source("minilm").folder)
    network = AutoModel.from_pretrained(source)
    network.encoder.layer = network.encoder.layer[:layers]
    network.config.num_hidden_layers = layers
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def make(folder: Path, documents: int, passages: int) -> None:
    """Write abstracts, documents, topics, judgements, passages, recipes."""
    real = abstracts()
    bodies = list(real.values())
    (folder / "deepct").mkdir(parents=True, exist_ok=True)
    with (folder / "abstracts.jsonl").open("w", encoding="utf-8") as out:
        for number, (title, body) in enumerate(islice(real.items(), LEARN)):
            row = {"id": f"A{number}", "title": title, "text": " ".join(body)}
            out.write(json.dumps(row) + "\n")
    frequency = Counter(word for body in bodies for one in body for word in content(one))
    draw = np.random.default_rng(2)
    places = [
        (number, place)
        for number, body in enumerate(bodies)
        for place, one in enumerate(body)
        if len(content(one)) >= 2 * WORDS
    ]
    topics = {
        places[at]: number for number, at in enumerate(draw.choice(len(places), TOPICS, False))
    }
    with (folder / "topics.tsv").open("w", encoding="utf-8") as out:
        for (number, place), topic in topics.items():
            rarest = sorted(content(bodies[number][place]), key=lambda word: frequency[word])
            out.write(f"{topic}\t{' '.join(rarest[:WORDS])}\n")
    with (
        (folder / "documents.jsonl").open("w", encoding="utf-8") as out,
        (folder / "qrels.txt").open("w", encoding="utf-8") as judged,
    ):
        for number, (title, chosen) in enumerate(recombined(real, documents)):
            text = " ".join(bodies[one][place] for one, place in chosen)
            out.write(json.dumps({"id": f"D{number}", "title": title, "text": text}) + "\n")
            for topic in sorted({topics[one] for one in chosen if one in topics}):
                judged.write(f"{topic} 0 D{number} 1\n")
    sentences = [one for body in bodies for one in body]
    with (folder / "passages.jsonl").open("w", encoding="utf-8") as out:
        for number in range(passages):
            first, second = draw.integers(0, len(sentences), 2)
            halves = [sentences[one].split()[: SHORT // 2] for one in (first, second)]
            row = {"id": f"P{number}", "text": " ".join([*halves[0], *halves[1]])}
            out.write(json.dumps(row) + "\n")
    (folder / "deepct" / "abstracts.yaml").write_text(WEIGHTER)
    (folder / "scale.yaml").write_text(EXPERIMENT)


class Watch:
    """The most memory that a process and its descendants share out among them, since last asked."""

    def __init__(self, number: int) -> None:
        self._process = psutil.Process(number)
        self._most = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(1):
            total = 0
            try:
                for one in (self._process, *self._process.children(recursive=True)):
                    total += one.memory_full_info().pss
            except psutil.Error:
                continue
            self._most = max(self._most, total)

    def take(self) -> int:
        """Bytes."""
        most, self._most = self._most, 0
        return most

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        self._thread.join()


def run(folder: Path, words: list[str]) -> None:
    """Run a command and print a line for each line that it reports."""
    print(f"\nadducir {' '.join(words)}", flush=True)
    began = last = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "adducir", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    watch = Watch(process.pid)
    assert process.stderr is not None
    for line in process.stderr:
        now = time.perf_counter()
        print(f"{now - last:9.1f} s {watch.take() / MEGA:8,.0f} MB  {line.rstrip()}", flush=True)
        last = now
    code = process.wait()
    watch.end()
    print(f"{time.perf_counter() - began:9.1f} s in all, exit code {code}", flush=True)
    if code:
        sys.exit(code)


def sizes(folder: Path) -> None:
    """Print what lies on the disk."""
    for path in sorted([*folder.iterdir(), *folder.glob("*/*")]):
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        if (size := sum(one.stat().st_size for one in files)) > MEGA:
            print(f"{math.ceil(size / MEGA):8,} MB  {path.relative_to(folder)}")


def main() -> None:
    """Make what is missing, run the stages, print what is on the disk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all")
    parser.add_argument("--documents", type=int, default=400_000)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--layers", type=int, default=6, help="of MiniLM's six, the first")
    parser.add_argument("--workers", default=str(os.cpu_count()))
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="adducir-scale-"))
    if not (folder / "scale.yaml").exists():
        began = time.perf_counter()
        make(folder, options.documents, options.passages)
        cut(folder / "network", options.layers)
        print(f"{time.perf_counter() - began:9.1f} s: made in {folder}", flush=True)
    for stage in options.stages or STAGES:
        run(folder, [word.format(workers=options.workers) for word in STAGES[stage]])
    sizes(folder)


if __name__ == "__main__":
    main()
