"""A study as one archive for others, and its verification.

The archive contains recipes, code, runs with their metadata, tables, language models' answers, and
data in the study's folder that recipes name, but not what is built from them (indexes, models).
``SHA256SUMS`` has a line per file, as ``sha256sum`` writes them.
"""

import csv
import json
import math
import os
import re
import shlex
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from adducir.core.config import load
from adducir.core.errors import AdducirError, InputError, reading_error
from adducir.core.files import FOLDERS, file_digest, publishing, read_text, scratch_folder
from adducir.core.json_lines import json_document
from adducir.core.manifests import MANIFEST
from adducir.core.progress import progress
from adducir.corpora.local import files_below
from adducir.evaluation.scores import run_name
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.retrieval.runs import GivenRun
from adducir.experiments.step import ModelStep
from adducir.judges.answers import CACHE, answers_copy, using_shared
from adducir.judges.files import design_for, judgements_for
from adducir.models.sources import RECIPES
from adducir.runs.read import read_run
from adducir.runs.write import SUFFIX, metadata_for, part_of, read_metadata

SUMS, GUIDE = "SHA256SUMS", "VERIFY.md"
_KEPT = ("task", "topics", "depth", "measures", "negative_grades")
_BUILT = ("corpora", "indexes", "systems", "table")
_SAME = 1e-9  # relative: other machines and versions round differently


def _shared(study: Path, largest: int) -> tuple[list[Path], list[Path]]:
    """A study's files to share, and those left out: too large, or links to other places."""
    paths, recipes, large = dict[Path, None](), list[Path](), list[Path]()
    for name in (*FOLDERS, "llm"):
        recipes += sorted(path_ for end in RECIPES for path_ in (study / name).glob(f"*{end}"))
    if not any(path.parent.name == "experiments" for path in recipes):
        hint = "Name the folder that contains experiments/."
        raise InputError("this folder does not contain an experiment file.", path=study, hint=hint)
    for path in study.rglob("*"):
        folder, *below = parts = path.relative_to(study).parts
        if not path.is_file() or any(part.startswith(".") for part in parts):
            continue
        if not _is_inside(path, study):
            large.append(path)
            continue
        is_result = folder == "experiments" and (study / folder / below[0] / MANIFEST).is_file()
        is_code = path.suffix == ".py" and "site-packages" not in parts
        if is_result or is_code or folder in ("runs", "README.md"):
            paths[path] = None
    for recipe in recipes:
        paths[recipe] = None
        for named in _named_in(load(recipe).data, study):
            for path in (named, *_beside(named)):
                (paths.setdefault(path) if path.stat().st_size <= largest else large.append(path))
    logs = {path for path in paths if path.name.endswith(_LOGS)}
    return sorted({*paths} - logs), sorted({*large} - {*paths})


_LOGS = (".sqlite-wal", ".sqlite-shm")
"""Of a cache of answers in use, or after a kill: its last answers, which go into the copy."""


def _beside(path: Path) -> Iterator[Path]:
    """What belongs to a sheet of a sample, or to a file that a language model's answers made."""
    if (design := design_for(path)).is_file() and design != path:
        yield design
    if metadata_for(path).is_file():
        others = (metadata_for(path), judgements_for(path), path.with_name(CACHE))
        yield from (other for other in others if other.is_file())


def _is_inside(path: Path, study: Path) -> bool:
    """Whether a file lies in the study, not hidden, and is not a link to elsewhere."""
    place, whole = path.resolve(), study.resolve()
    inside = place.relative_to(whole).parts if place.is_relative_to(whole) else (".",)
    return not any(part.startswith(".") for part in inside)


def _named_in(value: Any, study: Path) -> Iterator[Path]:
    """Files in the study's folder that a recipe's texts name."""
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _named_in(item, study)
    elif isinstance(value, str) and 0 < len(value) < 250 and "\0" not in value:
        kind, _, rest = value.partition(":")  # such as llm-listwise:llm/qwen.yaml
        path = study / (rest if kind.startswith("llm-") else value)
        place, whole = path.resolve(), study.resolve()
        if place.is_relative_to(whole) and place != whole:
            if path.is_file() and _is_inside(path, study):
                yield path
            elif path.is_dir() and place.relative_to(whole).parts[0] not in FOLDERS:
                for below in () if (path / MANIFEST).is_file() else files_below(path):
                    if below.is_file() and _is_inside(below, study):
                        yield below


