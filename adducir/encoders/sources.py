"""Encoders by name: one model for both sides, a pair, or an encoder that Adducir trained."""

from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint
from adducir.encoders.kinds import ENCODERS, TextEncoder
from adducir.encoders.reading import Settings
from adducir.models.sources import RECIPES, ModelSource, model_source, trained_folder


@dataclass(frozen=True)
class EncoderSource:
    """Where an encoder comes from: two models or one, or ``texts``, an encoder of another kind.

    ``folder`` and ``settings`` are those of an encoder that Adducir trained.
    """

    name: str
    query: ModelSource
    document: ModelSource
    folder: Path | None = None
    settings: Settings | None = None
    texts: TextEncoder | None = None

    @property
    def is_shared(self) -> bool:
        return self.query is self.document

    def identity(self) -> str:
        if self.texts is not None:
            kind = self.name.partition(":")[0]
            given = [self.texts.model_dump(mode="json"), ENCODERS.origin(kind)]
            return f"{kind}:{fingerprint(given)}"
        if self.is_shared:
            return self.query.identity()
        return f"pair:{fingerprint([self.query.identity(), self.document.identity()])}"

    def check(self) -> None:
        """Find the tokenizers, fetched where need be; weights are not opened."""
        if self.texts is None:
            for model in dict.fromkeys((self.query, self.document)):
                if self.folder is None:
                    model.local_tokenizer()


def refuse_tokenizer(tokenizer: str | None, path: Path) -> None:
    if tokenizer is not None:
        raise InputError(
            "an encoder that Adducir trained has its tokenizer.",
            path=path,
            hint="Leave `tokenizer` out.",
        )


def encoder_source(
    name: str, folder: Path | None = None, tokenizer: str | None = None
) -> EncoderSource:
    """What an encoder's name stands for; nothing is fetched. Relative paths start in ``folder``.

    A name is one that :func:`adducir.models.sources.model_source` takes; two of them with a comma
    between, for queries and for documents (as DPR has them); the folder of an encoder that Adducir
    trained, or its recipe, ``encoders/X.yaml``; or another kind of encoder, with a colon behind it.
    """
    kind, colon, base = name.partition(":")
    if colon and kind in ENCODERS:
        none = ModelSource(name)
        texts = ENCODERS.make(kind, {"base": base} if base else {})
        return EncoderSource(name, none, none, texts=texts)
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
    model = ModelSource(name, path)
    return EncoderSource(name, model, model, path, Settings.load(path))
