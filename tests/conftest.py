"""What several test files share."""

import atexit
import gc
import gzip
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import jnius_config
import pytest
import tiny as made
from hypothesis import settings

# Models in tests are tiny: threads would only wait for each other, long on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A JVM of the tests lives for a minute: its best compiler takes more time than it saves.
jnius_config.add_options("-XX:TieredStopAtLevel=1")

# What tests write is not to be noted in the cache of whoever runs them. Fonts are the same for all,
# and matplotlib takes seconds to list them.
os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / "adducir-tests-fonts"))
if "PYTEST_XDIST_WORKER" not in os.environ:  # which has that of the process that started it
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="adducir-tests-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# Tests kill processes but never cut the power: nothing needs to have reached the disk.
os.fsync = lambda file: None

# A busy machine must not fail a test; what CI tries must be what anyone can try again. Elsewhere
# every run tries other examples.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("project", deadline=None, derandomize=IN_CI, max_examples=25)
settings.load_profile("project")


UNIT, SLOW = "unit and not slow", "slow"
# The tier of each folder or file of tests; all else is "unit": no torch, no JVM, no training.
TIERS = {
    "attack": "study",
    "browser": "study",
    "cli/test_cli_doctor.py": "engine",
    "cli/test_cli_faults.py": "study",
    "annotations": "study",
    "cli/test_cli_results.py": "study",
    "cli/test_cli_new.py": "study",
    "core/test_core_chunks.py": "study",
    "core/test_core_ray.py": "study",
    "deepct": "models",
    "encoders": "models",
    "expansion": "models",
    "experiments": "study",
    "indexes": "engine",
    "journeys": "study",
    "judges/test_not_asked.py": "models",
    "models": "models",
    "plugins": "study",
    "recipes": "study",
    "rerankers": "models",
    "studies": "study",
    "test_docs.py": "study",
    "test_doors.py": "study",
    "test_kinds.py": "study",
    "test_public_api.py": "models",
    "test_reference.py": "study",
    "training": "models",
}
_HEAVY = {"torch": "torch", "jnius": "the JVM"}


def _tier(path: Path) -> str:
    place = path.relative_to(Path(__file__).parent)
    return next((TIERS[one] for one in map(str, (place, *place.parents)) if one in TIERS), "unit")


def pytest_configure(config: pytest.Config) -> None:
    """Bare ``pytest`` runs the unit tests; with paths, all but slow ones and those of browsers."""
    bare = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    given = any(one.startswith("-m") for one in config.invocation_params.args)
    if bare and not given:
        config.option.markexpr = UNIT


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is of another tier is not even imported, nor what has no slow test."""
    other = config.option.markexpr == UNIT and _tier(collection_path) != "unit"
    if config.option.markexpr in (SLOW, f"{SLOW} or browser") and collection_path.is_file():
        other = not _has_slow(collection_path) and "browser" not in collection_path.parts
    return True if other else None


@cache
def _has_slow(path: Path) -> bool:
    return f"pytest.mark.{SLOW}" in path.read_text(encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(_tier(item.path))
        if item.get_closest_marker(SLOW) and not _has_slow(item.path):
            raise pytest.UsageError(f"{item.path} must name pytest.mark.{SLOW} to be collected")
    # The longest first, so that no worker is left alone with one of them at the end.
    longest = [item for item in items if item.path.name == "test_full_recipes.py"]
    items[:] = [*reversed(longest), *(item for item in items if item not in longest)]


@pytest.fixture(autouse=True)
def _light(request: pytest.FixtureRequest) -> Iterator[None]:
    """A unit test that imports torch or starts a JVM fails: it belongs to another tier."""
    before = _HEAVY.keys() - sys.modules.keys()
    yield
    if request.node.get_closest_marker("unit") and (loaded := before & sys.modules.keys()):
        pytest.fail(f"a unit test needs {' and '.join(_HEAVY[one] for one in sorted(loaded))}")


_frozen = 0


def pytest_runtest_teardown() -> None:
    """Garbage is collected before each training: not among all that is imported, too."""
    global _frozen
    if len(sys.modules) > _frozen + 100:
        gc.collect()
        gc.freeze()
        _frozen = len(sys.modules)


@pytest.fixture
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes, a text or JSON lines to a file, by default the module's NAME; gives its path.

    A text is compressed where the name ends in .gz.
    """

    def make(content: bytes | str | list[object], name: str = "") -> Path:
        path = tmp_path / (name or request.module.NAME)
        if isinstance(content, list):
            content = "".join(json.dumps(record) + "\n" for record in content)
        if isinstance(content, str):
            data = content.encode()
            content = gzip.compress(data, mtime=0) if path.suffix == ".gz" else data
        path.write_bytes(content)
        return path

    return make


@pytest.fixture(scope="session")
def collections() -> Path:
    """The folder of real test collections, or a skip that says how to get it."""
    folder = os.environ.get("ADDUCIR_COLLECTIONS")
    if not folder:
        pytest.skip("ADDUCIR_COLLECTIONS is not set: no real test collections to read")
    path = Path(folder).resolve()
    if not path.is_dir():
        pytest.skip(f"ADDUCIR_COLLECTIONS names {path}, which is not a folder")
    return path


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def tiny(models: Path) -> Path:
    return made.tiny_bert(models / "tiny-bert")


@pytest.fixture(scope="session")
def classifier(models: Path) -> Path:
    kind = "BertForSequenceClassification"
    return made.sharpened(made.tiny_bert(models / "tiny-classifier", kind=kind))


@pytest.fixture(scope="session")
def t5(models: Path) -> Path:
    """A T5, which is called a LiT5."""
    return made.tiny_t5(models / "tiny-lit5")


@pytest.fixture(scope="session")
def roberta(models: Path) -> Path:
    return made.tiny_roberta(models / "tiny-roberta")
