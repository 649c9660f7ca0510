"""Estimates of a dry run: amounts from sizes, rates of this machine, and what is not known."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest
import torch

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders")]

from experiment_studies import Study
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.cli.measured import rate_lines
from adducir.core.amounts import of_bytes, of_seconds
from adducir.core.rates import Rates, keep_rates, kept_rates
from adducir.corpora.sizes import bytes_of_corpus, bytes_of_files, documents_of
from adducir.corpora.sources import open_corpus
from adducir.experiments import measuring
from adducir.experiments.estimates import Estimate, estimated, total
from adducir.experiments.measuring import Measured, this_machine
from adducir.experiments.plan import Plan
from adducir.experiments.work import BYTES_PER_TOKEN, Work, operations_in, together
from adducir.models.sizes import NetworkSize, network_size
from adducir.models.sources import ModelSource

RATES = Rates(
    "2026-11-22",
    {"processor": "x"},
    {
        "memory bytes": 100.0,
        "memory pairs": 10.0,
        "memory feedback pairs": 5.0,
        "forward operations": 1e6,
        "training operations": 1e6,
        "products": 1e6,
        "fused rows": 100.0,
    },
    {"memory": 3.0, "networks": 20.0, "training": 5.0},
    {"memory": 2e8, "networks": 5e8, "training": 1e9, "runs": 1e8},
    {"memory": 2.0, "run row": 15.0},
)
STUDY = """\
corpora:
  pets: {source: data/pets.jsonl}
  weighted: {expand: pets, model: deepct/words.yaml}
indexes:
  pets: {corpus: pets, engine: memory}
  weighted: {corpus: weighted, engine: memory}
  dense: {corpus: pets, engine: dense, encoder: tiny}
topics:
  t: {source: data/topics.tsv, qrels: data/qrels.txt}
systems:
  BM25: {index: pets}
  RM3: {index: pets, rm3: {}}
  tuned: {index: pets, tune: {grid: {k1: [0.5, 1, 2], b: [0.4, 0.6]}, folds: {k: 2}}}
  DeepCT: {index: weighted}
  dense: {index: dense}
  mono: {rerank: BM25, by: "cross-encoder:tiny", depth: 5}
  hub: {rerank: BM25, by: "maxsim:no/such", depth: 5}
  fused: {fuse: [BM25, dense]}
depth: 20
measures: [nDCG@5]
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    found = Study(tmp_path / "study", STUDY)
    tiny_bert(found.folder / "tiny")
    (found.folder / "deepct").mkdir()
    (found.folder / "deepct" / "words.yaml").write_text(
        "kind: deepct\nbase: tiny\ncorpus: {source: data/pets.jsonl}\n"
        "text: text\nreference: title\n"
        "training: {epochs: 2}\npassages: {length: 64}\n"
    )
    return found


def works(plan: Plan) -> dict[str, Work | None]:
    """By the steps' paths: the name of a run's system alone."""
    paths = {step: plan.shown(step.path).removeprefix("runs/pets/") for step in plan.steps}
    return {path.removesuffix(".t.trec.gz"): step.work() for step, path in paths.items()}


def test_the_work_of_each_step_is_counted(study: Study) -> None:
    found = works(study.plan(dry_run=True))
    text = (study.folder / "data" / "pets.jsonl").stat().st_size
    size = network_size(ModelSource("tiny", study.folder / "tiny"))
    assert size is not None

    def amounts(name: str) -> Mapping[str, float]:
        work = found[name]
        assert work is not None
        return work.amounts

    # 4 topics, 9 documents, 6 settings.
    assert amounts("BM25") == {"memory pairs": 36}
    assert amounts("RM3") == {"memory feedback pairs": 36}
    assert amounts("tuned") == {"memory pairs": 6 * 36}
    assert amounts("fused") == {"fused rows": 2 * 4 * 20}
    tokens = text / BYTES_PER_TOKEN
    assert amounts("deepct/words") == {"training operations": 3 * 2 * size.operations(tokens, 64)}
    weights = {"forward operations": size.operations(tokens, 256)}
    assert amounts("deepct/words.pets.weights") == weights
    assert amounts("indexes/dense") == {"forward operations": size.operations(tokens, tokens / 9)}
    assert amounts("indexes/pets") == {"memory bytes": text}
    length = 16 + tokens / 9
    assert amounts("mono") == {"forward operations": size.operations(4 * 5 * length, length)}
    assert found["hub"] is None
    work = found["BM25"]
    assert work is not None
    assert work.shares == {"run row": 4 * 9}


