"""The collection that comes with Adducir: short arguments, topics and graded judgements.

Its sources are named ``bundled:arguments``, ``bundled:topics`` and ``bundled:qrels``.
"""

from pathlib import Path

from adducir.core.errors import InputError

BUNDLED = Path(__file__).parent / "bundled"
"""The folder that holds the collection."""

PREFIX = "bundled:"
_FILES = {"arguments": "arguments.jsonl", "topics": "topics.xml", "qrels": "qrels.txt"}


def bundled_corpus() -> Path:
    """The documents, one JSON object a line."""
    return BUNDLED / _FILES["arguments"]


def bundled_topics() -> Path:
    """The topics, in Touché's XML."""
    return BUNDLED / _FILES["topics"]


def bundled_qrels() -> Path:
    """The judgements, in TREC format with the grades -2 (spam), 0, 1 and 2."""
    return BUNDLED / _FILES["qrels"]


def bundled(name: str) -> Path:
    """The file of a name such as ``bundled:arguments``.

    Raises:
        InputError: Nothing of that name comes with Adducir.
    """
    file = _FILES.get(name.removeprefix(PREFIX))
    if file is None:
        known = ", ".join(PREFIX + known for known in _FILES)
        raise InputError(f"nothing named {name!r} comes with Adducir.", hint=f"There are {known}.")
    return BUNDLED / file
