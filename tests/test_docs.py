"""The documents say what the program does: commands, options, recipe keys, links, output."""

import ast
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from every_command import COMMANDS, GROUPS, load_command
from plugin_package import install
from pydantic import BaseModel, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from adducir.cli.app import main
from adducir.cli.command import rare_fields
from adducir.cli.console import EXIT_READER_GONE
from adducir.cli.group import build_group
from adducir.core import errors
from adducir.core.config import load, validate
from adducir.core.registry import Family
from adducir.deepct.recipe import DeepCTRecipe
from adducir.experiments.experiment import plan_experiment
from adducir.experiments.retrieval.corpora import CORPORA, CorpusRecipe
from adducir.experiments.retrieval.runs import SYSTEMS, System
from adducir.experiments.retrieval.task import Retrieval
from adducir.experiments.sections import ComparisonRecipe, TableRecipe
from adducir.indexes.kinds import FEEDBACK, INDEXES, MODELS
from adducir.indexes.settings import IndexSettings
from adducir.judges.llm import LanguageModel
from adducir.rerankers.recipe import read_recipe
from adducir.runs.check import RULES
from adducir.runs.fusion import FUSION
from adducir.studies.complementary_evidence.training import ComplementaryRecipe
from adducir.studies.grounded_generation.experiment.task import GroundedGeneration
from adducir.studies.grounded_generation.generators.kinds import GENERATORS, GeneratorRecipe
from adducir.training.data import CorpusPart, HeldOut
from adducir.training.example_recipe import ExamplesPart
from adducir.training.leaks import WithoutPart
from adducir.training.recipe import LoraPart, TrainingRecipe
from adducir.training.trainable import KINDS as TRAINABLES

ROOT = Path(__file__).parents[1]
DOCS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "indexes/*.md", "experiments/*.md", "runs/*.md")
    for path in ROOT.glob(pattern)
)
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCS]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return [body for kind, body in _BLOCK.findall(text(name)) if kind == language]


def command_lines(name: str) -> Iterator[list[str]]:
    """The words of every ``adducir`` line of the sh blocks, without the program's name."""
    for block in blocks(name, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.partition(" && ")[0], comments=True)
            if words[:1] == ["adducir"]:
                yield words[1:]


def named(words: list[str]) -> tuple[str, list[str]]:
    """The command that a line calls, of one word or of two, and the words after it."""
    count = 2 if words[0] in GROUPS else 1
    return " ".join(words[:count]), words[count:]


def options_of(command: Any) -> set[str]:
    params = command.params
    found = {option.replace("--set.", "--set ") for param in params for option in param.opts}
    shown = [param for param in params if not getattr(param, "hidden", False)]
    found |= {option for param in shown for option in param.secondary_opts}
    recipe = getattr(command, "recipe", None)
    found |= {f"--set {key}" for key in rare_fields(recipe)} if recipe else set()
    return {option for option in found if option.startswith("-")} | {"--help", "-h"}