def test_works_one_after_the_other() -> None:
    one = Work(("a",), {"x": 1.0}, 2.0, 3.0, {"s": 1.0})
    other = Work(("b", "a"), {"x": 1.0, "y": 4.0}, 5.0, 6.0, {"s": 2.0})
    assert together(one, other) == Work(("a", "b"), {"x": 2.0, "y": 4.0}, 7.0, 9.0, {"s": 3.0})
    assert together(one, None) is None
    assert together(None, one) is None


def test_half_precision_has_rates_of_its_own(study: Study) -> None:
    """Which is what the step computes in, be it training or not."""

    def half(work: Work | None) -> set[str]:
        assert work is not None
        return {name for name in work.amounts if name.endswith(" in bfloat16")}

    assert not any(half(work) for work in works(study.plan(dry_run=True)).values() if work)
    recipe = study.folder / "deepct" / "words.yaml"
    recipe.write_text(recipe.read_text().replace("epochs: 2", "epochs: 2, precision: bfloat16"))
    study.change("encoder: tiny}", "encoder: tiny, precision: bfloat16}")
    study.change("words.yaml}", "words.yaml, precision: bfloat16}")
    (study.folder / "half.yaml").write_text(
        "model: cross-encoder\nbase: tiny\nprecision: bfloat16\n"
    )
    study.change('"cross-encoder:tiny"', "half.yaml")
    found = works(study.plan(dry_run=True))
    assert half(found["deepct/words"]) == {"training operations in bfloat16"}
    for name in ("deepct/words.pets.weights", "indexes/dense", "mono"):
        assert half(found[name]) == {"forward operations in bfloat16"}, name


def test_a_plan_shows_estimates_and_their_total(study: Study) -> None:
    plan = study.plan(dry_run=True)
    text = (study.folder / "data" / "pets.jsonl").stat().st_size
    plain, lines = plan.lines(), plan.lines(RATES)
    shown = [line for line in lines if line.endswith("]")]
    assert len(shown) == len(plan.steps)
    assert [line.partition(" [")[0] for line in lines[: len(plain)]] == plain
    (index,) = [line for line in shown if "index indexes/pets" in line]
    assert index.endswith(
        f"[about {of_seconds(text / 100)}, 200 MB memory, {of_bytes(2 * text)} disk]"
    )
    (hub,) = [line for line in shown if "hub" in line]
    assert hub.endswith("[unknown]")
    (last,) = [line for line in lines if line.startswith("total")]
    assert "; 1 of 13 steps unknown; from sizes of files and rates of 2026-11-22" in last
    found = [estimated(step.work(), RATES) for step in plan.steps]
    known = [one for one in found if one is not None]
    seconds = sum(one.seconds for one in known) + 3 + 20 + 5
    assert f"about {of_seconds(seconds)}, " in last


def test_every_line_of_a_step_is_counted_where_data_are_missing(study: Study) -> None:
    (study.folder / "data" / "pets.jsonl").unlink()
    plan = study.plan(dry_run=True)
    lines = plan.lines(RATES)
    verbs = ("train", "weight", "build", "search", "tune", "rerank", "fuse")
    steps = [line for line in lines if line.split()[0] in verbs]
    assert len(steps) == len(plan.steps) > len(plan.goals)
    assert [line.split()[0] for line in steps].count("build") == 3
    assert all(line.endswith("]") for line in steps)
    unknown = sum(line.endswith("[unknown]") for line in steps)
    assert f"{unknown} of {len(steps)} steps unknown" in lines[-1]


