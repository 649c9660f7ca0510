"""Small studies of every task, with work of every kind that is made in shards."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

sys.path += [
    str(Path(__file__).parents[1] / name)
    for name in ("models", "encoders", "rerankers", "selectors")
]

from some_questions import some_questions
from some_spans import some_spans
from tiny import tiny_bert, tiny_colbert
from tiny_bart import tiny_bart

from adducir.core.sharding import gathering
from adducir.datasets.evidence_sets.record_files import write_questions
from adducir.datasets.grounded import GroundedContext, write_contexts
from adducir.datasets.spans.record import MaskedSpan, write_spans
from adducir.encoders.encoding import EncodingWork
from adducir.encoders.span_work import SpanWork
from adducir.encoders.token_work import VectorsWork
from adducir.experiments.known_item import encoders
from adducir.experiments.retrieval import dense
from adducir.indexes.dense.builder import Running

FILE = Path("experiments", "study.yaml")
RETRIEVAL = """\
corpora:
  pets: {source: pets.jsonl}
  weighted: {expand: pets, model: deepct/tiny.yaml, scale: 10}
indexes:
  pets: {corpus: pets, engine: memory, fields: [premise]}
  weighted: {corpus: weighted, engine: memory, fields: [conclusion, weighted]}
  dense: {corpus: pets, engine: dense, encoder: base, fields: [premise]}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
  u: {source: more.tsv, qrels: r.qrels}
systems:
  BM25: {index: pets}
  DeepCT: {index: weighted, k1: 5}
  Dense: {index: dense}
  Re: {rerank: BM25, by: classifier, depth: 5, texts: pets}
  Best:
    rerank: DeepCT
    by: classifier
    texts: pets
    tune: {grid: {depth: [1, 3, 5]}, folds: {k: 2}}
  Tuned: {index: pets, tune: {grid: {k1: [0.4, 0.9, 2], b: [0.2, 0.6]}, folds: {k: 2}}}
  Fused: {fuse: [Re, Dense]}
measures: [nDCG@5]
comparison: {baseline: BM25}
"""
SHARES = "{train: 0.4, validation: 0.2, test: 0.4}"
KNOWN = f"""task: known-item
data:
  A: {{spans: spans.jsonl, candidates: more.jsonl, part: test, shares: {SHARES}}}
contexts: {{L: {{right: 0}}, 1/1: {{left: 1, right: 1}}}}
systems:
  BM25: {{bm25: {{}}}}
  zero: {{encoder: tiny}}
  late: {{maxsim: tiny, contexts: [L]}}
  ours: {{train: [encoders/tiny.yaml, encoders/tiny.yaml], set: [training.epochs=1], contexts: [L]}}
comparison: {{baseline: BM25}}
"""
EVIDENCE = """task: evidence-sets
data:
  A:
    - {train: a.jsonl, validation: v.jsonl, test: b.jsonl}
    - {train: b.jsonl, validation: v.jsonl, test: a.jsonl}
systems:
  ours: {recipe: rerankers/ours.yaml}
  BM25: {selector: bm25, size: 3, analysis: split}
comparison: {baseline: BM25}
"""
GROUNDED = """task: grounded-generation
data: {passages: passages.jsonl, train: train.jsonl, validation: held.jsonl, test: test.jsonl}
retriever:
  {base: tiny-colbert, vectors: colbert, network: trained, adapter: full, query_length: 8}
guide: {order: target-input, add_prior: true}
generator: {bart: bart, input_length: 8, passage_length: 16, output_length: 8}
closed: {depth: 4}
systems:
  untrained: {untrained: {}}
  elbo:
    train:
      - loss: elbo
        sample: {k: 2}
        validation: {k: 4, sampler: top}
        training: {epochs: 1, batch_size: 3, learning_rate: 0.001}
cutoffs: [1]
decode: {passages: 2, beams: 2, max_length: 3, thorough: true}
"""
FROZEN = """task: grounded-generation
data:
  arguments: arguments.jsonl
  bed: {nonce: 0.5, shortest: 3, shares: {train: 0.5, validation: 0.25, test: 0.25}}
retriever: {base: tiny, adapter: 2}
closed: {depth: 6, candidates: vectors, candidate_depth: 10}
k: [2]
systems:
  untrained: {untrained: {}}
  marginal: {train: [{loss: marginal, training: {epochs: 1, batch_size: 4, learning_rate: 0.01}}]}