def share(study: Path, output: Path, guide: str, largest: int) -> tuple[int, list[Path]]:
    """Write a study's archive, a ZIP file; the same files give the same bytes.

    ``guide`` is the text for its reader, ``largest`` the maximum bytes of a data file. Returns the
    number of files and the data left out.
    """
    files, left_out = _shared(study, largest)
    names = {path.relative_to(study).as_posix(): path for path in files}
    with (
        scratch_folder() as scratch,
        publishing(output) as hidden,
        zipfile.ZipFile(hidden, "w") as archive,
    ):
        for number, (name, path) in enumerate(names.items()):
            if path.suffix == ".sqlite":
                size = path.stat().st_size / 1e6
                progress().note(f"with the answers of language models: {name}, {size:,.1f} MB")
                names[name] = answers_copy(path, scratch / str(number))
        sums = "".join(f"{file_digest(path)}  {name}\n" for name, path in names.items())
        entries: dict[str, bytes | Path] = {GUIDE: guide.encode(), SUMS: sums.encode(), **names}
        for name, content in entries.items():
            entry = zipfile.ZipInfo(f"{study.resolve().name}/{name}")  # always dated 1980
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            source = content.open("rb") if isinstance(content, Path) else BytesIO(content)
            with source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
    return len(files), left_out


def verify(archive: Path) -> Iterator[tuple[str, str]]:
    """Verify a study's archive, or its unpacked folder, in a copy.

    Each check is ``ok``, ``wrong``, or ``open`` if it could not be made.
    """
    with scratch_folder() as scratch:
        study, others = scratch / "study", list[str]()
        if archive.is_dir():
            others = _copy(archive, study)
        else:
            try:
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(study)
            except OSError as error:
                raise reading_error(error, archive) from error
            except (zipfile.BadZipFile, zlib.error, RuntimeError) as error:  # or encrypted
                message = f"this is not a complete ZIP file: {error}."
                raise InputError(message, path=archive) from error
            study = next(study.glob(f"*/{SUMS}"), study / SUMS).parent
        if not (study / SUMS).is_file():
            message = f"this is not a study's archive: it lacks {SUMS}."
            raise InputError(message, path=archive, hint="Create one with adducir share STUDY.")
        yield from _digests(study, others)
        yield from _runs(study)
        tables = study.glob("experiments/*/**/table.json")
        for name in sorted({"/".join(table.relative_to(study).parts[:2]) for table in tables}):
            yield from _tables(study, name)


def _copy(folder: Path, study: Path) -> list[str]:
    """Copy the ordinary files that an unpacked archive lists; returns the names of all others."""
    listed, others = {SUMS, GUIDE}, list[str]()
    if (folder / SUMS).is_file():
        listed |= _listed(folder).keys()
    for place, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(place, name)
            inside = path.relative_to(folder)
            if path.is_symlink() or (name in names and inside.as_posix() not in listed):
                others.append(inside.as_posix())
            elif stat.S_ISREG(path.lstat().st_mode):
                (study / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, study / inside)
    return others


def _listed(study: Path) -> dict[str, str]:
    """The digest of each file by its name in the archive."""
    lines = re.findall(r"^([0-9a-f]{64})  (.+)$", read_text(study / SUMS), re.M)
    return {name: digest for digest, name in lines}


def _digests(study: Path, others: Iterable[str]) -> Iterator[tuple[str, str]]:
    digests = _listed(study)
    there = {path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file()}
    there |= {*others}
    wrong = dict.fromkeys(there - digests.keys() - {SUMS, GUIDE}, f"is not in {SUMS}")
    wrong |= dict.fromkeys(digests.keys() - there, "is missing")
    for name in digests.keys() & there:
        if name in others:
            wrong[name] = "is a link"
        elif file_digest(study / name) != digests[name]:
            wrong[name] = "has changed"
    for name, problem in sorted(wrong.items()):
        yield ("wrong", f"{name} {problem}")
    if not wrong:
        yield ("ok", f"files that match their digests: {len(digests)}")


