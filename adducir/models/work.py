"""A network's work on many items: batches by tokens, in chunks that survive a kill.

Batches are limited by padded tokens, so that memory is bounded.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.chunks import Maker, Work, build_in_chunks
from adducir.core.errors import MachineError, is_out_of_memory, worded
from adducir.core.executors import Place
from adducir.core.manifests import Manifest
from adducir.core.processes import default_threads
from adducir.core.progress import progress
from adducir.models.artifacts import model_versions, write_shard
from adducir.models.machine import casting_once, choose_device, computing_in, using_threads
from adducir.models.running import PLAIN, Running

if TYPE_CHECKING:
    import torch

Arrays = Mapping[str, NDArray[Any]]
Numbers = NDArray[np.int64]
Lengths = Sequence[int] | NDArray[np.integer[Any]]

_BLANK = re.compile(r"\s")
_CHARACTERS = 24
"""Characters of a long text to read first, per requested id."""
CPU_TOKENS, DEVICE_TOKENS = 2048, 16384
"""Padded tokens per batch on a CPU and a GPU, which needs many to be busy. On a CPU, a layer's
states then fit the cache: four times as many take a quarter longer (benchmarks/networks.py)."""


def tokens_for(device: "torch.device | None" = None) -> int:
    """A device's default of padded tokens per batch."""
    return CPU_TOKENS if device is None or device.type == "cpu" else DEVICE_TOKENS


def token_batches(
    lengths: Lengths, budget: int | None = None, device: "torch.device | None" = None
) -> list[Numbers]:
    """Item numbers in batches of similar length, longest first, so that memory runs out early.

    n items whose longest has m tokens take n * m <= ``budget``; a longer item is its own batch.
    """
    budget = budget or tokens_for(device)
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    batches, start = [], 0
    while start < len(order):
        most = max(1, budget // max(1, int(sizes[order[start]])))
        batches.append(order[start : start + most])
        start += most
    return batches


def shuffled_batches(lengths: Lengths, size: int, seed: int) -> list[Numbers]:
    """Batches of ``size`` items of similar length (per 32 batches), shuffled before and after."""
    draw = np.random.default_rng(seed)
    sizes = np.asarray(lengths, dtype=np.int64)
    order = draw.permutation(len(sizes))
    batches: list[Numbers] = []
    for start in range(0, len(order), 32 * size):
        run = order[start : start + 32 * size]
        run = run[np.argsort(sizes[run], kind="stable")]
        batches += [run[first : first + size] for first in range(0, len(run), size)]
    return [batches[number] for number in draw.permutation(len(batches))]


def token_ids(
    tokenizer: Any, texts: Sequence[str], most: int, *, from_end: bool = False
) -> list[Numbers]:
    """The first or last ``most`` ids of texts, without special ones; long texts are read in part.

    Args:
        from_end: Keep the last ids; reads whole texts.
    """

    def read(some: list[str]) -> list[Numbers]:
        encode = tokenizer.backend_tokenizer.encode_batch_fast
        encodings = encode(some, add_special_tokens=False) if some else []
        kept = slice(-most, None) if from_end else slice(most)
        return [np.array(encoding.ids[kept], dtype=np.int64) for encoding in encodings]

    if from_end:
        return read([*texts])
    ends = (_BLANK.search(text, most * _CHARACTERS) for text in texts)
    starts = [text[: end.start()] if end else text for text, end in zip(texts, ends, strict=True)]
    ids_of = read(starts)
    cut = [number for number, start in enumerate(starts) if len(start) < len(texts[number])]
    short = [number for number in cut if len(ids_of[number]) < most]
    for number, ids in zip(short, read([texts[n] for n in short]), strict=True):
        ids_of[number] = ids
    return ids_of


def padded(
    batch: Sequence[Numbers], filler: int, device: "torch.device", *, is_left: bool = False
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Ids padded with ``filler``, before or behind, and their mask: int64, (inputs, T > 0)."""
    import torch

    longest = max((1, *map(len, batch)))
    ids = np.full((len(batch), longest), filler, dtype=np.int64)
    mask = np.zeros((len(batch), longest), dtype=np.int64)
    for row, ids_ in enumerate(batch):
        place = slice(longest - len(ids_), None) if is_left else slice(len(ids_))
        ids[row, place], mask[row, place] = ids_, 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def in_order(
    lengths: Lengths,
    compute: Callable[[Numbers], Sequence[Any] | NDArray[Any]],
    *,
    tokens: int | None = None,
    device: "torch.device | None" = None,
) -> list[Any]:
    """Results of items with these numbers of tokens, in batches of similar length, in item order.

    ``compute`` returns the results of items by number.
    """
    outputs: list[Any] = [None] * len(lengths)
    batches, sizes = token_batches(lengths, tokens, device), np.asarray(lengths, dtype=np.int64)
    is_long = len(batches) > 1
    doing = progress().doing("running the model", int(sizes.sum()), "tokens")
    with doing if is_long else nullcontext():
        for numbers in batches:
            try:
                results = compute(numbers)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                texts = "1 text" if len(numbers) == 1 else f"{len(numbers):,} texts"
                raise MachineError(
                    f"not enough memory for a batch of {texts}.",
                    hint="Use smaller batches throughout (batch_tokens, if the command has it), "
                    f"fewer processes ({worded('workers')}), or a machine with more memory.",
                ) from error
            for number, result in zip(numbers.tolist(), results, strict=True):
                outputs[number] = result
            if is_long:
                progress().advance(int(sizes[numbers].sum()))
    return outputs


def computed(
    network: Any, lengths: Lengths, compute: Callable[[Numbers], Any], running: Running = PLAIN
) -> list[Any]:
    """:func:`in_order` with a network in inference mode, in its precision."""
    import torch

    network.eval()
    once = nullcontext() if running.precision == "float32" else casting_once(network)
    with once, torch.inference_mode(), computing_in(running.precision, network):
        return in_order(lengths, compute, tokens=running.tokens, device=network.device)


@dataclass(frozen=True, kw_only=True)
class ModelWork(Work):
    """Items and how to compute their arrays; subclasses are small and picklable."""

    size: int  # items in a chunk
    running: Running = PLAIN

    def identity(self) -> Mapping[str, Any]:
        tokens = self.running.tokens
        batches = {"cpu": tokens or CPU_TOKENS, "device": tokens or DEVICE_TOKENS}
        return {"batches": batches, "versions": model_versions()}

    @abstractmethod
    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        """Load the network; returns a function from a chunk's items to arrays."""

    def maker(self, place: Place) -> tuple[str, Maker]:
        import torch

        if place.is_alone:  # it may change global settings
            most = min(torch.get_num_threads(), default_threads())
            torch.set_num_threads(self.running.threads or most)
        device = choose_device(self.running.device, place)
        kind = device.type  # last digits depend on the GPU model and the CPU's capabilities
        if kind != "mps":
            name = torch.cuda.get_device_name if kind == "cuda" else None
            kind += f" {name(device) if name else torch.backends.cpu.get_cpu_capability()}"
        arrays = self.load(device)
        return kind, lambda items, path: write_shard(path, arrays(items))

    def build(
        self, output: Path, *, versions: Mapping[str, str] | None = None, **about: Any
    ) -> Manifest:
        """Build the artifact of this work; see :func:`adducir.core.chunks.build_in_chunks`."""
        versions = {**model_versions(), **(versions or {})}
        with using_threads(self.running.threads):
            execution = self.running.execution
            return build_in_chunks(output, self, execution=execution, versions=versions, **about)
