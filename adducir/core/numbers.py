"""Numbers in users' files and arguments, of any length and any digits."""

LARGEST = 2**63 - 1
"""The greatest whole number that arrays, and most programs, can hold."""
_DIGITS = 19


def whole_number(text: str, most: int = LARGEST) -> int | None:
    """The whole number, from 0 to ``most``, that a text is; None where it is none.

    Read are ASCII digits alone: other digits (``²``, ``٣``) pass ``str.isdigit`` and not ``int``,
    and ``int`` takes no text of more than 4,300.
    """
    if not text.isascii() or not text.isdigit() or len(text.lstrip("0")) > _DIGITS:
        return None
    value = int(text.lstrip("0") or "0")
    return value if value <= most else None
