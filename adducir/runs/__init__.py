"""TREC runs: read, write, order, fuse and check.

The names below are loaded when they are first used. Two functions are to be had from the modules
of their names only: :func:`adducir.runs.fuse.fuse` and :func:`adducir.runs.check.check`.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.runs.check import check_file, check_runs
    from adducir.runs.metadata import metadata_for, read_metadata
    from adducir.runs.order import strictly_decreasing
    from adducir.runs.read import read_run
    from adducir.runs.run import Run
    from adducir.runs.write import write_run

__all__ = [  # noqa: RUF022  (in the order of use)
    "Run",
    "read_run",
    "write_run",
    "metadata_for",
    "read_metadata",
    "check_file",
    "check_runs",
    "strictly_decreasing",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.runs.check": "check_file check_runs",
            "adducir.runs.metadata": "metadata_for read_metadata",
            "adducir.runs.order": "strictly_decreasing",
            "adducir.runs.read": "read_run",
            "adducir.runs.run": "Run",
            "adducir.runs.write": "write_run",
        },
    )