def _runs(study: Path) -> Iterator[tuple[str, str]]:
    """Whether runs match their metadata."""
    same = 0
    for beside in sorted(study.glob(f"runs/**/*{SUFFIX}")):
        path = beside.with_name(beside.name.removesuffix(SUFFIX))
        try:
            digest = part_of(read_metadata(path), "run file").get("sha256")
        except InputError as error:
            yield ("wrong", f"{beside.relative_to(study)}: {error.what}")
            continue
        if path.is_file() and digest == file_digest(path):
            same += 1
        else:
            yield ("wrong", f"{path.relative_to(study)} does not match its metadata")
    if same:
        yield ("ok", f"runs that match their metadata: {same}")


class _Run(BaseModel):
    file: str | None = None
    given: str | None = None
    sha256: str | None = None


class _Provenance(BaseModel):
    command: str = ""
    recipe: dict[str, Any] = {}
    runs: dict[str, dict[str, _Run]] = {}


class _Table(BaseModel):
    """What ``table.json`` says about its making, as far as ``verify`` uses it."""

    provenance: _Provenance = _Provenance()


def _outside(value: Any, study: Path) -> Iterator[str]:
    """Existing files outside the study that a recipe's texts name."""
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _outside(item, study)
    elif isinstance(value, str) and 0 < len(value) < 4000 and "\0" not in value:
        for text in (value, value.rpartition("=")[2], value.partition("{")[0]):
            path = study / text
            with suppress(OSError, RuntimeError):
                if path.exists() and not path.resolve().is_relative_to(study.resolve()):
                    yield value


def _tables(study: Path, name: str) -> Iterator[tuple[str, str]]:
    """Rebuild an experiment's tables with the same code; they must be the same."""
    results, again = study / name, study / f"{name}.yaml"
    try:
        facts = _Table.model_validate(json_document(next(results.rglob("table.json")))).provenance
        words = shlex.split(facts.command)
    except (ValueError, AdducirError) as error:
        yield ("wrong", f"{name}: its table.json is not Adducir's: {str(error).splitlines()[0]}")
        return
    recipe, runs = facts.recipe, facts.runs
    overrides = [text for key, text in pairwise(words) if key == "--set"]
    if outside := next(_outside([recipe, overrides], study), None):
        yield ("open", f"{name}: not evaluated again: {outside} is not in the archive")
        return
    systems: dict[str, Any] = {}
    for system in part_of(recipe, "systems") if runs else ():
        entry = part_of(recipe, "systems", system)
        seeds, files = entry.get("seeds"), dict.fromkeys(runs, "")
        for data, seed in product(runs, seeds if isinstance(seeds, list) and seeds else [None]):
            run = runs[data].get(run_name(system, seed), _Run())
            file = str(run.file or run.given)
            files[data] = file.replace(f".seed{seed}.", ".seed{seed}.")
            if next(_outside(file, study), None) or not (study / file).is_file():
                yield ("open", f"{name}: not evaluated again: {file} is not in the archive")
                return
            if file_digest(study / file) != run.sha256:
                yield ("wrong", f"{name}: {file} is not the run behind the table")
                return
        stated = {key: value for key, value in entry.items() if key in ("group", "seeds")}
        systems[system] = {"run": entry.get("run", files), **stated}
    if runs:  # their inputs may be missing
        again = again.with_stem(f"again-{again.stem}")
        kept = {key: value for key, value in recipe.items() if key not in _BUILT}
        again.write_text(json.dumps({**kept, "systems": systems}), encoding="utf-8")
        overrides = []
    old = {file_.relative_to(results): file_.read_bytes() for file_ in results.rglob("*.csv")}
    try:
        plan = plan_experiment(again, tuple(overrides), folder=study)
        state = plan.state()
        if lacking := plan.needed(state):
            message = f"{plan.shown(lacking[-1].path)}: {state[lacking[-1]]}"
            yield ("open", f"{name}: not evaluated again: {message}")
            return
        files_made = run_experiment(plan).files.values()
    except AdducirError as error:
        yield ("open", f"{name}: not evaluated again: {error.paragraph()}")
        return
    rows, is_same = 0, True
    for path in (file_ for file_ in files_made if file_.suffix == ".csv"):
        place, text = path.relative_to(plan.output), path.read_bytes()
        old_text = old.get(place, b"")
        before, now = (
            [*csv.reader(StringIO(content.decode(errors="replace"), newline=""))]
            for content in (old_text, text)
        )
        if [*map(len, before)] != [*map(len, now)]:
            yield ("wrong", f"{name}: evaluated again, {place} has other rows or columns")
            return
        odd = [row for row, two in zip(before, now, strict=True) if not all(map(_same, row, two))]
        if odd:
            message = f"{len(odd)} of {len(now) - 1} rows differ, for example that of {odd[0][0]}"
            yield ("wrong", f"{name}: evaluated again, {message}")
            return
        rows, is_same = rows + len(now) - 1, is_same and text == old_text
    how = "byte for byte" if is_same else "to nine digits"
    yield ("ok", f"{name}: its {rows:,} rows are the same evaluated again, {how}")
    yield from _repeated(study, name, recipe, systems)


