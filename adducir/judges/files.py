"""Names of the files that belong together."""

from pathlib import Path


def judgements_for(qrels: Path) -> Path:
    """The judgements as JSON lines beside their qrels."""
    return qrels.with_name(f"{qrels.name}.judgements.jsonl")


def design_for(sheet: Path) -> Path:
    """The design beside a sheet: ``people.csv`` has ``people.design.json``."""
    return sheet.with_name(f"{sheet.name.partition('.')[0]}.design.json")
