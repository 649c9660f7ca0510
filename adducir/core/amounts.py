"""Bytes and seconds as people read them."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def of_bytes(count: float) -> str:
    """A number of bytes with two figures or three, in powers of 1,000: ``3.1 GB``."""
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    digits = 1 if count < 9.95 and unit else 0
    return f"{count:.{digits}f} {_UNITS[unit]}"
