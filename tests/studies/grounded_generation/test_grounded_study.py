"""A study of grounded generation from one file: frozen and trained networks, rounds that resume."""

import csv
import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from json_files import jsonl
from safetensors.numpy import load_file
from sentence_transformers.sentence_transformer.modules import Router
from tiny import tiny_bart, tiny_bert, tiny_colbert

from adducir.cli.app import main
from adducir.core.errors import AdducirError
from adducir.core.many_texts import TextFile
from adducir.experiments.experiment import plan_experiment
from adducir.statistics.equivalence import two_level
from adducir.studies.grounded_generation.experiment.data import (
    ArgumentsRecipe,
    DataRecipe,
    GroundedData,
    build_bed,
)
from adducir.studies.grounded_generation.hindsight.model import Live, Network
from adducir.studies.grounded_generation.hindsight.recipe import TowersRecipe
from adducir.studies.grounded_generation.texts import GroundedContext, write_contexts

WORDS = ["cats", "dogs", "energy", "power", "school", "uniforms", "nuclear", "plants"]
BED = ArgumentsRecipe(
    nonce=0.5, shortest=3, shares={"train": 0.5, "validation": 0.25, "test": 0.25}
)
FILE = """task: grounded-generation
description: A study.
data:
  arguments: arguments.jsonl
  bed: {nonce: 0.5, shortest: 3, shares: {train: 0.5, validation: 0.25, test: 0.25}}
retriever: {base: tiny, adapter: 2}
closed: {depth: 6}
k: [2, 3]
seeds: [3, 5]
systems:
  untrained: {untrained: {}}
  marginal:
    train:
      - loss: marginal
        rounds: 1
        sample: {sampler: retriever}
        training: &training {epochs: 1, batch_size: 4, learning_rate: 0.01}
  elbo:
    train:
      - {loss: elbo, training: *training}
      - {loss: kl, rounds: 0, sample: {alpha: 1.0}, training: *training}
unit: group
cutoffs: [1, 5]
comparison: {baseline: marginal}
decode: {passages: 2, max_length: 4}
"""

CONTEXTS = """task: grounded-generation
data: {passages: passages.jsonl, train: train.jsonl, validation: held.jsonl, test: test.jsonl}
retriever:
  {base: tiny-colbert, vectors: colbert, network: trained, adapter: full, query_length: 8}
guide: {order: target-input}
generator: {bart: bart, input_length: 8, passage_length: 16, output_length: 8}
closed: {depth: 4}
systems:
  elbo:
    train:
      - loss: elbo
        rounds: 2
        sample: {k: 2}
        validation: {k: 4, sampler: top}
        training:
          {epochs: 1, batch_size: 1, learning_rate: 0.001, gradient_accumulation: 3, warmup: 0}
cutoffs: [1]
decode: {passages: 2, beams: 2, max_length: 5}
"""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tiny_bert(tmp_path / "tiny")
    (tmp_path / "experiments").mkdir()
    records = (
        {
            "docno": f"d{number}",
            "conclusion": f"{word} should be banned",
            "premise": f"The {word} and the {other} run fast. A {word} is not the {other}.",
        }
        for number, (word, other) in enumerate(product(WORDS, WORDS))
    )
    jsonl(tmp_path / "arguments.jsonl", records)
    return tmp_path


