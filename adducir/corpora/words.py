"""Words with weights as a query; readers are imported when one is read, not with every search."""

import re
from collections.abc import Mapping
from pathlib import Path

_WEIGHT = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?|\.[0-9]{1,30}")


class WeightedWords(dict[str, float]):
    """A query's words with weights, which an index analyses as it does a text."""

    @classmethod
    def of(cls, query: "str | Mapping[str, float]") -> "WeightedWords":
        """Read ``school^2 uniform``, ``{"school": 2, "uniform": 1}`` or that as text.

        Raises:
            ValueError: A weight is not a number, negative or too large, or of a phrase.
        """
        from adducir.core.json_lines import json_value
        from adducir.corpora.token_weights import weights_in

        if isinstance(query, str) and query.startswith("{"):
            query = json_value(query, Path("query"))
        if isinstance(query, Mapping):
            return cls(weights_in({"query": query}, Path("query"), None, ("query",)) or {})
        words = cls()
        for part in query.split():
            word, sign, number = part.partition("^")
            matched = _WEIGHT.fullmatch(number) if sign else _WEIGHT.fullmatch("1")
            if not word or matched is None or (sign and set(word) & set('"()')):
                raise ValueError(f"{part!r} is not a word with a weight, such as school^2.")
            words[word] = words.get(word, 0.0) + float(matched[0])
        return words
