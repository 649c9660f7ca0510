"""Kinds and commands of other packages are found, checked and used like our own."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import newcomers
import pytest
import study_newcomers
from plugin_package import install

from adducir.core.errors import MachineError
from adducir.core.registry import Family
from adducir.families import FAMILIES
from adducir.runs.fusion import FUSION, FusionMethod
from adducir.runs.read import read_run
from adducir.runs.write import read_metadata
from adducir.testing import check_kind

EXPERIMENT = """\
corpora:
  pets: {source: pets.txt, format: colons}
indexes:
  pets: {corpus: pets, engine: memory, language: en-plain}
topics:
  t: {source: topics.tsv, qrels: qrels.txt}
systems:
  A: {run: a.run}
  B: {index: pets, model: counts, first: {share: 0.1}}
  A+B: {fuse: [A, B], method: points}
  Words: {rerank: A+B, by: overlap, texts: pets}
  First: {top: Words}
measures: [nDCG@3, FirstGrade(highest=2)]
comparison: {baseline: A, test: cautious, correction: one-step}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "topics.tsv").write_text("1\tcats\n2\tdogs\n")
    (tmp_path / "qrels.txt").write_text("1 0 x 1\n2 0 y 2\n")
    (tmp_path / "a.run").write_text("1 Q0 x 1 9 a\n1 Q0 y 2 8 a\n1 Q0 z 3 7 a\n2 Q0 y 1 3 a\n")
    (tmp_path / "b.run").write_text("1 Q0 z 1 5 b\n1 Q0 x 2 4 b\n2 Q0 y 1 2 b\n")
    (tmp_path / "pets.txt").write_text("x: cats and cats\ny: dogs\nz: cats and dogs\n")
    passages = [{"id": f"p{n}", "title": "", "text": "t"} for n in range(3)]
    question = {"id": "q1", "question": "Who?", "passages": passages, "gold": [], "sets": []}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "pets.yaml").write_text(EXPERIMENT)
    for package in (newcomers, study_newcomers):
        source = Path(package.__file__).read_text(encoding="utf-8")
        install(tmp_path / "site", package.__name__, source, package.POINTS)
    return tmp_path


