"""What a model is and how it would be used, in a few lines, without opening its weights."""

from collections.abc import Callable, Iterator

from adducir.core.errors import AdducirError
from adducir.encoders.kinds import described, encoder_source
from adducir.models.folders import look
from adducir.models.loading import load_config
from adducir.models.sources import weight_files
from adducir.rerankers.recipe import open_reranker


def model_lines(name: str) -> Iterator[str]:
    """Kind, use, statements with their sources, dimensions, identity, and what is missing.

    Raises:
        InputError: It is not a model.
    """
    bare = (
        name.partition(":")[2] if name.count(":") == 1 and "/" not in name.split(":")[0] else name
    )
    source = encoder_source(bare).query
    seen = look(source)
    yield f"{name}: {seen.title} ({seen.kind})"
    yield seen.use
    if seen.kind in ("encoder", "transformer", "masked-lm", "causal-lm"):
        yield from _tried("as an encoder", lambda: described(encoder_source(bare)))
    if seen.kind not in ("encoder", "transformer", "masked-lm", "sparse", "head"):
        yield from _tried("as a reranker", lambda: _reranker(name))
    config = load_config(source).get_text_config()
    sizes = {"hidden size": "hidden_size", "layers": "num_hidden_layers"}
    sizes |= {"positions": "max_position_embeddings", "vocabulary": "vocab_size"}
    counts = {key: getattr(config, attribute, None) for key, attribute in sizes.items()}
    yield ", ".join(f"{key} {value:,}" for key, value in counts.items() if value)
    yield from _tried(
        "weights", lambda: ", ".join(path.name for path in weight_files(source.local()))
    )
    yield f"identity: {source.identity()}"


def _reranker(name: str) -> str:
    reranker = open_reranker(name)
    return f"{reranker.recipe.model}, score: {reranker.scale}. {reranker.statement}".strip()


def _tried(label: str, find: Callable[[], str]) -> Iterator[str]:
    try:
        yield f"{label}: {find()}"
    except AdducirError as error:
        yield f"{label}: no, {error.what} {error.hint or ''}".strip()
