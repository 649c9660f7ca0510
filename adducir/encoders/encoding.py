"""Encodes a corpus or spans into an artifact of vectors, in shards that can be made anywhere."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest
from adducir.core.chunks import Made, build_in_chunks
from adducir.core.errors import InputError
from adducir.core.executors import HERE, Execution, Place
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.items import Item, Items, described
from adducir.encoders.kinds import Floats
from adducir.encoders.model import DualEncoder, load_encoder
from adducir.encoders.sources import EncoderSource
from adducir.encoders.vectors import (
    KIND,
    NAME,
    digests_of_shard,
    read_shard,
    tie_of,
    write_docnos,
    write_shard,
)
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import (
    Precision,
    device_kind,
    device_of_worker,
    settle_threads,
    using_threads,
)

SHARD = 2000
"""Texts in a shard: what a kill can lose."""

_BUILDER_VERSION = 2


@dataclass(frozen=True)
class EncodingWork:
    """Vectors of some items; see :mod:`adducir.core.chunks`.

    Attributes:
        encoder: The encoder itself where it is not to be as the source has it.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
        tokens: Padded tokens in a batch.
    """

    source: EncoderSource
    texts: Items
    precision: Precision
    size: int = SHARD
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    encoder: DualEncoder | None = None
    doing: str = "encoding"
    unit: str = "texts"

    @property
    def total(self) -> int | None:
        return self.texts.total

    def identity(self) -> Mapping[str, Any]:
        return {"batches": batch_rule(self.tokens), "versions": model_versions()}

    def check(self) -> None:
        if self.encoder is None:
            self.source.check()

    def items(self, *, check: bool) -> Iterator[Item]:
        return self.texts.read(check)

    def describe(self, item: Item) -> tuple[str, bytes]:
        return described(item)

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        """See :class:`.Work`.

        Returns:
            The counts of the artifact; see :func:`encode`.

        Raises:
            InputError: There is nothing to encode.
        """
        made.keep(folder, NAME)
        docnos = [name for names in made.names for name in names]
        write_docnos(folder, docnos)
        return self.counted(made, docnos)

    def counted(self, made: Made, docnos: Sequence[str]) -> dict[str, Any]:
        """The counts of the artifact.

        Raises:
            InputError: There is nothing to encode.
        """
        if not docnos:
            raise InputError("there is nothing to encode.")
        digests = [digests_of_shard(path)["values"] for path in made.files]
        return {
            "vectors": len(docnos),
            "width": int(read_shard(made.files[0], docnos[: self.size]).shape[1]),
            "shards": len(made.files),
            "shard": self.size,
            "digest": tie_of(docnos, digests),
        }


class _Builder:
    """An encoder that makes shards of vectors."""

    def __init__(self, work: EncodingWork, place: Place) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._work = work
        self._encoder: Any = (work.encoder or load_encoder(work.source)).to(device)

    def make(self, items: Sequence[Item], path: Path) -> None:
        values = self._vectors([content for _, content in items])
        write_shard(path, [name for name, _ in items], values)

    def _vectors(self, texts: list[Any]) -> Floats:
        """The vectors of texts, by a DualEncoder or a TextEncoder, which has its methods."""
        work = self._work
        if isinstance(texts[0], MaskedSpan):
            inputs = self._encoder.read_contexts(texts)
        elif work.texts.side == "query":
            inputs = self._encoder.read_queries(texts)
        else:
            inputs = self._encoder.read_documents(texts)
        options = {"tokens": work.tokens, "precision": work.precision}
        values: Floats = self._encoder.vectors(inputs, work.texts.side, **options)
        return values


def encode(
    source: EncoderSource,
    items: Items,
    output: Path,
    *,
    encoder: DualEncoder | None = None,
    device: str = "auto",
    threads: int | None = None,
    tokens: int | None = None,
    precision: Precision = "float32",
    shard: int = SHARD,
    rebuild: bool = False,
    execution: Execution = HERE,
) -> Manifest:
    """Encode, unless ``output`` holds the vectors already.

    Work that was killed resumes: shards that were made are not made again.

    Args:
        source: The encoder, from :func:`adducir.encoders.sources.encoder_source`.
        encoder: The encoder itself where it is not to be as the source has it; its settings count.
        device: See :func:`adducir.models.machine.choose_device`.
        tokens: Padded tokens in a batch.
        precision: What the network computes in.
        shard: Texts in a shard.
        execution: Who makes the shards.

    Returns:
        The manifest. Its counts: ``vectors``, ``width``, ``shards``, ``shard`` and ``digest``,
        which ties docnos and vectors.

    Raises:
        InputError: The model or a text cannot be read.
        ArtifactError: ``output`` holds something that is not ours to replace.
        IncompleteError: Some shards cannot be made; the others are kept.
    """
    settings = encoder.settings if encoder is not None else source.settings
    with using_threads(threads):
        return build_in_chunks(
            output,
            EncodingWork(source, items, precision, shard, device, threads, tokens, encoder),
            kind=KIND,
            recipe={
                **items.what,
                "precision": precision,
                "shard": shard,
                "settings": settings and settings.model_dump(mode="json"),
            },
            inputs={"items": items.identity, "model": source.identity()},
            builder_version=_BUILDER_VERSION,
            versions=model_versions(),
            rebuild=rebuild,
            execution=execution,
        )
