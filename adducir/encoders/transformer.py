"""Networks of Hugging Face as encoders: see :mod:`adducir.encoders.model`."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import Field

from adducir.encoders.kinds import Floats, Side, TextEncoder

if TYPE_CHECKING:
    from adducir.encoders.model import DualEncoder


class Transformer(TextEncoder):
    """A network by the name of its folder, of the Hub, ``minilm``, or of two, with a comma."""

    base: str = Field("minilm", description="The network's name, or the names of two.")

    @cached_property
    def _network(self) -> "DualEncoder":
        from adducir.encoders.model import DualEncoder
        from adducir.encoders.sources import encoder_source

        return DualEncoder.load(encoder_source(self.base))

    def encode(self, texts: Sequence[str], side: Side) -> Floats:
        if side == "query":
            return self._network.encode_queries(texts)
        return self._network.encode_documents(texts)
