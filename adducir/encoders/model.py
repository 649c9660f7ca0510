"""A dual encoder: two towers, or one for both sides, that put texts into one space.

Contexts and queries go through the query tower, spans and documents through the document tower;
vectors are compared by inner product (DPR, Karpukhin et al., 2020; dense-RELiC; EGRET). With cosine
as similarity all vectors have length 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.inputs import InputReader, SideReader
from adducir.encoders.kinds import Floats as Floats
from adducir.encoders.kinds import Side as Side
from adducir.encoders.layout import Layout, read_dense, write_layout
from adducir.encoders.network import AnyPooling, Network, Pooling, pooler_of
from adducir.encoders.reading import Ids, Reader
from adducir.encoders.settings import (
    DOCUMENT_FOLDER,
    QUERY_FOLDER,
    ContextPart,
    LengthPart,
    Settings,
    Similarity,
    Towers,
)
from adducir.encoders.sources import EncoderSource
from adducir.models.batches import computed, padded, token_batches
from adducir.models.loading import load_config, load_model
from adducir.models.machine import Precision, computing_in, seed_of
from adducir.models.sources import ModelSource

SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(eq=False)
class Tower:
    """One network with its tokenizer.

    Attributes:
        layout: What its folder says beside the weights.
    """

    network: Network
    reader: Reader
    layout: Layout

    @classmethod
    def load(
        cls, source: ModelSource, pooling: AnyPooling | None = None, *, seed: int | None = None
    ) -> "Tower":
        """A tower from a model.

        Args:
            pooling: None for the one that its folder names; of a plain transformer the mean of
                the tokens, as sentence-transformers takes it.
            seed: Of a new pooler, where the tower is to be trained and its model lacks one.

        Raises:
            InputError: It cannot be loaded, or has no pooler that ``pooling`` asks for.
            MachineError: It cannot be fetched.
        """
        reads = SideReader.load(source)
        layout = reads.layout
        dense = [read_dense(one) for one in layout.dense]
        if pooling != "pooler":
            model: Any = load_model(source, _kind_of(source))
        elif layout.pooling == "first" and dense:  # what a tower with a pooler was saved as
            model, pooling = load_model(source, _kind_of(source)), "first"
        else:
            model, layer = _with_pooler(source, seed)
            dense, pooling = [layer, *dense], "first"
        own = hasattr(model, "ctx_encoder") or hasattr(model, "question_encoder")
        chosen: Pooling = "own" if own else (pooling or layout.pooling or "mean")
        network = Network(model, chosen, dense, normalise=layout.normalise)
        return cls(network, reads.reader, layout)

    def save(self, folder: Path, length: int, similarity: Similarity) -> None:
        """Write the tower as sentence-transformers would."""
        self.network.transformer.save_pretrained(folder)
        self.reader.tokenizer.save_pretrained(folder)
        prompts = {"query": "", "document": "", **self.layout.prompts}
        write_layout(folder, self.network, length=length, similarity=similarity, prompts=prompts)

    def forward(self, inputs: Sequence[Ids]) -> torch.Tensor:
        """Vectors (n, D) of some inputs, with gradient where there is one."""
        ids, mask = padded(inputs, self.reader.padding, self.network.device)
        found: torch.Tensor = self.network(ids, mask)
        return found


def _with_pooler(source: ModelSource, seed: int | None) -> tuple[Any, torch.nn.Module]:
    """A model and the pooler that was its own; a new one by the seed where it may be missing."""
    if seed is not None:
        torch.manual_seed(seed)
    model = load_model(source, _kind_of(source), pooler=True, new_head=seed is not None)
    layer = pooler_of(model)
    if layer is None:
        raise InputError(
            f"a {type(model).__name__} has no pooler.",
            path=source.local(),
            hint="Set `pooling` to first or mean.",
        )
    return model, layer


def _kind_of(source: ModelSource) -> str:
    """The class of transformers for a checkpoint, where AutoModel would take a wrong one."""
    config = load_config(source)
    if config.model_type == "t5":
        return "T5EncoderModel"
    if config.model_type == "dpr":
        return str((config.architectures or ["DPRQuestionEncoder"])[0])
    return "AutoModel"


class DualEncoder(torch.nn.Module):
    """Two towers, or one; see the module's text.

    Attributes:
        query: The tower of queries and contexts.
        document: That of documents and spans; the same object where both share one.
        settings: What is read, and how vectors are compared.
    """

    def __init__(self, query: Tower, document: Tower, settings: Settings) -> None:
        super().__init__()
        self.query, self.document = query, document
        self.settings = settings
        towers = {"query": query.network, "document": document.network}
        if query is document:
            towers = {"shared": query.network}
        self.towers = torch.nn.ModuleDict(towers)

    @classmethod
    def load(
        cls,
        source: EncoderSource,
        *,
        context: ContextPart | None = None,
        lengths: LengthPart | None = None,
        similarity: Similarity | None = None,
        pooling: AnyPooling | None = None,
        towers: Towers | None = None,
        seed: int | None = None,
    ) -> "DualEncoder":
        """An encoder by its source.

        What is not said here is as the encoder was trained; a model that Adducir did not train
        reads whole contexts without a mask, and its vectors are compared as its folder says.

        Args:
            source: From :func:`adducir.encoders.sources.encoder_source`.
            similarity: How vectors are compared; normalised ones are compared by cosine anyway.
            towers: ``separate`` makes two towers of one.
            seed: Of new poolers, where the encoder is to be trained and its model lacks one.

        Raises:
            InputError: It cannot be loaded, is no network, or two towers were to be made one.
            MachineError: It cannot be fetched.
        """
        source.require_network()
        base = source.settings or Settings(towers="shared" if source.is_shared else "separate")
        if towers == "shared" and not source.is_shared:
            raise InputError("two towers cannot be made one: `towers: shared` needs one model.")
        seeds = [None if seed is None else seed_of(seed, "pooler", side) for side in SIDES]
        query = Tower.load(source.query, pooling, seed=seeds[0])
        if source.is_shared and towers != "separate":
            document = query
        else:
            document = Tower.load(source.document, pooling, seed=seeds[1])
        named = base.similarity if source.settings else query.layout.similarity
        is_cosine = (similarity or named) == "cosine" or query.network.normalise
        query.network.normalise = document.network.normalise = is_cosine
        return cls(
            query,
            document,
            Settings(
                towers="shared" if query is document else "separate",
                similarity="cosine" if is_cosine else "dot",
                context=context or base.context,
                lengths=lengths or base.lengths,
            ),
        )

    @property
    def width(self) -> int:
        """D."""
        return int(self.encode_documents(["a"]).shape[1])

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizers and settings.

        A shared tower lies in the folder itself, two lie in ``query/`` and ``document/``; each is
        a folder that ``SentenceTransformer`` loads.
        """
        lengths = self.settings.lengths
        sides = (
            (self.query, QUERY_FOLDER, (lengths.context,)),
            (self.document, DOCUMENT_FOLDER, (lengths.span,)),
        )
        if self.query is self.document:
            sides = ((self.query, "", (lengths.context, lengths.span)),)  # type: ignore[assignment]
        for tower, name, most in sides:
            longest = max(one or tower.reader.longest for one in most)
            (folder / name).mkdir(exist_ok=True)
            tower.save(folder / name, min(longest, tower.reader.longest), self.settings.similarity)
        self.settings.save(folder)

    @property
    def inputs(self) -> InputReader:
        """What makes token ids of texts."""
        query, document = (
            SideReader(one.reader, one.layout) for one in (self.query, self.document)
        )
        return InputReader(query, document, self.settings)

    def read_contexts(self, spans: Sequence[MaskedSpan]) -> list[Ids]:
        return self.inputs.contexts(spans)

    def read_queries(self, texts: Sequence[str]) -> list[Ids]:
        return self.inputs.queries(texts)

    def read_documents(self, texts: Sequence[str]) -> list[Ids]:
        return self.inputs.documents(texts)

    def tower(self, side: Side) -> Tower:
        """One of the two."""
        return self.query if side == "query" else self.document

    def vectors(
        self,
        inputs: Sequence[Ids],
        side: Side,
        *,
        tokens: int | None = None,
        precision: Precision = "float32",
        on_batch: Callable[[int], None] | None = None,
    ) -> Floats:
        """Vectors of token ids, in their order.

        Args:
            inputs: From one of the ``read_`` methods.
            tokens: Padded tokens in a batch; no vector depends on it (to 1e-5).

        Returns:
            (n, D) float32; (0, 0) for no input.
        """
        tower = self.tower(side)
        self.eval()

        def compute(numbers: NDArray[np.int64]) -> Floats:
            with torch.inference_mode(), computing_in(precision, tower.network):
                found: Floats = tower.forward([inputs[number] for number in numbers]).cpu().numpy()
                return found

        out: Floats | None = None
        batches = token_batches([len(one) for one in inputs], tokens, tower.network.device)
        for numbers, values in computed(batches, compute):
            if out is None:
                out = np.empty((len(inputs), values.shape[1]), dtype=np.float32)
            out[numbers] = values
            if on_batch is not None:
                on_batch(len(numbers))
        return np.zeros((0, 0), dtype=np.float32) if out is None else out

    def encode_contexts(self, spans: Sequence[MaskedSpan], **options: Any) -> Floats:
        """Vectors of contexts; for options and result see :meth:`vectors`."""
        return self.vectors(self.read_contexts(spans), "query", **options)

    def encode_queries(self, texts: Sequence[str], **options: Any) -> Floats:
        """Vectors of free queries; for options and result see :meth:`vectors`."""
        return self.vectors(self.read_queries(texts), "query", **options)

    def encode_documents(self, texts: Sequence[str], **options: Any) -> Floats:
        """Vectors of spans or documents; for options and result see :meth:`vectors`."""
        return self.vectors(self.read_documents(texts), "document", **options)


def load_encoder(source: EncoderSource) -> Any:
    """The encoder of a source: a ``DualEncoder``, or a ``TextEncoder``, which has its methods.

    Raises:
        InputError: It cannot be loaded.
        MachineError: It cannot be fetched.
    """
    return DualEncoder.load(source) if source.texts is None else source.texts
