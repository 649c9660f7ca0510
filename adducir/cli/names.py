"""What systems are called in a table: by their run files.

The rule: a run's name is its file's name without the endings ``.gz``, ``.trec``, ``.txt``,
``.run``, ``.res``, ``.csv``, ``.tsv``, ``.json`` and ``.jsonl``. Runs of the same name in different
folders are called by as many of the folders above them as it takes to distinguish them:
``2020/bm25``, ``2021/bm25``.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from adducir.core.errors import UsageError

_ENDINGS = (".gz", ".trec", ".txt", ".run", ".res", ".csv", ".tsv", ".json", ".jsonl")


def stem(path: Path) -> str:
    """The file's name without its endings: ``bm25-k1=0.9.trec.gz`` gives ``bm25-k1=0.9``."""
    name = path.name
    while Path(name).suffix.lower() in _ENDINGS:
        name = Path(name).stem
    return name


def system_names(runs: Sequence[Path]) -> dict[Path, str]:
    """A name for every run, all of them different.

    Raises:
        UsageError: A file is given twice.
    """
    # What a pipe resolves to is another name each time.
    places = [Path(os.path.realpath(path) if path.is_file() else path.absolute()) for path in runs]
    for path, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"the run {path} is given twice.", hint="Give each run once.")
    labels = [place.with_name(stem(place)) for place in places]
    # bm25.trec and bm25.trec.gz in one folder: only the endings distinguish them.
    labels = [
        place if labels.count(label) > 1 else label
        for place, label in zip(places, labels, strict=True)
    ]
    names = [label.name for label in labels]
    folders = 0
    while len(set(names)) < len(names):
        folders += 1
        names = [
            "/".join(label.parts[-1 - folders :]) if names.count(name) > 1 else name
            for label, name in zip(labels, names, strict=True)
        ]
    return dict(zip(runs, names, strict=True))


def find_system(wanted: str, names: dict[Path, str]) -> str | None:
    """The name of the system that a user means by a name or by a run's path."""
    if wanted in names.values():
        return wanted
    place = os.path.realpath(wanted)
    return next((name for path, name in names.items() if os.path.realpath(path) == place), None)
