"""What makers publish of their models outside the models' files: ``known.yaml``, by name."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adducir.core.config import load

if TYPE_CHECKING:
    from adducir.models.sources import ModelSource

_SNAPSHOT = re.compile(r"models--(.+?)--(.+)")
"""A repository's folder in the Hub's cache, ``models--OWNER--NAME/snapshots/COMMIT``."""


class Known(NamedTuple):
    name: str  # the published name that matched
    facts: Mapping[str, Any]
    source: str  # where the makers state it

    @property
    def title(self) -> str:
        return f"known for {self.name}: {self.source}"


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = load(Path(__file__).with_name("known.yaml")).data
    return table


def names_of(source: "ModelSource") -> list[str]:
    """The names on the Hub that a model may have: its own, or those that its folder shows."""
    if source.folder is None:
        return [source.name]
    parts = source.folder.absolute().parts
    for part in reversed(parts):
        if match := _SNAPSHOT.fullmatch(part):
            return [f"{match[1]}/{match[2]}"]
    joined = re.sub(r"^([\w.]+?)(?:--|__|_(?=[a-zA-Z]))", r"\1/", parts[-1])
    return list(dict.fromkeys(["/".join(parts[-2:]), joined, parts[-1]]))


def known(source: "ModelSource", section: str) -> Known | None:
    """What is published about a model; a folder may lack the owner in its name."""
    for name in names_of(source):
        for entry in _table()[section]:
            for pattern in entry["names"]:
                names = pattern if "/" in name else pattern.partition("/")[2]
                if re.fullmatch(names, name, re.IGNORECASE):
                    return Known(name, entry["facts"], entry["source"])
    return None
