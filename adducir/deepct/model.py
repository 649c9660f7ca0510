"""The term weighter: an encoder and a linear head that gives each word of a passage a weight.

DeepCT (Dai and Callan, 2020) regresses a word's weight from the contextual vector of its first word
piece: weight = w · T + b. The network is transformers' token classifier with one label, so that the
weights load there as well.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.deepct.reading import Encoded, Reader
from adducir.deepct.settings import Settings
from adducir.models.batches import computed, padded, token_batches
from adducir.models.loading import load_model, load_tokenizer, longest_input
from adducir.models.machine import Precision, computing_in, halved, seed_of
from adducir.models.sources import ModelSource

if TYPE_CHECKING:
    import torch

_KIND = "AutoModelForTokenClassification"


class TermWeighter(Reader):
    """A model with its tokenizer and its settings."""

    def __init__(self, model: Any, tokenizer: Any, settings: Settings) -> None:
        super().__init__(tokenizer, longest_input(model.config, tokenizer))
        self.model = model
        self.settings = settings
        self._half: TermWeighter | None = None

    @classmethod
    def untrained(cls, base: ModelSource, settings: Settings, seed: int) -> "TermWeighter":
        """A pretrained encoder with a new head, as training starts.

        The head's weights are drawn from N(0, 0.02) and its bias is 0, as in BERT's own heads.

        Raises:
            InputError, MachineError: The encoder cannot be loaded.
        """
        import torch

        tokenizer = load_tokenizer(base)
        torch.manual_seed(seed_of(seed, "head"))
        model: Any = load_model(base, _KIND, new_head=True, num_labels=1)
        with torch.no_grad():
            model.classifier.weight.normal_(0.0, 0.02)
            model.classifier.bias.zero_()
        return cls(model, tokenizer, settings)

    @classmethod
    def load(cls, folder: Path) -> "TermWeighter":
        """A trained term weighter.

        Raises:
            InputError: There is none in the folder.
        """
        settings = Settings.load(folder)
        source = ModelSource(str(folder), folder)
        return cls(load_model(source, _KIND), load_tokenizer(source), settings)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and settings."""
        self.model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)
        self.settings.save(folder)

    def to(self, device: "torch.device") -> "TermWeighter":
        """Move the network to a device."""
        self.model.to(device)
        return self

    def logits(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """The head's value for every token: (passages, longest), what is padding included."""
        padding = self._tokenizer.pad_token_id or 0
        ids, mask = padded([one.ids for one in batch], padding, self.model.device)
        found = self.model(input_ids=ids, attention_mask=mask)
        values: torch.Tensor = found.logits[..., 0].float()
        return values

    def activate(self, logits: "torch.Tensor") -> "torch.Tensor":
        """Weights of logits."""
        return logits.sigmoid() if self.settings.activation == "sigmoid" else logits

    def weights(
        self,
        encoded: Sequence[Encoded],
        *,
        tokens: int | None = None,
        precision: Precision = "float32",
    ) -> list[NDArray[np.float32]]:
        """The weight of every word of some passages, 0 for a word without a piece.

        Args:
            tokens: Padded tokens in a batch; no weight depends on it (to 1e-5).
            precision: What the network computes in; ``bfloat16`` is exact to about 1e-2. Its
                weights are cast once, which is several times faster than casting as it runs.
        """
        import torch

        self.model.eval()
        caster = self if precision == "float32" else self._in_half()
        found: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(encoded)

        def values(numbers: NDArray[np.int64]) -> NDArray[np.float32]:
            with torch.inference_mode(), computing_in(precision, caster.model):
                logits = caster.logits([encoded[number] for number in numbers])
                result: NDArray[np.float32] = self.activate(logits).cpu().numpy()
                return result

        batches = token_batches([len(one.ids) for one in encoded], tokens, self.model.device)
        for numbers, rows in computed(batches, values):
            for number, row in zip(numbers, rows, strict=True):
                firsts = encoded[number].firsts
                found[number] = np.where(firsts >= 0, row[firsts], np.float32(0.0))
        return found

    def _in_half(self) -> "TermWeighter":
        """The same with its layers' weights in half precision; made once."""
        if self._half is None:
            self._half = TermWeighter(halved(self.model), self._tokenizer, self.settings)
        return self._half