def python(study: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(study / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=study,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


NUMBERS, PAIR = "np.zeros(arguments[0].topics + 1)", "2 * (np.full(len(arguments[0]), 1.5),)"
SEARCH, TESTED = "search -i ix -t topics.tsv -o r.run", "evaluate a.run b.run -q qrels.txt -b a"
WRONG = [
    # The family, a newcomer of it, the method that returns what, the command, what is said.
    ("measures", "FirstGrade.values", NUMBERS, "evaluate a.run -q qrels.txt -m", "returned"),
    (
        "measures",
        "FirstGrade.values",
        "np.full(arguments[0].topics, np.nan)",
        "evaluate a.run -q qrels.txt -m",
        "a number per topic of the qrels, all finite",
    ),
    ("fusion", "Borda.contributions", "None", "fuse a.run b.run -o f.run --method", "returned"),
    ("tests", "Cautious.rows", PAIR, f"{TESTED} --test", "returned"),
    ("corrections", "Sidak.adjusted", "[]", f"{TESTED} --correction", "an adjusted p-value per"),
    ("formats", "Colons.read", "['x']", "index a.x -o y --engine memory --format", "returned"),
    ("feedback", "First.expanded", "['a']", f"{SEARCH} --feedback", "terms with weights of 0 or"),
    ("models", "Counts.term_factors", "1.0", f"{SEARCH} --model", "an array of shape (), not a nu"),
    ("models", "Counts.impacts", "None", f"{SEARCH} --model", "returned"),
    ("tables", "Org.render", "b'b'", "evaluate a.run -q qrels.txt --format", "returned b'b'"),
    (
        "systems",
        "Top.answer",
        "arguments[0].topics",
        "experiment odd.yaml --set systems.",
        "returned",
    ),
]


def test_a_wrong_value_names_package_file_and_expectation(study: Path) -> None:
    source, points = "import newcomers\nimport numpy as np\n", dict[str, dict[str, str]]()
    lines = [(("index", "pets.jsonl", "-o", "ix", "--engine", "memory"), 0)]
    for number, (family, method, value, command, _) in enumerate(WRONG):
        name, (base, method) = f"Odd{number}", method.split(".")
        source += f"\nclass {name}(newcomers.{base}):\n    'Wrong.'\n    {name}: int = 1\n"
        source += "    top: str = 'A'\n"  # the input of a system
        source += f"    def {method}(self, *arguments, **more):\n        return {value}\n"
        points.setdefault(f"adducir.{family}", {})[name] = name
        *words, last = command.split()
        last += f"X.{name}=1" if family == "systems" else ""
        lines.append(((*words, *([last] if family == "systems" else (last, name))), 4))
    install(study / "site", "wrong", source, points)
    (study / "a.x").write_text("x")
    (study / "odd.yaml").write_text(
        "topics: {t: {source: topics.tsv, qrels: qrels.txt}}\nsystems: {A: {run: a.run}}\n"
    )
    (study / "pets.jsonl").write_text('{"id": "x", "text": "cats"}\n')
    said = " ".join(commands(study, *lines).split())
    for number, (_, method, _, _, words) in enumerate(WRONG):
        message = said.partition(f"Odd{number}.{method.split('.')[1]}() of wrong returned")[2]
        assert words in f"returned{message.partition('adducir: error')[0]}", f"{method}: {said}"
    assert said.count("wrong.py:") == len(WRONG)


def adducir(study: Path, *arguments: str, code: int = 0) -> str:
    return commands(study, (arguments, code))


def commands(study: Path, *lines: tuple[tuple[str, ...], int]) -> str:
    """What commands show, one after another in one process, each with its exit code."""
    code = (
        f"from adducir.cli.app import main\ncodes = [main([*words]) for words, _ in {lines!r}]\n"
        "print(codes)"
    )
    done = python(study, "-c", code)
    *shown, codes = done.stdout.splitlines()
    assert codes == str([expected for _, expected in lines]), done.stderr
    return "\n".join(shown) + done.stderr


def ranked(study: Path, run: str, qid: str) -> dict[str, float]:
    lines = (study / run).read_text().splitlines()
    return {line.split()[2]: float(line.split()[4]) for line in lines if line.split()[0] == qid}


def ranked_in(study: Path, system: str, qid: str) -> list[str]:
    run = read_run(study / "runs" / "pets" / f"{system}.t.trec.gz")
    return run.frame.filter(qid=qid)["docno"].to_list()


def test_there_is_a_newcomer_of_each_family_and_each_is_checked(study: Path) -> None:
    points = newcomers.POINTS | study_newcomers.POINTS
    names = {group.removeprefix("adducir."): kinds for group, kinds in points.items()}
    # What is trained is tried by the studies' own trainables, which are entry points too.
    assert {*names, "training"} == set(FAMILIES)
    code = "from adducir.testing import check_kind\n" + "".join(
        f"check_kind({family!r}, {kind!r}, settings={study_newcomers.SETTINGS.get(kind)!r})\n"
        for family, kinds in names.items()
        for kind in kinds
    )
    code += "import sys\nassert 'pytest' not in sys.modules"
    done = python(study, "-c", code)
    assert done.returncode == 0, done.stderr


def test_a_fusion_method_is_an_option_with_its_hyperparameters(study: Path) -> None:
    fuse = ("fuse", "a.run", "b.run", "--set", "bonus=1")
    shown = commands(
        study,
        (("kinds", "fusion"), 0),
        ((*fuse, "--method", "points", "-o", "f.run"), 0),
        ((*fuse, "-o", "g.run"), 2),
    )
    assert "points" in shown
    assert ranked(study, "f.run", "1") == {"x": 4.0, "z": 3.0, "y": 2.0}
    fusion = read_metadata(study / "f.run")["method"]["fusion"]
    assert (fusion["method"], fusion["bonus"]) == ("points", 1.0)
    assert (fusion["package"], fusion["version"]) == ("newcomers", "1.2")
    assert "--set bonus is not a hyperparameter of rrf" in shown


def test_all_of_them_in_experiment_files(study: Path) -> None:
    (study / "gaps.txt").write_text("The [cat] sat.\nAn [elephant] sat.\n")
    file = "task: known-item\ndata: {A: {cloze: gaps.txt}}\ncontexts: {L: {right: 0}}\n"
    (study / "experiments" / "gaps.yaml").write_text(f"{file}systems: {{S: {{shortest: true}}}}\n")
    commands(study, *((("experiment", f"experiments/{name}.yaml"), 0) for name in ("pets", "gaps")))
    rows = (study / "experiments" / "gaps" / "table.csv").read_text().splitlines()
    assert any("1.5" in row and "Rank" in row for row in rows), rows
    folder = study / "experiments" / "pets"
    table = json.loads((folder / "table.json").read_text())
    assert [row["system"] for row in table["rows"]] == ["A", "B", "A+B", "Words", "First"]
    assert "FirstGrade(highest=2)" in json.dumps(table["columns"])
    assert any("Cautious test" in one and "Sidak" in one for one in table["footer"])
    assert (folder / "table.org").read_text().startswith("| System |")
    for qid in ("1", "2"):
        assert ranked_in(study, "First", qid) == ranked_in(study, "Words", qid)[:1]


@pytest.mark.slow
def test_a_newer_version_of_the_package_makes_its_runs_anew(study: Path) -> None:
    adducir(study, "experiment", "experiments/pets.yaml")
    again = adducir(study, "experiment", "experiments/pets.yaml", "--dry-run")
    assert "keep   run runs/pets/A+B.t.trec.gz" in again
    newer = study / "site" / "newcomers-1.3.dist-info"
    (study / "site" / "newcomers-1.2.dist-info").rename(newer)
    metadata = newer / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.2", "1.3"))
    later = adducir(study, "experiment", "experiments/pets.yaml", "--dry-run")
    assert "fuse   run runs/pets/A+B.t.trec.gz" in later
    assert "run runs/pets/Words.t.trec.gz" in later
    wrong = (study / "experiments" / "pets.yaml").read_text().replace("cautious", "cautios")
    (study / "experiments" / "wrong.yaml").write_text(wrong)
    message = adducir(study, "experiment", "experiments/wrong.yaml", code=3)
    assert "did you mean `cautious`?" in message


@pytest.mark.slow
def test_a_task(study: Path) -> None:
    (study / "experiments" / "lines.yaml").write_text(
        "task: lengths\nsystems: {Pets: pets.txt, Runs: b.run}\n"
    )
    plan = adducir(study, "experiment", "experiments/lines.yaml", "--dry-run")
    assert plan.startswith("count  runs/lines/Pets\n")
    adducir(study, "experiment", "experiments/lines.yaml")
    table = json.loads((study / "experiments" / "lines" / "table.json").read_text())
    assert [row["system"] for row in table["rows"]] == ["Pets", "Runs"]
    assert "keep" in adducir(study, "experiment", "experiments/lines.yaml", "--dry-run")
    wrong = adducir(study, "experiment", "experiments/lines.yaml", "--set", "systems.X=no", code=3)
    assert "at `systems.X`" in wrong


BORDA = f'''"""Borda's count, of an author who is not of Adducir."""
from pydantic import Field
from adducir.runs.fusion import FusionMethod

{inspect.getsource(newcomers.Borda)}
class Stranger:
    pass
'''


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("borda_fusion", None)


def family():
    kinds = {name: FUSION.kind(name) for name in ("rrf", "combsum")}
    own = {name: f"{kind.__module__}:{kind.__name__}" for name, kind in kinds.items()}
    return Family("fusion", FusionMethod, own, what="fusion method")


def test_a_package_brings_a_kind(site):
    install(site, "borda_fusion", BORDA, {"adducir.fusion": {"borda": "Borda"}})
    found = family()
    assert list(found) == ["rrf", "combsum", "borda"]
    assert "borda_fusion" not in sys.modules  # names are known without importing anything
    assert found.make("borda", {"bonus": "2"}).model_dump() == {"bonus": 2.0}
    assert found.origin("borda") == {"package": "borda_fusion", "version": "1.2"}
    assert found.origin("rrf") == {}
    made = found.make("borda")
    assert found.name_of(type(made)) == "borda"
    assert found.settings(made, "method") == {
        "method": "borda",
        "package": "borda_fusion",
        "version": "1.2",
        "bonus": 0.0,
    }


def test_what_fails_when_a_kind_is_used_is_found_by_the_check(site):
    source = BORDA.replace(" + self.bonus", "").replace("return ", "return self.bonus * ")
    source = source.replace("run.lengths[run.topics] - run.ranks - 1", "run.lengths")
    install(site, "borda_fusion", source, {"adducir.fusion": {"points": "Borda"}})
    FUSION.__dict__.pop("_installed", None)
    try:
        with pytest.raises(
            AssertionError, match=r"contributions.* does not return a number per row"
        ):
            check_kind("fusion", "points")
    finally:
        FUSION.__dict__.pop("_installed", None)


def test_a_broken_package_is_named_with_its_line(site):
    install(site, "borda_fusion", f"{BORDA}\n1 / 0\n", {"adducir.fusion": {"borda": "Borda"}})
    with pytest.raises(MachineError, match=r"borda_fusion\.py:17: .*ZeroDivisionError") as caught:
        family().kind("borda")
    assert caught.value.exit_code == 4


def test_kinds_of_broken_packages_are_left_out_of_lists(site):
    install(site, "borda_fusion", BORDA, {"adducir.fusion": {"broken": "Nobody"}})
    assert list(family().kinds()) == ["rrf", "combsum"]


def test_two_kinds_of_one_name_are_refused(site):
    install(site, "borda_fusion", BORDA, {"adducir.fusion": {"rrf": "Borda"}})
    with pytest.raises(MachineError, match="borda_fusion and Adducir itself both have"):
        list(family())


READ = {"capture_output": True, "text": True, "check": True}


def test_another_package_has_commands_of_its_own(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/__init__.py").write_text('"""Greets."""\n')
    (tmp_path / "mine/commands.py").write_text(
        "from adducir.cli.command import option\n"
        "from adducir.core.recipe import Recipe\n\n\n"
        "class Greet(Recipe):\n    name: str = option('Whom.', argument=True)\n\n\n"
        "def greet(settings: Greet) -> None:\n"
        '    """Greet somebody."""\n    print("hello", settings.name)\n\n\n'
        "COMMANDS = (greet,)\n"
    )
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[adducir.commands]\nmine = mine.commands\n")
    program = [sys.executable, "-m", "adducir"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = subprocess.run([*program, "mine", "greet", "Ann"], env=environment, **READ)
    assert shown.stdout == "hello Ann\n"
    assert "Greets." in subprocess.run([*program, "-h"], env=environment, **READ).stdout
