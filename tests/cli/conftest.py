"""An index and runs of the bundled collection, made once through the command line."""

from pathlib import Path

import pytest

from adducir.cli.app import main


@pytest.fixture(scope="session")
def arguments_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the bundled arguments."""
    path: Path = tmp_path_factory.mktemp("cli") / "indexes" / "arguments"
    assert main(["index", "bundled:arguments", "--output", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def two_runs(arguments_index: Path) -> tuple[Path, Path]:
    """BM25 and QLD on the bundled topics."""
    folder = arguments_index.parents[1] / "runs"
    paths = folder / "bm25.trec.gz", folder / "qld.trec"
    for path in paths:
        model = path.name.split(".")[0]
        arguments = ["--topics", "bundled:topics", "--model", model, "--output", str(path)]
        assert main(["search", "--index", str(arguments_index), *arguments]) == 0
    return paths