def rows_of(page: str) -> Iterator[list[str]]:
    for row in page.splitlines():
        if row.startswith("| `"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


@pytest.mark.parametrize("name", NAMES)
def test_command_lines_parse(name: str) -> None:
    for words in command_lines(name):
        if words[0].startswith("-"):
            assert set(words) <= options_of(build_group()), words
            continue
        name, rest = named(words)
        assert name in COMMANDS, words
        load_command(name).make_context(name, rest)  # its error says what is wrong


@pytest.mark.parametrize("name", NAMES)
def test_commands_in_running_text_exist(name: str) -> None:
    for code in re.findall(r"`adducir ([a-z][^`\n]*)`", _BLOCK.sub("", text(name))):
        if code not in GROUPS:
            name, rest = named(code.split())
            assert name in COMMANDS, code
            known = options_of(load_command(name))
            assert {w.split("=")[0] for w in rest if w.startswith("-")} <= known, code


def test_what_makes_the_papers_tables_exists() -> None:
    """Commands parse, files are there, and rows are systems of the files that a section names."""
    for section in text("docs/studies/papers.md").split("\n## ")[1:]:
        codes, rows = _CODE.findall(section), {"random", "upper bound"}
        for code in codes:
            if code.startswith("experiments/") and code.endswith(".yaml"):
                rows |= set(yaml.safe_load(text(code))["systems"])
        for code in codes:
            if code.startswith("adducir "):
                name, rest = named(shlex.split(code)[1:])
                load_command(name).make_context(name, rest)
            elif "/" not in code:
                assert code in rows, code
            elif not (ROOT / code).is_file():  # of the study that writes it
                _, study, *rest = code.split("/")
                assert rest and (ROOT / f"experiments/{study}.yaml").is_file(), code


def test_every_option_of_the_program_is_documented() -> None:
    start = text("docs/commands.md").split("\n## ")[0]
    assert [option for option in options_of(build_group()) if option not in start] == []


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_lead_somewhere(name: str) -> None:
    page = (ROOT / name).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", _BLOCK.sub("", text(name))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page / path).resolve() if path else ROOT / name
        assert file.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{name}: {target}"


def anchors(file: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", file.read_text(encoding="utf-8")), re.M)
    kept = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def keys_of(recipe: type[BaseModel], page: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The keys of a recipe and of those in it, and of every kind that may stand in it."""
    for key, field in recipe.model_fields.items():
        # Settings of an index and parameters of a search are keys beside the others.
        if page != "docs/recipes.md" or (key != "settings" and not field.exclude):
            yield field.alias or key, field
        for model in models_in(field.annotation):
            if issubclass(model, ELSEWHERE.get(page, ())):
                continue
            yield from keys_of(model, page)
            for kind in KINDS.get(model, lambda: ())():
                yield from keys_of(kind, page)


def kinds_of(*families: Family) -> list[type[BaseModel]]:
    return list({family.kind(name): None for family in families for name in family})


KINDS = {
    CorpusRecipe: lambda: kinds_of(CORPORA),
    IndexSettings: lambda: kinds_of(INDEXES),
    System: lambda: kinds_of(SYSTEMS, MODELS, FEEDBACK, FUSION),
    GeneratorRecipe: lambda: kinds_of(GENERATORS),
}

ELSEWHERE = {
    "docs/deepct.md": (CorpusPart, LoraPart, TrainingRecipe, WithoutPart),
    "docs/evidence-sets.md": (LoraPart, TrainingRecipe),
    "docs/hindsight.md": (ComparisonRecipe, TableRecipe, TrainingRecipe),
}
"""Sections of a file whose keys stand on another page."""


def models_in(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for argument in get_args(kind):
        yield from models_in(argument)


RECIPES: dict[str, tuple[str, type[BaseModel]]] = {
    "experiment": ("docs/recipes.md", Retrieval),
    "deepct": ("docs/deepct.md", DeepCTRecipe),
    "complementary": ("docs/evidence-sets.md", ComplementaryRecipe),
    "hindsight": ("docs/hindsight.md", GroundedGeneration),
    "training": (
        "docs/training.md",
        create_model(
            "Shared",
            examples=(ExamplesPart, ...),
            held_out=(HeldOut, ...),
            lora=(LoraPart, ...),
            training=(TrainingRecipe, ...),
        ),
    ),
}
HEADS = {"training": {"examples", "held_out", "lora", "training", "without"}}
"""Keys that stand above their own tables."""


NAMED = {"experiment": FEEDBACK}
"""Keys that are the names of kinds."""


def test_tables_of_settings_are_those_of_the_classes() -> None:
    program = runpy.run_path(str(ROOT / "docs" / "settings.py"))
    page = text("docs/recipes.md")
    assert page.count("<!-- settings: ") == 5
    assert program["with_tables"](page) == page


@pytest.mark.parametrize("kind", RECIPES)
def test_every_recipe_key_has_its_row_and_default(kind: str) -> None:
    page, recipe = RECIPES[kind]
    table = re.split(r"\n##+ Every key\n", text(page))[1].split("\n## ")[0]
    rows: dict[str, list[str]] = {}
    for cells in rows_of(table):
        for key in _CODE.findall(cells[0]):
            # Where kinds differ, the meaning says whose default is another.
            others = re.findall(r"([\w.]+) by default", cells[2])
            rows.setdefault(key, []).extend([cells[1].replace("\\|", "|").strip("` "), *others])
    keys = dict.fromkeys(key for key, _ in keys_of(recipe, page)) | dict.fromkeys(
        NAMED.get(kind, ())
    )
    heads = HEADS.get(kind, set())
    assert sorted((set(keys) - heads) ^ set(rows)) == []
    for key, field in keys_of(recipe, page):
        if key in heads:
            continue
        default = field.default
        if default is PydanticUndefined:
            expected = ["required", ""] if field.is_required() else ["", "none"]
        elif isinstance(default, bool):
            expected = [str(default).lower()]
        elif isinstance(default, int | float) or (isinstance(default, str) and default):
            expected = [f"{default:g}" if isinstance(default, float) else str(default).strip()]
        else:
            continue  # no default, or one that is put in words
        assert any(value in rows[key] for value in expected), (key, expected, rows[key])


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, place) for name in NAMES for place, _ in enumerate(blocks(name, "yaml"))],
)
def test_files_in_the_documents_are_right(name: str, place: int, tmp_path: Path) -> None:
    """Experiments are planned; a part of one stands in the first file of docs/recipes.md."""
    for folder in ("deepct", "encoders", "llm", "rerankers"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "experiments").mkdir()
    file, block = tmp_path / "experiments/file.yaml", blocks(name, "yaml")[place]
    shown = [some for some in blocks(name, "yaml") if some.startswith("kind: ")]
    for path in map(tmp_path.joinpath, re.findall(r"\w+/\w+\.(?:yaml|py)\b", block)):
        if not path.exists():  # the recipe that the page shows
            path.write_text(shown[0] if shown else "def shorter_first(): ...", encoding="utf-8")
    content = yaml.safe_load(block)
    kind = content.get("kind")
    if "corpora" in content or (kind is None and "systems" in content and "task" not in content):
        whole = yaml.safe_load(blocks("docs/recipes.md", "yaml")[0])
        for key, some in content.items():
            whole[key] = whole[key] | some if isinstance(some, dict) and key in whole else some
        block = yaml.safe_dump(whole)
    file.write_text(block, encoding="utf-8")
    if kind == "llm" or "model" in content:
        validate(load(file), LanguageModel) if kind == "llm" else read_recipe(file)
    elif kind is not None:
        validate(load(file), TRAINABLES.kind(kind).recipe_type)
    elif "examples" in content:
        ExamplesPart.model_validate(content["examples"])
    else:
        plan_experiment(file, dry_run=True)


def test_the_kinds_of_the_documents_pass_their_check(tmp_path: Path) -> None:
    (points,) = (block for block in blocks("docs/plugins.md", "py") if "class Points" in block)
    (german,) = (block for block in blocks("docs/indexes.md", "python") if "class Light" in block)
    imports = "from pydantic import Field\nfrom adducir.runs.fusion import FusionMethod\n"
    source = f'"""Of the documents."""\n{imports}{points}{german}'
    kinds = {"fusion": {"points": "Points"}, "languages": {"de-light": "LightGerman"}}
    install(tmp_path, "my_ir", source, {f"adducir.{name}": kind for name, kind in kinds.items()})
    checks = "check_kind('fusion', 'points'); check_kind('languages', 'de-light')"
    program = [sys.executable, "-c", f"from adducir.testing import check_kind; {checks}"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    checked = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_code_of_check_is_documented() -> None:
    table = text("docs/commands.md").split("| Codes |")[1].split("\n#")[0]
    documented = {code for row in rows_of(table) for code in _CODE.findall(row[0])}
    assert {rule.code for rule in RULES} <= documented


def test_small_studies_compute_in_float32() -> None:
    """bfloat16 gives other figures on another processor."""
    small = [*ROOT.glob("*/*-small*.yaml")]
    assert len(small) > 12
    assert [file.name for file in small if "bfloat16" in file.read_text(encoding="utf-8")] == []


def test_exit_codes_and_variables_are_documented() -> None:
    page = text("docs/troubleshooting.md")
    kinds = {one.exit_code for one in errors.AdducirError.__subclasses__()}
    ends = {errors.EXIT_PROBLEMS_FOUND, errors.EXIT_INTERNAL, errors.EXIT_INTERRUPTED}
    codes = sorted({0, *kinds, *ends, EXIT_READER_GONE})
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)] == codes
    code = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("adducir/**/*.py"))
    variables = set(re.findall(r"(?<!_)ADDUCIR_[A-Z_]+\b", code))
    assert [name for name in variables if f"`{name}`" not in page] == []


def test_the_readme_shows_the_table_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    assert capsys.readouterr().out == blocks("README.md", "text")[0]


def test_the_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The doctor's answer depends on the machine; a training takes its time.
    lines = [
        words
        for words in command_lines("README.md")
        if words[0] not in ("doctor", "deepct", "train")
    ]
    done = [words[0] for words in lines]
    for words in lines:
        assert main(words) == 0, words
    assert {"index", "search", "fuse", "check", "evaluate", "experiment", "new"} <= set(done)


@pytest.mark.parametrize(
    "name",
    [
        "own-data",
        "shared-task",
        pytest.param("reproduce", marks=pytest.mark.slow),
        pytest.param("rerank-tutorial", marks=pytest.mark.slow),
        pytest.param("train-tutorial", marks=pytest.mark.slow),
    ],
)
def test_a_tutorial_runs_as_it_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands of ours run in this process, the lines between them in a shell."""
    monkeypatch.chdir(tmp_path)
    script = "\n".join(blocks(f"docs/{name}.md", "sh")).replace("\\\n", " ")
    for piece in re.split(r"^((?:! )?adducir .*|.* && cd study)$", script, flags=re.M):
        fails, command = piece.startswith("! "), piece.removeprefix("! ")
        command, enters, _ = command.partition(" && cd ")
        if command.startswith("adducir "):
            words = shlex.split(command)[1:]
            found = [
                sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words
            ]
            given = [one for each in found for one in each]
            assert bool(main(given)) == fails, piece
            if enters:
                monkeypatch.chdir("study")
        elif piece.strip():
            subprocess.run(["bash", "-euc", piece], check=True)


def test_the_notebook_shows_what_its_cells_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(text("docs/notebook.ipynb"))["cells"]:
        if cell["cell_type"] == "code":
            lines = ast.parse("".join(cell["source"])).body
            last = lines.pop() if isinstance(lines[-1], ast.Expr) else None
            exec(compile(ast.Module(lines, []), "notebook", "exec"), names)
            if last is not None:
                found = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
                (shown,) = cell["outputs"]
                assert found._repr_html_() == "".join(shown["data"]["text/html"])


@pytest.mark.slow
def test_the_term_weights_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "study"]) == 0
    lines = [words for words in command_lines("README.md") if words[0] in ("train", "deepct")]
    for words in lines:
        assert main(words) == 0, words
    assert len(lines) == 2
    out = capfd.readouterr().out
    assert "fireworks" in out
    figures = re.findall(r"^(trained|tf-idf|constant) +(0\.\d+)", out, re.M)
    found = {name: float(figure) for name, figure in figures}
    assert found["trained"] > 1.5 * max(found["tf-idf"], found["constant"])
    message = re.search(
        r"precision (\.\d+), against (\.\d+) for tf-idf and (\.\d+) for constant",
        " ".join(text("README.md").split()),
    )
    assert message is not None
    for name, figure in zip(("trained", "tf-idf", "constant"), message.groups(), strict=True):
        assert found[name] == pytest.approx(float(figure), abs=0.05 if name == "trained" else 0.005)


IMPORTED = "docs/studies/exemplification.md", "docs/studies/literary-evidence.md"
"""Pages whose Python reads ELI5 and RELiC, which are downloads: only its imports are tried."""


@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "python")])
def test_python_lines_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(blocks(name, "python"))
    if "COLLECTIONS" in lines and "ADDUCIR_COLLECTIONS" not in os.environ:
        pytest.skip("it reads a collection")
    (tmp_path / "data").mkdir()
    if "indexes/arguments" in lines:
        assert main(["index", "bundled:arguments", "-o", "indexes/arguments"]) == 0
    program = ast.parse(lines, name)
    if name in IMPORTED:
        program.body = [line for line in program.body if isinstance(line, ast.ImportFrom)]
    exec(compile(program, name, "exec"), {"__name__": "__main__"})
    stated = re.findall(r"print\(.*\)  # ([\d.]+)$", lines, re.M)
    assert set(stated) <= set(capsys.readouterr().out.split())
