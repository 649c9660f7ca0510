"""Splits of evidence questions into training, validation and test."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from adducir.core.errors import UsageError
from adducir.datasets.spans.splitting import DEFAULT_SHARES, PARTS, check_shares, part_of

Item = TypeVar("Item")


def split(
    items: Iterable[Item],
    key: Callable[[Item], str],
    shares: Mapping[str, float] | None = None,
    seed: int = 0,
) -> dict[str, list[Item]]:
    """Divide items by a hash of their key.

    An item's part depends on its key, the seed and the shares alone, in every file and order. The
    price is that the shares hold on average only.

    Args:
        items: Questions, say; their order is kept in each part.
        shares: The share of ``train``, ``validation`` and ``test``, as for
            :func:`adducir.datasets.spans.split`; by default 0.8, 0.1 and 0.1.

    Raises:
        UsageError: The shares do not fit, or a part with a share got nothing.
    """
    wanted = DEFAULT_SHARES if shares is None else shares
    check_shares(wanted)
    parts: dict[str, list[Item]] = {name: [] for name in PARTS if name in wanted}
    for item in items:
        parts[part_of(key(item), wanted, seed)].append(item)
    empty = [name for name in parts if wanted[name] and not parts[name]]
    if empty:
        raise UsageError(
            f"nothing fell into {' and '.join(empty)}.",
            hint="Take another seed or other shares, or more data.",
        )
    return parts
