"""Loads what a model's folder holds: tokenizer and weights, from safetensors alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.models.sources import ModelSource
from adducir.study.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.tokenization_utils_tokenizers import TokenizersBackend


def load_tokenizer(source: ModelSource) -> "TokenizersBackend":
    """The model's tokenizer, a fast one: only those tell which characters a piece stands for.

    Truncation and padding that the files may ask for are off: what is cut, and how, is for the
    caller to say.

    Raises:
        InputError: It cannot be read, or there is no fast one.
        MachineError: The model cannot be fetched.
    """
    from transformers import AutoTokenizer
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    folder = source.local()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable("tokenizer", folder, error) from error
    if not isinstance(tokenizer, TokenizersBackend):
        raise InputError("its tokenizer has no fast version.", path=folder)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


def load_model(
    source: ModelSource, kind: str = "AutoModel", *, whole: bool = False, **options: Any
) -> "PreTrainedModel":
    """The model in single precision, in evaluation mode, on the CPU.

    Args:
        source: Where it comes from.
        kind: The class in transformers that is wanted, such as ``AutoModel``,
            ``AutoModelForSequenceClassification`` or ``T5ForConditionalGeneration``.
        whole: Refuse a folder that lacks weights of the model, where transformers would take
            random ones. The pooler of BERT and its like may be missing: nothing here reads it.
        options: Passed on to its ``from_pretrained``.

    Raises:
        InputError: The folder does not hold such a model.
        MachineError: The model cannot be fetched.
    """
    import torch
    import transformers
    from safetensors import SafetensorError

    folder = source.local()
    maker = getattr(transformers, kind)
    options = {"dtype": torch.float32, **options}
    try:
        with _quiet():
            model: PreTrainedModel
            model, told = maker.from_pretrained(
                folder,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise _unreadable("model", folder, error) from error
    missing = [name for name in told["missing_keys"] if not name.startswith("pooler.")]
    if whole and missing:
        raise InputError(
            f"it lacks {len(missing)} of the weights of a {type(model).__name__}, such as "
            f"{min(missing)}.",
            path=folder,
            mend="Is this a model of another kind?",
        )
    model.eval()  # type: ignore[no-untyped-call]
    return model


def longest_input(model: Any, tokenizer: Any) -> int:
    """The tokens that a model reads at most, special ones included."""
    positions = getattr(model.config, "max_position_embeddings", None) or 512
    # RoBERTa's positions begin behind its padding index.
    if getattr(model.config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
        positions -= model.config.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length))


class _quiet:  # noqa: N801 - reads as a statement
    """Keeps transformers' progress bars and its reports of missing heads off the terminal."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self._level = logging.get_verbosity()
        logging.set_verbosity(40)  # errors alone
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: object) -> None:
        from transformers.utils import logging

        logging.set_verbosity(self._level)


def _unreadable(what: str, folder: Path, error: Exception) -> InputError:
    lines = str(error).strip().splitlines()
    first = lines[0].rstrip(".") if lines else type(error).__name__
    return InputError(f"its {what} cannot be loaded: {first}.", path=folder)