cutoffs: [1, 5]
comparison: {baseline: untrained}
"""


def _written(folder: Path, text: str, *more: str) -> None:
    for name in ("experiments", *more):
        (folder / name).mkdir()
    (folder / FILE).write_text(text)


def _lines(path: Path, records: Any) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def retrieval(folder: Path) -> None:
    """Weights, dense index, reranking, tuning, over two topic sets."""
    _written(folder, RETRIEVAL, "deepct")
    tiny_bert(folder / "base")
    tiny_bert(folder / "classifier", kind="BertForSequenceClassification")
    texts = [f"the cat {n} ran fast, dogs {n % 3} ran" for n in range(9)]
    records = [
        {"docno": f"d{n}", "conclusion": "cats run", "premise": text}
        for n, text in enumerate(texts)
    ]
    _lines(folder / "pets.jsonl", records)
    (folder / "topics.tsv").write_text("1\tcats\n2\tdogs 2\n3\tfast 4\n")
    (folder / "more.tsv").write_text("7\tcat 5\n8\tran 6\n")
    (folder / "q.qrels").write_text("1 0 d1 1\n2 0 d2 1\n3 0 d4 1\n")
    (folder / "r.qrels").write_text("7 0 d5 1\n8 0 d6 1\n")
    (folder / "deepct" / "tiny.yaml").write_text(
        "kind: deepct\ncorpus: {source: pets.jsonl}\ntext: premise\nreference: conclusion\n"
        "base: base\npassages: {length: 20}\nheld_out: {share: 0}\n"
        "training: {epochs: 1, batch_size: 4, patience: null}\n"
    )


def known_item(folder: Path) -> None:
    """Encoders as they are and trained, beside what is made by one part."""
    _written(folder, KNOWN, "encoders")
    tiny_bert(folder / "tiny")
    write_spans(some_spans(30, groups=9), folder / "spans.jsonl")
    write_spans([MaskedSpan("m", "other", (), ("a slow dog .",), ())], folder / "more.jsonl")
    (folder / "encoders" / "tiny.yaml").write_text(
        f"base: tiny\ndata: {{train: spans.jsonl, shares: {SHARES}}}\n"
        "training: {epochs: 1, batch_size: 5, learning_rate: 0.001, patience: null}\n"
    )


def evidence_sets(folder: Path) -> None:
    """Selectors, trained and not, in two rounds."""
    _written(folder, EVIDENCE, "rerankers")
    tiny_bert(folder / "tiny")
    for seed, (name, count) in enumerate({"a": 8, "b": 7, "v": 3}.items()):
        write_questions(some_questions(count, seed=seed), folder / f"{name}.jsonl")
    (folder / "rerankers" / "ours.yaml").write_text(
        "kind: complementary\nbase: tiny\ndata: {train: none.jsonl}\ntraining: {epochs: 1}\n"
    )


def grounded(folder: Path) -> None:
    """A network that is trained: closed sets of vectors that are encoded anew."""
    _written(folder, GROUNDED)
    tiny_bert(folder / "tiny")
    tiny_colbert(folder / "tiny", folder / "tiny-colbert")
    tiny_bart(folder / "bart")
    passages = [f"the {first} and the {second} run" for first, second in product("abc", "xyz")]
    _lines(folder / "passages.jsonl", ({"id": f"p{n}", "text": t} for n, t in enumerate(passages)))
    for seed, (name, count) in enumerate({"train": 6, "held": 3, "test": 5}.items()):
        contexts = [
            GroundedContext(f"{name}{n}", f"cats {n + seed} run", f"dogs {n}", gold=(f"p{n}",))
            for n in range(count)
        ]
        write_contexts(contexts, folder / f"{name}.jsonl")


def frozen(folder: Path) -> None:
    """A network that is not trained, and candidates by vectors."""
    _written(folder, FROZEN)
    tiny_bert(folder / "tiny")
    words = ["cats", "dogs", "energy", "power", "school", "uniforms", "nuclear", "plants"]
    records = [
        {
            "docno": f"d{number}",
            "conclusion": f"{word} should be banned",
            "premise": f"The {word} and the {other} run fast. A {word} is not the {other}.",
        }
        for number, (word, other) in enumerate(product(words, words[:3]))
    ]
    _lines(folder / "arguments.jsonl", records)


STUDIES: Mapping[str, Callable[[Path], None]] = {
    one.__name__: one for one in (retrieval, known_item, evidence_sets, grounded, frozen)
}


def small_shards(size: int = 3) -> None:
    """Let shards of all kinds of work have so many items at most, in this process."""
    gathering.planned = partial(_planned, gathering.planned, size)  # type: ignore[assignment]
    dense.Running = partial(Running, shard=size)  # type: ignore[assignment,misc]
    encoders.SpanWork = partial(SpanWork, size=size)  # type: ignore[assignment,misc]


def _planned(
    planned: Any, most: int, folder: Any, items: Any, describe: Any, size: int, *rest: Any
) -> Any:
    # Vectors are put together by the size that their work has.
    is_vectors = isinstance(describe.__self__, EncodingWork | SpanWork | VectorsWork)
    most = size if is_vectors else most
    return planned(folder, items, describe, min(size, most), *rest)


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small shards."""
    monkeypatch.setattr(gathering, "planned", gathering.planned)
    monkeypatch.setattr(dense, "Running", Running)
    monkeypatch.setattr(encoders, "SpanWork", SpanWork)
    small_shards()


_CHANGING = re.compile(
    r"manifest\.json|training\.json|README\.md|.*\.ir-metadata\.yml|report\.html"
)


def content(folder: Path) -> dict[str, Any]:
    """What lies in a study and hangs on no clock: bytes of files, and what manifests say."""
    found: dict[str, Any] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(place, name)
            key = str(path.relative_to(folder))
            if name == "manifest.json":
                value = json.loads(path.read_bytes())
                found[key] = {
                    one: value[one] for one in ("kind", "fingerprint", "recipe", "inputs")
                }
                if value["kind"] == "results":
                    found[key] = "results"
            elif name == "table.json":  # its provenance says when runs were written
                found[key] = json.loads(path.read_bytes())["rows"]
            elif not _CHANGING.fullmatch(name) and not name.startswith("."):
                found[key] = path.read_bytes()
    return found


def hidden(folder: Path) -> list[Path]:
    """What work leaves beside what it made, locks and kept scores aside."""
    kept = (".lock", ".scores")
    return [path for path in folder.rglob(".*") if not path.name.endswith(kept)]