def test_the_tables_have_a_section_for_each_number_of_passages(place, capsys) -> None:
    (place / "experiments" / "bed.yaml").write_text(FILE)
    assert main(["experiment", "experiments/bed.yaml", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["encode encoders/bed/vectors", "rank   encoders/bed/untrained/closed"]
    assert sum(line.startswith("train") for line in lines) == 2 * 2 * 3
    assert main(["experiment", "experiments/bed.yaml", "--threads", "1"]) == 0
    table = json.loads((place / "experiments/bed/retriever/table.json").read_text())
    named = [(row["section"], row["system"]) for row in table["rows"]]
    systems = ["untrained", "marginal", "elbo"]
    assert named == [*product(["k = 2", "k = 3"], ["upper bound", *systems])]
    bound = [cell["mean"] for cell in table["rows"][0]["cells"]]
    assert bound[1:] == [pytest.approx(1 / 8), pytest.approx(5 / 8)]  # Success@1 and 5 of 8
    assert bound[0] == pytest.approx(sum(1 / rank for rank in range(1, 7)) / 8)  # RR@6
    assert "Runs of a system: marginal 2, elbo 2." in " ".join(table["footer"])
    check_runs(place, table)
    assert len(table["provenance"]["epochs kept"]) == 2 * 2 * 3
    texts = json.loads((place / "experiments/bed/texts/table.json").read_text())
    groups = ["answers", "knowledge", "grounding"]
    assert list(dict.fromkeys(one["group"] for one in texts["columns"])) == groups
    ranks = json.loads((place / "experiments/bed/by-rank/table.json").read_text())
    named = [one["measure"] for one in ranks["columns"] if one["group"] == "ranks"]
    assert named == ["Novel-F1 rank 1", "Novel-F1 rank 2"]
    first = [row["cells"][0]["mean"] for row in ranks["rows"]]
    grounded = [one["group"] for one in texts["columns"]].index("grounding") + 1
    assert first == [row["cells"][grounded]["mean"] for row in texts["rows"]]
    assert not ranks["tests"]
    each = list(csv.DictReader((place / "experiments/bed/texts/per-context.csv").open()))
    of_conclusions = {f"{word} should be banned" for word in WORDS}
    assert all(of_conclusions & set(one.values()) for one in each)
    capsys.readouterr()
    assert main(["experiment", "experiments/bed.yaml", "--dry-run"]) == 0
    verbs = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert verbs == {"keep", "test", "write"}


def test_rounds_that_systems_share_are_trained_once(place, capsys) -> None:
    other = """  alpha:
    train:
      - {loss: elbo, training: *training}
      - {loss: kl, rounds: 0, sample: {alpha: 0.5}, training: *training}
  again:
    train:
      - {loss: elbo, rounds: 2, training: *training}
"""
    (place / "experiments" / "bed.yaml").write_text(FILE.replace("unit:", f"{other}unit:"))
    assert main(["experiment", "experiments/bed.yaml", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    trained = [line.split()[1].rpartition("/")[2] for line in lines if line.startswith("train")]
    assert trained.count("phase-1-1-elbo") == trained.count("phase-1-2-elbo") == 2 * 2
    assert trained.count("phase-2-1-kl") == 2 * 2 * 2


def check_runs(place: Path, table: dict) -> None:
    bed = build_bed(place / "arguments.jsonl", BED)
    numbers = {docno: number for number, docno in enumerate(bed.passages)}
    groups = list(dict.fromkeys(one.group for one in bed.contexts["test"]))
    found = {name: np.zeros((2, len(groups))) for name in ("elbo", "marginal")}
    for (name, values), (run, seed) in product(found.items(), enumerate((3, 5))):
        closed = load_file(place / f"runs/bed/{name}-k3-{seed}/closed.safetensors")
        for one, row in zip(bed.contexts["test"], closed["retriever"], strict=True):
            hit = numbers[one.gold[0]] in row[:5]  # Success@5 of one of eight contexts
            values[run, groups.index(one.group)] += hit / 8
    named = next(one["name"] for one in table["sets"] if one["section"] == "k = 3")
    key = (named, "elbo", table["columns"][2]["measure"])
    (test,) = (one for one in table["tests"] if (one["set"], one["system"], one["measure"]) == key)
    expected = two_level(found["elbo"], found["marginal"])
    assert test["statistic"] == pytest.approx(expected.t, rel=1e-9)
    assert not {"p", "verdict"} & test.keys()  # two runs


def test_a_killed_round_goes_on_to_the_same_weights(place, monkeypatch) -> None:
    """Killed in the second round, and made again in another folder without a kill."""
    one = FILE.replace("k: [2, 3]", "k: [2]").replace("seeds: [3, 5]", "seeds: [3]")
    one = one.replace("epochs: 1", "epochs: 2").replace("rounds: 1", "rounds: 2")
    one = one.partition("  elbo:")[0]
    for name in ("killed", "whole"):
        (place / "experiments" / f"{name}.yaml").write_text(one)
    assert main(["experiment", "experiments/whole.yaml", "--threads", "1"]) == 0
    monkeypatch.setattr("adducir.training.trainer.CHECKPOINT_SECONDS", 0.0)
    save = sys.modules["adducir.training.trainer"].save_weights
    steps: list[int] = []

    def killing(*others):
        save(*others)
        steps.append(1)
        if len(steps) in (20, 24):
            raise KeyboardInterrupt

    monkeypatch.setattr("adducir.training.trainer.save_weights", killing)
    codes = [main(["experiment", "experiments/killed.yaml", "--threads", "1"]) for _ in range(3)]
    assert (codes[0] != 0, codes[1] != 0, codes[2]) == (True, True, 0)
    killed, whole = (
        load_file(place / f"encoders/{name}/marginal-k2-3/phase-1-2-marginal/weights.safetensors")
        for name in ("killed", "whole")
    )
    assert all(np.array_equal(killed[name], value) for name, value in whole.items())


@pytest.mark.slow
def test_trained_towers_and_a_bart_are_the_same_from_workers(place) -> None:
    _files(place)
    for name, workers in (("one", "1"), ("two", "2")):
        (place / "experiments" / f"{name}.yaml").write_text(CONTEXTS)
        path = f"experiments/{name}.yaml"
        assert main(["experiment", path, "--threads", "1", "--workers", workers]) == 0
    for folder in ("encoders", "runs"):
        every = [path for path in (place / folder / "one").rglob("*.*") if path.suffix != ".json"]
        assert any(path.name == "closed.safetensors" for path in every)
        for path in every:
            twin = place / folder / "two" / path.relative_to(place / folder / "one")
            assert twin.read_bytes() == path.read_bytes()
    answers = [json.loads(line) for line in (place / "runs/one/elbo-0/texts.jsonl").open()]
    assert [(answer["id"], len(answer["outputs"])) for answer in answers] == [("c4", 2), ("c5", 2)]
    first, second = (
        load_file(place / f"encoders/one/elbo-0/phase-1-{turn}-elbo/weights.safetensors")
        for turn in (1, 2)
    )
    moved = [name for name, values in first.items() if not np.array_equal(values, second[name])]
    assert {name.partition(".")[0] for name in first} == {"retriever", "guide", "generator"}
    assert any("network" in name and name.startswith("guide") for name in moved)
    assert any(name.startswith("generator") for name in moved)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("k: [2, 3]", "k: [2, 7]", "7 passages cannot be sampled from closed sets of 6"),
        ("cutoffs: [1, 5]", "cutoffs: [1, 7]", "Success@7 cannot be computed from closed sets"),
        ("baseline: marginal", "baseline: other", "`comparison.baseline`"),
        ("baseline: marginal", "non_inferiority: true", "`comparison.non_inferiority`"),
        ("  arguments: arguments.jsonl", "  passages: a.jsonl", "`bed` has no effect without"),
        ("adapter: 2", "adapter: none", "nothing is trained"),
        ("  arguments: arguments.jsonl", "  arguments: a\n  hidden: b", "`hidden` has no effect"),
        ("sampler: retriever", "sampler: all", "sampler"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_made(place, old, new, words) -> None:
    assert old in FILE
    path = place / "experiments" / "wrong.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(AdducirError) as caught:
        plan_experiment(path)
    assert words in str(caught.value)
    assert not (place / "encoders").exists()


def _files(place: Path) -> None:
    tiny_colbert(place / "tiny", place / "tiny-colbert")
    tiny_bart(place / "bart")
    words = ["cats", "dogs", "energy", "power", "school", "uniforms"]
    passages = (
        {
            "docno": f"p{n}",
            "title": word,
            "text": f"the {word} run fast",
            "wikipedia_id": f"w{n // 2}",
        }
        for n, word in enumerate(words)
    )
    jsonl(place / "passages.jsonl", passages)
    contexts = [
        GroundedContext(f"c{number}", f"what is a {word}", f"{word} run", (f"p{number}",))
        for number, word in enumerate(words)
    ]
    for name, some in {"train": contexts[:3], "held": contexts[3:4], "test": contexts[4:]}.items():
        write_contexts(some, place / f"{name}.jsonl")


def test_inputs_that_are_trained_on_and_tested_are_told_before_training(place) -> None:
    _files(place)
    (place / "experiments" / "files.yaml").write_text(CONTEXTS)
    lines = plan_experiment(place / "experiments" / "files.yaml").lines()
    assert not any(line.startswith("warn") for line in lines)
    again = GroundedContext("c9", "what is a  Dogs", "dogs", ("p1",))
    write_contexts([again, GroundedContext("c8", "why", "x", ("p1",))], place / "test.jsonl")
    lines = plan_experiment(place / "experiments" / "files.yaml").lines()
    told = "encoders/files was trained on 1 of the 2 queries of the test data: train it on others"
    assert [line for line in lines if line.startswith("warn")] == [f"warn   {told}"]


def test_a_file_in_another_part_is_other_data(place) -> None:
    _files(place)
    recipe = {"passages": "passages.jsonl", "train": "train.jsonl", "test": "test.jsonl"}
    whole = {**recipe, "validation": "held.jsonl"}
    moved = {**recipe, "train": ["train.jsonl", "held.jsonl"]}
    first, again, other = (
        GroundedData(DataRecipe.model_validate(one), place).identity
        for one in (whole, whole, moved)
    )
    assert first == again != other


def test_parts_with_a_share_are_not_empty(place) -> None:
    """There are eight conclusions: some part gets none of them."""
    bed = {"shortest": 3, "shares": {"train": 0.9, "validation": 0.001, "test": 0.099}}
    data = GroundedData(
        DataRecipe.model_validate({"arguments": "arguments.jsonl", "bed": bed}), place
    )
    with pytest.raises(AdducirError, match="no conclusion fell into validation"):
        data.problem()


@pytest.mark.parametrize("wrong", ["bare", "gold", "twice", "group"])
def test_what_is_wrong_with_contexts_is_reported_with_their_file(place, wrong) -> None:
    _files(place)
    (place / "again.jsonl").write_bytes((place / "train.jsonl").read_bytes())
    write_contexts([GroundedContext("bare", "what")], place / "bare.jsonl")
    own = GroundedContext("c0", "what", "it", group="g")
    write_contexts([own], place / "own.jsonl")
    write_contexts([replace(own, id="other")], place / "group.jsonl")
    write_contexts([GroundedContext("gold", "what", "it", ("none",))], place / "gold.jsonl")
    test = {"bare": "test.jsonl", "twice": "again.jsonl"}.get(wrong, f"{wrong}.jsonl")
    train = {"bare": "bare.jsonl", "group": "own.jsonl"}.get(wrong, "train.jsonl")
    recipe = {"passages": "passages.jsonl", "train": train, "test": test}
    data = GroundedData(DataRecipe.model_validate(recipe), place)
    with pytest.raises(AdducirError) as caught:
        data.problem()
    assert caught.value.path == place / (train if wrong == "bare" else test)


def test_trained_towers_are_separate_unless_they_are_shared(place) -> None:
    def has_two(**keys) -> bool:
        return isinstance(Network(TowersRecipe(base="tiny", **keys), place).towers[0], Router)

    assert has_two(network="trained")
    assert not has_two(network="trained", towers="shared")
    assert not has_two()  # as it is, one serves both sides


def test_contexts_without_gold_passages_have_tables_of_what_there_is(place) -> None:
    """And answers to hidden contexts are written for KILT's server, but not measured."""
    _files(place)
    write_contexts([GroundedContext("t1", "what is a cat")], place / "test.jsonl")
    hidden = [GroundedContext(f"h{n}", f"what are {word}") for n, word in enumerate(WORDS[:2])]
    write_contexts(hidden, place / "hidden.jsonl")
    text = CONTEXTS.replace("network: trained", "network: frozen").replace("generator: {bart", "#")
    text = text.replace("test: test.jsonl", "test: test.jsonl, hidden: hidden.jsonl")
    (place / "experiments" / "bare.yaml").write_text(text)
    assert main(["experiment", "experiments/bare.yaml", "--threads", "1"]) == 0
    made = sorted(one.name for one in (place / "experiments/bare").iterdir() if one.is_dir())
    assert made == ["by-rank", "sharpness", "texts"]
    table = json.loads((place / "experiments/bare/texts/table.json").read_text())
    assert {column["group"] for column in table["columns"]} <= {"grounding", ""}
    assert {cell["n"] for row in table["rows"] for cell in row["cells"]} == {1}
    run = place / "runs/bare/elbo-0"
    texts = {one["id"]: one for one in map(json.loads, (run / "texts.jsonl").open())}
    closed = load_file(run / "closed.safetensors")["retriever"]
    assert [*texts] == ["t1", "h0", "h1"]
    for line, row in zip((run / "kilt.jsonl").open(), closed[1:], strict=True):
        record = json.loads(line)
        (output,) = record["output"]
        assert output["answer"] == texts[record["id"]]["outputs"][0]["text"]
        pages = list(dict.fromkeys(f"w{number // 2}" for number in row.tolist()))
        assert output["provenance"] == [{"wikipedia_id": page} for page in pages]
    assert record["id"] == "h1"


def test_candidates_are_ranked_once_for_all_rounds(place: Path, capsys) -> None:
    _files(place)
    text = CONTEXTS.replace("depth: 4", "depth: 3, candidates: bm25, candidate_depth: 4")
    text = text.replace("network: trained", "network: frozen").replace("generator: {bart", "#")
    text = text.replace("k: 4, sampler", "k: 3, sampler")
    (place / "experiments" / "some.yaml").write_text(text)
    assert main(["experiment", "experiments/some.yaml", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("encoders/some/candidates" in line for line in lines) == 1
    assert main(["experiment", "experiments/some.yaml", "--threads", "1"]) == 0
    candidates = load_file(place / "encoders/some/candidates/candidates.safetensors")
    # The gold passage alone has a word of the input; the others follow in the corpus' order.
    wanted = [[n, *[one for one in range(6) if one != n][:3]] for n in range(6)]
    assert candidates["retriever"].tolist() == wanted
    for name in ("encoders/some/untrained/closed", "encoders/some/elbo-0/closed-2"):
        closed = load_file(place / name / "closed.safetensors")
        for number, row in zip(closed["contexts"], closed["retriever"], strict=True):
            assert set(row) <= set(candidates["retriever"][number])


def test_texts_in_a_file_are_read_as_those_in_memory(place) -> None:
    network = Network(TowersRecipe(base="tiny"), place).eval()
    texts = [f"{one} and {other} run" for one in WORDS for other in WORDS]
    file = TextFile()
    for text in texts:
        file.append(text)
    held, filed = (Live(network, one, "document") for one in (texts, file))
    assert not isinstance(filed.inputs, list)
    numbers = np.array([3, 41, 0, 36])
    with torch.inference_mode():
        for one, other in zip(held.batch(numbers), filed.batch(numbers), strict=True):
            assert torch.equal(one, other)
