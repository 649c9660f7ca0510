"""An index of memory-mapped arrays that ranks as Lucene does, exhaustively and fast."""

KIND = "memory-index"
BUILDER_VERSION = 1
SLOWER = "numba is not there: memory indexes are built and searched by NumPy, slower"


def engine_backend() -> str:
    """What searches a memory index: ``numba``, or ``numpy`` where numba cannot be used."""
    from adducir.indexes.memory.compiled import HAS_NUMBA

    return "numba" if HAS_NUMBA else "numpy"