def _same(first: str, second: str) -> bool:
    try:
        return first == second or math.isclose(
            float(first), float(second), rel_tol=_SAME, abs_tol=_SAME
        )
    except ValueError:
        return False


def _repeated(
    study: Path, name: str, recipe: Mapping[str, Any], given: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Verdicts on the runs of an experiment's systems that asked a language model.

    They are made again in ``study``, a copy that may change: the index that they need is built, but
    no model is loaded, no code is run, and nobody is asked.

    Args:
        study: The folder.
        name: The experiment, such as experiments/web.
        recipe: Its file's content.
        given: Its systems with their runs, which are others' candidates.
    """
    systems = {system: part_of(recipe, "systems", system) for system in given}
    asked = {
        system: {**entry, "texts": _index(system, systems)} if "rerank" in entry else entry
        for system, entry in systems.items()
        if _asks(entry, study, given[system])
    }
    if not asked:
        return
    kept = {key: recipe[key] for key in _KEPT if key in recipe}
    indexes = {str(_index(system, systems)) for system in asked}
    kept["indexes"] = {key: part_of(recipe, "indexes", key) for key in sorted(indexes)}
    corpora = {str(index.get("corpus")) for index in kept["indexes"].values()}
    kept["corpora"] = {key: part_of(recipe, "corpora", key) for key in sorted(corpora)}
    for key, corpus in kept["corpora"].items():
        source = str(corpus.get("source"))
        if not source.startswith("bundled:") and not (study / source).exists():
            yield ("open", f"{name}: its answers are not repeated: the corpus {key} is not there")
            return
    kept["systems"] = {**given, **asked}
    again = study / "experiments" / f"asked-{Path(name).name}.yaml"
    again.write_text(json.dumps(kept), encoding="utf-8")
    try:
        plan = plan_experiment(again, folder=study)
        if models := [step for step in plan.needed(plan.state()) if isinstance(step, ModelStep)]:
            message = f"{plan.shown(models[0].path)} is not there"
            yield ("open", f"{name}: its answers are not repeated: {message}")
            return
        with using_shared(study, study / "runs" / Path(name).name / CACHE):
            run_experiment(plan)
    except AdducirError as error:
        yield ("open", f"{name}: its answers are not repeated: {error.paragraph()}")
        return
    same = 0
    for trial, step in plan.study.planned.items():
        if trial.system not in asked or isinstance(step, GivenRun):
            continue
        run = given[trial.system]["run"]
        file = run if isinstance(run, str) else run[trial.data]
        old = read_run(study / file.replace("{seed}", str(trial.seed)), allow_empty=True).frame
        new = read_run(step.path, allow_empty=True).frame
        if not old.select("qid", "docno").equals(new.select("qid", "docno")):
            yield ("wrong", f"{name}: the answers kept give another run of {trial.run}")
            return
        same += 1
    yield ("ok", f"{name}: runs that are the same from the answers kept: {same}")


def _asks(entry: Any, study: Path, given: Mapping[str, Any]) -> bool:
    if "query2doc" in entry:
        return True
    run = given["run"]
    file = run if isinstance(run, str) else next(iter(run.values()))
    if "rerank" not in entry or "{seed}" in file:  # trained, and not asked
        return False
    stage = part_of(read_metadata(study / file), "method", "reranking", -1)
    return "language model" in stage


def _index(system: str, systems: Mapping[str, Any]) -> str | None:
    """The index whose texts a system reads or searches."""
    entry = systems.get(system, {})
    for key in ("texts", "index", "query2doc"):
        if key in entry:
            return str(entry[key])
    fused = entry.get("fuse")
    members = fused if isinstance(fused, list) else [entry.get("rerank") or entry.get("oracle")]
    found = (_index(member, systems) for member in members if isinstance(member, str))
    return next(filter(None, found), None)
