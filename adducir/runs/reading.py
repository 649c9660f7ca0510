"""The recipe of reading runs, which commands and experiments share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from adducir.corpora.reading import RARE, ColumnNames, TableReading

if TYPE_CHECKING:
    from adducir.runs.run import Run


class RunReading(TableReading):
    """How a run is read; see :func:`adducir.runs.read.read_run`."""

    columns: ColumnNames = Field((), json_schema_extra=RARE)
    """The columns of the runs, such as qid,docno,score; - for one not used."""

    def read_run(self, path: Path, **options: Any) -> "Run":
        from adducir.runs.read import read_run

        return read_run(path, columns=self.columns, quotes=self.quotes, **options)
