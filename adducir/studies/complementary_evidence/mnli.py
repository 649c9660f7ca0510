"""MultiNLI (Williams et al., NAACL 2018) in its published formats.

- JSONL: ``sentence1``, ``sentence2``, ``gold_label`` (the official files), or ``premise``,
  ``hypothesis``, ``label`` (Hugging Face and others; labels as words or as 0, 1, 2).
- Tables with tabs and a header line with the same names (the official ``.txt``, GLUE's ``.tsv``).

A pair on whose label the annotators did not agree has the label ``-`` (or -1), which is kept as
None.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import WHOLE, json_value

ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS = ("entailment", "neutral", "contradiction")
_NONE = {"-", "-1", "", "hidden"}
_NUMBERED = {str(number): label for number, label in enumerate(LABELS)}
_NAMES = (("sentence1", "sentence2", "gold_label"), ("premise", "hypothesis", "label"))


class NliPair(NamedTuple):
    """A premise, a hypothesis and how that stands to it (None: no agreed label)."""

    premise: str
    hypothesis: str
    label: str | None


def read_mnli(path: Path) -> Iterator[tuple[int, NliPair]]:
    """Yield the pairs of a file with their 1-based lines; blank lines are ignored.

    Raises:
        InputError: A line is no pair; with file and line.
    """
    lines = ((number, line) for number, line in read_lines(path) if line.strip())
    first = next(lines, None)
    if first is None:
        raise InputError("the file is empty.", path=path)
    if first[1].lstrip().startswith("{"):
        yield _pair_of_json(path, *first)
        for number, line in lines:
            yield _pair_of_json(path, number, line)
        return
    header = first[1].split("\t")
    _names_in(header, path, first[0])
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) > len(header):
            raise InputError(
                f"this line has {len(cells)} columns, the header {len(header)}.",
                path=path,
                line=number,
            )
        yield number, _pair(dict(zip(header, cells, strict=False)), path, number)


def _pair_of_json(path: Path, number: int, line: str) -> tuple[int, NliPair]:
    record = json_value(line, path, number, WHOLE)
    if not isinstance(record, dict):
        raise InputError("this is not a JSON object.", path=path, line=number)
    return number, _pair(record, path, number)


def _names_in(known: Any, path: Path, line: int) -> tuple[str, str, str]:
    """The names of premise, hypothesis and label here."""
    for names in _NAMES:
        if all(name in known for name in names):
            return names
    raise InputError(
        "there is no pair of sentences with a label here.",
        path=path,
        line=line,
        hint=f"Wanted are {', '.join(_NAMES[0])}, or {', '.join(_NAMES[1])}.",
    )


def _pair(record: Mapping[str, Any], path: Path, line: int) -> NliPair:
    premise, hypothesis, given = (record[name] for name in _names_in(record, path, line))
    label = _NUMBERED.get(str(given), str(given))
    if label not in LABELS and label not in _NONE:
        raise InputError(
            f"{given!r} is no label.", path=path, line=line, hint=f"Labels are {', '.join(LABELS)}."
        )
    if not isinstance(premise, str) or not isinstance(hypothesis, str):
        raise InputError("a premise and a hypothesis must be text.", path=path, line=line)
    return NliPair(premise, hypothesis, label if label in LABELS else None)
