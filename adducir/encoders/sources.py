"""Encoders by name: one model for both sides, a pair, or an encoder that Adducir trained."""

from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint
from adducir.encoders.kinds import ENCODERS, NETWORK, TextEncoder
from adducir.encoders.settings import (
    DOCUMENT_FOLDER,
    QUERY_FOLDER,
    Settings,
)
from adducir.models.sources import RECIPES, ModelSource, model_source, trained_folder


@dataclass(frozen=True)
class EncoderSource:
    """Where an encoder comes from.

    Attributes:
        query: The model of queries and contexts.
        document: The model of documents and spans; the same object where both share one.
        folder: The folder of an encoder that Adducir trained; None for others.
        settings: What stands in that folder.
        texts: The encoder itself, of another kind than a network; it has no models.
    """

    name: str
    query: ModelSource
    document: ModelSource
    folder: Path | None = None
    settings: Settings | None = None
    texts: TextEncoder | None = None

    @property
    def is_shared(self) -> bool:
        """Whether both sides have one model."""
        return self.query is self.document

    def identity(self) -> str:
        """What distinguishes this encoder from any other.

        Raises:
            InputError: A file cannot be read.
        """
        if self.texts is not None:
            kind = self.name.partition(":")[0]
            return (
                f"{kind}:{fingerprint([self.texts.model_dump(mode='json'), ENCODERS.origin(kind)])}"
            )
        if self.folder is not None:
            return ModelSource(self.name, self.folder).identity()
        if self.is_shared:
            return self.query.identity()
        return f"pair:{fingerprint([self.query.identity(), self.document.identity()])}"

    def require_network(self) -> None:
        """Refuse what is no network.

        Raises:
            InputError: It is none.
        """
        if self.texts is not None:
            raise InputError(f"{self.name} is no network, which this needs.")

    def check(self) -> None:
        """Find the tokenizers, fetched where need be; weights are not opened.

        Raises:
            MachineError: A model of the Hub cannot be fetched: its name may be wrong.
        """
        if self.texts is None:
            for model in dict.fromkeys((self.query, self.document)):
                model.local_tokenizer()


def refuse_tokenizer(tokenizer: str | None, path: Path) -> None:
    """Refuse a tokenizer beside an encoder that Adducir trained.

    Raises:
        InputError: There is one.
    """
    if tokenizer is not None:
        raise InputError(
            "an encoder that Adducir trained has its tokenizer.",
            path=path,
            hint="Leave `tokenizer` out.",
        )


def encoder_source(
    name: str, folder: Path | None = None, tokenizer: str | None = None
) -> EncoderSource:
    """What an encoder's name stands for; nothing is fetched.

    Args:
        name: A name as :func:`adducir.models.sources.model_source` takes it; two of them with a
            comma between, the first for queries, the second for documents (as DPR has them); the
            folder of an encoder that Adducir trained; or its recipe, ``encoders/X.yaml``; or
            another kind of encoder, with a colon behind it (:mod:`adducir.encoders.kinds`).
        folder: Where relative paths start; by default the current folder.
        tokenizer: The name of the model whose tokenizer both sides take; by default their own.

    Raises:
        InputError, MachineError: As :func:`adducir.models.sources.model_source`; or the encoder
            of a recipe is not trained, or is to take another tokenizer than it was trained with.
    """
    kind, colon, base = name.partition(":")
    if colon and kind in ENCODERS:
        if kind != NETWORK:
            none = ModelSource(name)
            texts = ENCODERS.make(kind, {"base": base} if base else {})
            return EncoderSource(name, none, none, texts=texts)
        name = base
    one, comma, other = (part.strip() for part in name.partition(","))
    if comma:
        query, document = (model_source(side, folder, tokenizer) for side in (one, other))
        return EncoderSource(name, query, document)
    path = (folder or Path()) / Path(name).expanduser()
    if path.suffix in RECIPES:
        path = trained_folder(path, "encoder", absent=path.is_file())
    elif not (path / Settings.file).is_file():
        model = model_source(name, folder, tokenizer)
        return EncoderSource(name, model, model)
    refuse_tokenizer(tokenizer, path)
    settings = Settings.load(path)
    if settings.towers == "shared":
        model = ModelSource(name, path)
        return EncoderSource(name, model, model, path, settings)
    query = ModelSource(name, path / QUERY_FOLDER)
    return EncoderSource(name, query, ModelSource(name, path / DOCUMENT_FOLDER), path, settings)
