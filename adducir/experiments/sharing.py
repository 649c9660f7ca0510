"""A study as one archive for others, and its verification.

The archive contains recipes, code, runs with their metadata, tables, and data in the study's folder
that recipes name, but not what is built from them (indexes, models). ``SHA256SUMS``
has a line per file, as ``sha256sum`` writes them.
"""

import csv
import json
import math
import re
import shlex
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adducir.core.artifacts import MANIFEST
from adducir.core.config import load
from adducir.core.errors import AdducirError, InputError, reading_error
from adducir.core.files import FOLDERS, file_digest, publishing, read_text
from adducir.core.json_lines import json_document
from adducir.corpora.local import files_below
from adducir.evaluation.scores import run_name
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.models.sources import RECIPES
from adducir.runs.write import SUFFIX, part_of, read_metadata

SUMS, GUIDE = "SHA256SUMS", "VERIFY.md"
_BUILT = ("corpora", "indexes", "systems", "table")
_SAME = 1e-9  # relative: other machines and versions round differently


def _shared(study: Path, largest: int) -> tuple[list[Path], list[Path]]:
    """A study's files to share, and data left out because it is too large."""
    found, recipes, large = dict[Path, None](), list[Path](), list[Path]()
    for name in FOLDERS:
        recipes += sorted(one for end in RECIPES for one in (study / name).glob(f"*{end}"))
    if not any(path.parent.name == "experiments" for path in recipes):
        hint = "Name the folder that contains experiments/."
        raise InputError("this folder does not contain an experiment file.", path=study, hint=hint)
    for path in study.rglob("*"):
        folder, *rest = parts = path.relative_to(study).parts
        if not path.is_file() or any(one.startswith(".") for one in parts):
            continue
        is_result = folder == "experiments" and (study / folder / rest[0] / MANIFEST).is_file()
        is_code = path.suffix == ".py" and "site-packages" not in parts
        if is_result or is_code or folder in ("runs", "README.md"):
            found[path] = None
    for recipe in recipes:
        found[recipe] = None
        for path in _named_in(load(recipe).data, study):
            (found.setdefault(path) if path.stat().st_size <= largest else large.append(path))
    return sorted(found), sorted({*large} - {*found})


def _named_in(value: Any, study: Path) -> Iterator[Path]:
    """Files in the study's folder that a recipe's texts name."""
    if isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _named_in(one, study)
    elif isinstance(value, str) and 0 < len(value) < 250 and "\0" not in value:
        path = study / value
        place, whole = path.resolve(), study.resolve()
        if place.is_relative_to(whole) and place != whole:
            if path.is_file():
                yield path
            elif path.is_dir() and place.relative_to(whole).parts[0] not in FOLDERS:
                yield from () if (path / MANIFEST).is_file() else files_below(path)


def share(study: Path, output: Path, guide: str, largest: int) -> tuple[int, list[Path]]:
    """Write a study's archive, a ZIP file; the same files give the same bytes.

    ``guide`` is the text for its reader, ``largest`` the maximum bytes of a data file. Returns the
    number of files and the data left out.
    """
    files, left_out = _shared(study, largest)
    names = {path.relative_to(study).as_posix(): path for path in files}
    sums = "".join(f"{file_digest(path)}  {name}\n" for name, path in names.items())
    entries: dict[str, bytes | Path] = {GUIDE: guide.encode(), SUMS: sums.encode(), **names}
    with publishing(output) as hidden, zipfile.ZipFile(hidden, "w") as archive:
        for name, given in entries.items():
            entry = zipfile.ZipInfo(f"{study.resolve().name}/{name}")  # always dated 1980
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            source = given.open("rb") if isinstance(given, Path) else BytesIO(given)
            with source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
    return len(files), left_out


def verify(archive: Path) -> Iterator[tuple[str, str]]:
    """Verify a study's archive, or its unpacked folder, in a copy.

    Each check is ``ok``, ``wrong``, or ``open`` if it could not be made.
    """
    with TemporaryDirectory() as scratch:
        study = Path(scratch, "study")
        if archive.is_dir():
            shutil.copytree(archive, study, ignore_dangling_symlinks=True)
        else:
            try:
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(study)
            except OSError as error:
                raise reading_error(error, archive) from error
            except (zipfile.BadZipFile, zlib.error, RuntimeError) as error:  # or encrypted
                what = f"this is not a complete ZIP file: {error}."
                raise InputError(what, path=archive) from error
            study = next(study.glob(f"*/{SUMS}"), study / SUMS).parent
        if not (study / SUMS).is_file():
            what = f"this is not a study's archive: it lacks {SUMS}."
            raise InputError(what, path=archive, hint="Create one with adducir share STUDY.")
        yield from _digests(study)
        yield from _runs(study)
        tables = study.glob("experiments/*/**/table.json")
        for name in sorted({"/".join(one.relative_to(study).parts[:2]) for one in tables}):
            yield from _tables(study, name)


