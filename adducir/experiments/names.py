"""The names that an experiment file defines."""

from collections.abc import Iterator, Mapping
from typing import Any

from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.core.texts import nearest


class Names:
    """The names that a file defines, by section.

    Args:
        data: The whole file, whose entries may have errors of their own.
    """

    _ENTRY = {  # noqa: RUF012
        "corpora": "corpus",
        "indexes": "index",
        "topics": "topic set",
        "systems": "system",
    }

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.of = {key: [*(data.get(key) or {})] for key in self._ENTRY if _is_section(data, key)}

    def check(self, path: KeyPath, section: str, name: str) -> Iterator[ErrorDetail]:
        """An error if the section has no entry of that name."""
        known = self.of.get(section, [])
        if name not in known:
            what = f"there is no {self._ENTRY[section]} `{name}` in this file"
            yield ErrorDetail(path, what + nearest(name, known))


def _is_section(data: Mapping[str, Any], key: str) -> bool:
    return data.get(key) is None or isinstance(data[key], Mapping)