def test_what_is_kept_has_no_estimate(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.change("fields: [text]", "engine: memory, fields: [text]")
    study.run()
    plan = study.plan(dry_run=True)
    assert plan.is_made
    assert plan.lines(RATES) == plan.lines()
    study.change("model: qld", "model: qld, mu: 10")
    plan = study.plan(dry_run=True)
    lines = plan.lines(RATES)
    assert [line.split()[0] for line in lines if line.endswith("]")] == ["search"]
    assert "about 7 s, " in lines[-1]  # 4 topics, 9 documents at 10 pairs a second; 3 s to start


def test_the_command_shows_estimates_once_rates_are_kept(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(study.folder)
    monkeypatch.setenv("ADDUCIR_RATES", str(study.folder / "rates.json"))
    command = ["experiment", str(study.file), "--dry-run"]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("run `adducir doctor --measure`")
    keep_rates(replace(RATES, machine=this_machine()))
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "total  about " in out
    assert "doctor" not in out


def test_an_unknown_amount_is_no_zero() -> None:
    assert estimated(None, RATES) is None
    assert estimated(Work(("lucene",), {"memory pairs": 1}), RATES) is None
    assert estimated(Work(("memory",), {"lucene pairs": 1}), RATES) is None
    assert estimated(Work(("memory",), shares={"lucene": 1}), RATES) is None
    known = estimated(Work(("memory",), {"memory pairs": 50}, 1e8, 7, {"memory": 4}), RATES)
    assert known == Estimate(5.0, 3e8, 15.0, ("memory",))
    assert total([None, None], RATES) == "2 of 2 steps unknown"
    assert total([known, known], RATES) == "about 13 s, 300 MB memory, 30 B disk"


def test_rates_are_those_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rates.json"
    monkeypatch.setenv("ADDUCIR_RATES", str(path))
    assert kept_rates(RATES.machine) is None
    assert keep_rates(RATES) == path
    keep_rates(replace(RATES, machine={"processor": "y"}, rates={"memory pairs": 7.0}))
    assert kept_rates(RATES.machine) == RATES
    other = kept_rates({"processor": "y"})
    assert other is not None
    assert other.rates == {"memory pairs": 7.0}
    assert kept_rates({"processor": "z"}) is None
    for broken in ("", "[]", '{"machines": 3}', "{" * 10_000):
        path.write_text(broken)
        assert kept_rates(RATES.machine) is None


def test_sizes_of_files(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_text(json.dumps({"docno": "1", "text": "x" * 100}) + "\n")
    packed.write_bytes(b"\x1f\x8b" + b"z" * 998)
    size = plain.stat().st_size
    assert bytes_of_files([plain, packed]) == size + 3000
    assert bytes_of_files([plain, tmp_path / "none"]) is None
    assert bytes_of_corpus(open_corpus(plain)) == size
    assert documents_of(open_corpus(plain)) == 1
    assert documents_of(open_corpus(packed)) == 2


def test_operations_against_torchs_own_count(tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoModel, BertConfig, BertModel

    config = BertConfig(
        vocab_size=100,
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(tmp_path)
    size = network_size(ModelSource("x", tmp_path))
    assert size is not None
    assert (size.layers, size.width, size.inner) == (3, 48, 96)
    assert size.bytes == (tmp_path / "model.safetensors").stat().st_size
    network = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        network(input_ids=torch.ones((5, 32), dtype=torch.long))
    # Beside the layers there is the pooler: one matrix for each text.
    pooler = 5 * 2 * 48 * 48
    assert counter.get_total_flops() - pooler == size.operations(5 * 32, 32)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hidden_size": 0}', '{"hidden_size": "x"}'])
def test_a_strange_configuration_has_no_size(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert network_size(ModelSource("x", tmp_path)) is None
    assert network_size(ModelSource("x", tmp_path / "none")) is None


def test_sizes_of_t5(tmp_path: Path) -> None:
    config = {"d_model": 512, "num_layers": 6, "d_ff": 2048}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert network_size(ModelSource("x", tmp_path)) == NetworkSize(6, 512, 2048)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0.1 s"), (0.34, "0.3 s"), (4.4, "4 s"), (99, "99 s"), (100, "2 min")),
        *((5999, "1.7 h"), (7 * 3600, "7.0 h"), (40 * 3600, "40 h"), (72 * 3600, "3 days")),
    ],
)
def test_times_as_people_read_them(seconds: float, text: str) -> None:
    assert of_seconds(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *((0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9960, "10 kB"), (999_600, "1.0 MB")),
        *((16 << 20, "17 MB"), (3.14e9, "3.1 GB"), (2e15, "2.0 PB")),
    ],
)
def test_bytes_as_people_read_them(count: float, text: str) -> None:
    assert of_bytes(count) == text


def _quick(folder: Path, device: str) -> Measured:
    (folder / "x").write_text(device)
    return Measured({"quick": 2.0}, {"start": 1.0}, {}, {"share": 3.0})


def _broken(folder: Path, device: str) -> Measured:
    raise ValueError("not here")


def test_parts_are_measured_and_what_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ADDUCIR_RATES", str(tmp_path / "rates.json"))
    monkeypatch.setattr(measuring, "PARTS", {"quick": _quick, "broken": _broken})
    monkeypatch.setattr(measuring, "ProcessPoolExecutor", lambda *_: _Here())
    assert main(["doctor", "--measure"]) == 1
    shown = capsys.readouterr()
    assert "not measured: broken: not here" in shown.err
    assert "quick" in shown.out
    found = kept_rates(this_machine())
    assert found is not None
    assert found.rates == {"quick": 2.0}
    assert found.shares == {"share": 3.0}
    assert found.memory["quick"] > 1e7
    assert main(["doctor", "--device", "cpu"]) == 2


def test_a_device_that_is_not_there_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ADDUCIR_RATES", str(tmp_path / "rates.json"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(measuring, "PARTS", {"quick": _quick})
    monkeypatch.setattr(measuring, "ProcessPoolExecutor", lambda *_: _Here())
    assert main(["doctor", "--measure", "--device", "cuda"]) == 2
    shown = capsys.readouterr()
    assert "there is no device 'cuda' here" in shown.err
    assert shown.out == ""
    assert not (tmp_path / "rates.json").exists()


def test_measured_figures_have_names_and_units() -> None:
    rates = {"memory bytes": 8.86e6, "memory pairs": 20e6, "training operations": 4.25e10}
    shown = Rates("", {}, rates, {"memory": 1.29}, {"memory": 3.3e8, "runs": 1.6e8}, {"run row": 9})
    assert rate_lines(shown) == [
        "speed        indexing, memory engine  8.9 MB/s",
        "speed        search, memory engine    20,000,000 documents/s",
        "speed        training                 42.5 GFLOP/s",
        "start-up     memory engine            1.3 s",
        "peak memory  memory engine            330 MB",
        "peak memory  fusing runs              160 MB",
        "disk         run, compressed          9.00 bytes per line",
    ]


class _Here:
    """A pool that runs in this process."""

    def __enter__(self) -> "_Here":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Callable[..., object], *arguments: object) -> "_Here":
        self._call = partial(function, *arguments)
        return self

    def result(self) -> object:
        return self._call()


@pytest.mark.slow
def test_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "COPIES", 2)
    found, failed = measuring.measure("cpu")
    assert failed == []
    assert found.rates.keys() >= {"memory bytes", "lucene feedback pairs", "lexical pairs"}
    for precision, what in product(("float32", "bfloat16"), ("forward", "training")):
        assert operations_in(precision, what) in found.rates
    assert all(value > 0 for value in found.rates.values())
    shown = "\n".join(rate_lines(found))
    assert "a second" not in shown, "each speed has a unit"
    assert "bytes each" not in shown, "each size has a unit"
    assert found.memory["training"] > found.memory["disk"] > 1e7
    assert 0.5 < found.shares["memory"] < 5
