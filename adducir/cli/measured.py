"""What ``adducir doctor --measure`` prints: the figures of this machine, with names and units."""

from adducir.core.amounts import of_bytes
from adducir.core.rates import Rates

_PARTS = {
    "disk": "writing to the disk",
    "runs": "fusing runs",
    "memory": "memory engine",
    "lucene": "Lucene engine",
    "passages": "cutting passages",
    "networks": "encoding",
    "training": "training",
}
_SPEEDS = {
    "written bytes": ("writing to the disk", "MB/s", 1e6),
    "fused rows": ("fusing and writing runs", "lines/s", 1),
    "memory bytes": ("indexing, memory engine", "MB/s", 1e6),
    "memory pairs": ("search, memory engine", "documents/s", 1),
    "memory feedback pairs": ("search with RM3, memory engine", "documents/s", 1),
    "lucene bytes": ("indexing, Lucene engine", "MB/s", 1e6),
    "lucene pairs": ("search, Lucene engine", "documents/s", 1),
    "lucene feedback pairs": ("search with RM3, Lucene engine", "documents/s", 1),
    "passage bytes": ("cutting passages", "MB/s", 1e6),
    "forward operations": ("encoding", "GFLOP/s", 1e9),
    "tokens": ("encoding, tokens", "tokens/s", 1),
    "forward operations in bfloat16": ("encoding in bfloat16", "GFLOP/s", 1e9),
    "lexical pairs": ("scoring targets, lexical mixture", "pairs/s", 1),
    "products": ("dense search", "GFLOP/s", 1e9),
    "training operations": ("training", "GFLOP/s", 1e9),
    "training operations in bfloat16": ("training in bfloat16", "GFLOP/s", 1e9),
}
_SIZES = {
    "memory": ("index, memory engine", "bytes per byte of text"),
    "lucene": ("index, Lucene engine", "bytes per byte of text"),
    "passages": ("passages, with tokens", "bytes per byte of text"),
    "run row": ("run, compressed", "bytes per line"),
}


def rate_lines(rates: Rates) -> list[str]:
    """The figures, aligned, a line each."""
    lines = [("speed", *_speed(name, value)) for name, value in rates.rates.items()]
    lines += [("start-up", _part(name), f"{value:.1f} s") for name, value in rates.starts.items()]
    lines += [("peak memory", _part(name), of_bytes(one)) for name, one in rates.memory.items()]
    lines += [("disk", *_size(name, value)) for name, value in rates.shares.items()]
    width = max((len(name) for _, name, _ in lines), default=0)
    return [f"{kind:<11}  {name:<{width}}  {value}" for kind, name, value in lines]


def _part(name: str) -> str:
    return _PARTS.get(name, name)


def _speed(name: str, value: float) -> tuple[str, str]:
    what, unit, size = _SPEEDS.get(name, (name, "a second", 1))
    return what, f"{value / size:,.{0 if size == 1 else 1}f} {unit}"


def _size(name: str, value: float) -> tuple[str, str]:
    what, unit = _SIZES.get(name, (name, "bytes each"))
    return what, f"{value:.2f} {unit}"