def _digests(study: Path) -> Iterator[tuple[str, str]]:
    lines = re.findall(r"^([0-9a-f]{64})  (.+)$", read_text(study / SUMS), re.M)
    wanted = {name: digest for digest, name in lines}
    there = {path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file()}
    wrong = dict.fromkeys(there - wanted.keys() - {SUMS, GUIDE}, f"is not in {SUMS}")
    wrong |= dict.fromkeys(wanted.keys() - there, "is missing")
    for name in wanted.keys() & there:
        if file_digest(study / name) != wanted[name]:
            wrong[name] = "has changed"
    for name, what in sorted(wrong.items()):
        yield ("wrong", f"{name} {what}")
    if not wrong:
        yield ("ok", f"files that match their digests: {len(wanted)}")


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


def _tables(study: Path, name: str) -> Iterator[tuple[str, str]]:
    """Rebuild an experiment's tables with the same code; they must be the same."""
    results, again = study / name, study / f"{name}.yaml"
    facts = part_of(json_document(next(results.rglob("table.json"))), "provenance")
    recipe, runs = part_of(facts, "recipe"), part_of(facts, "runs")
    words = shlex.split(str(facts.get("command", "")))
    overrides = [text for key, text in pairwise(words) if key == "--set"]
    systems: dict[str, Any] = {}
    for system in part_of(recipe, "systems") if runs else ():
        entry = part_of(recipe, "systems", system)
        files = dict.fromkeys(runs, "")
        for each, seed in product(runs, entry.get("seeds") or [None]):
            run = part_of(runs, each, system if seed is None else run_name(system, seed))
            file = str(run.get("file") or run.get("given"))
            files[each] = file.replace(f".seed{seed}.", ".seed{seed}.")
            if not (study / file).is_file():
                yield ("open", f"{name}: not evaluated again: {file} is not in the archive")
                return
            if file_digest(study / file) != run.get("sha256"):
                yield ("wrong", f"{name}: {file} is not the run behind the table")
                return
        own = {key: value for key, value in entry.items() if key in ("group", "seeds")}
        systems[system] = {"run": entry.get("run", files), **own}
    if runs:  # their inputs may be missing
        again = again.with_stem(f"again-{again.stem}")
        kept = {key: value for key, value in recipe.items() if key not in _BUILT}
        again.write_text(json.dumps({**kept, "systems": systems}), encoding="utf-8")
        overrides = []
    old = {one.relative_to(results): one.read_bytes() for one in results.rglob("*.csv")}
    try:
        plan = plan_experiment(again, tuple(overrides), folder=study)
        state = plan.state()
        if lacking := plan.needed(state):
            what = f"{plan.shown(lacking[-1].path)}: {state[lacking[-1]]}"
            yield ("open", f"{name}: not evaluated again: {what}")
            return
        made = run_experiment(plan).files.values()
    except AdducirError as error:
        yield ("open", f"{name}: not evaluated again: {error.paragraph()}")
        return
    rows, is_same = 0, True
    for path in (one for one in made if one.suffix == ".csv"):
        place, text = path.relative_to(plan.output), path.read_bytes()
        other = old.get(place, b"")
        before, now = (
            [*csv.reader(one.decode(errors="replace").splitlines())] for one in (other, text)
        )
        if [*map(len, before)] != [*map(len, now)]:
            yield ("wrong", f"{name}: evaluated again, {place} has other rows or columns")
            return
        odd = [one for one, two in zip(before, now, strict=True) if not all(map(_same, one, two))]
        if odd:
            what = f"{len(odd)} of {len(now) - 1} rows differ, for example that of {odd[0][0]}"
            yield ("wrong", f"{name}: evaluated again, {what}")
            return
        rows, is_same = rows + len(now) - 1, is_same and text == other
    how = "byte for byte" if is_same else "to nine digits"
    yield ("ok", f"{name}: its {rows:,} rows are the same evaluated again, {how}")


def _same(one: str, other: str) -> bool:
    try:
        return one == other or math.isclose(float(one), float(other), rel_tol=_SAME, abs_tol=_SAME)
    except ValueError:
        return False
