"""How large a transformer is, by its configuration and its files' sizes; nothing is loaded."""

import json
from dataclasses import dataclass
from pathlib import Path

from adducir.core.absent import without_downloads
from adducir.core.errors import AdducirError, InputError
from adducir.core.files import read_settings_text
from adducir.models.layouts import weight_files
from adducir.models.sources import TEXTS, ModelSource

_WIDTH = ("hidden_size", "d_model", "dim")
_LAYERS = ("num_hidden_layers", "num_layers", "encoder_layers", "n_layers")
_INNER = ("intermediate_size", "d_ff", "encoder_ffn_dim", "hidden_dim")


@dataclass(frozen=True)
class NetworkSize:
    """The size of a transformer's encoder.

    Attributes:
        layers: How many.
        width: Numbers of a token's state.
        inner: Numbers between the two matrices of a layer's feed-forward part.
        bytes: Of the weights' files; 0 where they are not here.
    """

    layers: int
    width: int
    inner: int
    bytes: int = 0

    def operations(self, tokens: float, length: float) -> float:
        """Floating-point operations of a forward pass.

        The products of matrices, two operations for each weight and token, and attention, which
        grows with the length (Kaplan et al. 2020, https://arxiv.org/abs/2001.08361, table 1).

        Args:
            tokens: Of all texts together.
            length: Tokens of a text.
        """
        weights = self.layers * (4 * self.width**2 + 2 * self.width * self.inner)
        return tokens * (2 * weights + 4 * self.layers * self.width * length)


def network_size(source: ModelSource) -> NetworkSize | None:
    """The size of a model; None where it is not here, or its configuration is of another form."""
    try:
        with without_downloads():
            folder = source.folder or source.fetched(TEXTS)
        config = json.loads(read_settings_text(folder / "config.json"))
    except (AdducirError, ValueError, RecursionError):
        return None
    if not isinstance(config, dict):
        return None
    layers, width, inner = (
        next((config[name] for name in names if isinstance(config.get(name), int)), 0)
        for names in (_LAYERS, _WIDTH, _INNER)
    )
    if min(layers, width, inner) <= 0:
        return None
    return NetworkSize(layers, width, inner, _weights(folder))


def _weights(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in weight_files(folder))
    except InputError:
        return 0
