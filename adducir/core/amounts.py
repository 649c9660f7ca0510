"""Bytes and seconds as people read them."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def of_bytes(count: float) -> str:
    """A number of bytes with two figures or three, in powers of 1,000: ``3.1 GB``."""
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    digits = 1 if count < 9.95 and unit else 0
    return f"{count:.{digits}f} {_UNITS[unit]}"


def of_seconds(seconds: float) -> str:
    """A time, 0.1 s at least, in two figures or so: ``40 s``, ``25 min``, ``2.1 h``, ``9 days``."""
    seconds = max(seconds, 0.1)
    for size, unit in ((1, "s"), (60, "min"), (3600, "h")):
        if seconds < {1: 99.5, 60: 99.5 * 60, 3600: 47.5 * 3600}[size]:
            count = seconds / size
            digits = 1 if count < 9.95 and (size > 60 or count < 0.995) else 0
            return f"{count:.{digits}f} {unit}"
    return f"{seconds / 86400:.0f} days"
