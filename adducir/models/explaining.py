"""What libraries raise and print while they read a model's files, made one error for the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adducir.core.errors import AdducirError, InputError, MachineError


@contextmanager
def explaining(what: str, folder: Path) -> Iterator[None]:
    """Make one error of whatever a library says of a damaged file, and nothing else of its talk.

    Args:
        what: What is read: ``tokenizer``, ``model``, ...

    Raises:
        InputError: It cannot be read.
        MachineError: It needs a package that is not installed.
    """
    try:
        with _quiet():
            yield
    except (AdducirError, MemoryError):
        raise
    except ImportError as error:
        raise MachineError(f"its {what} needs a package: {_first(error)}.", path=folder) from error
    except Exception as error:
        # pydantic's, safetensors', huggingface_hub's, KeyErrors, RecursionErrors ...: no list of
        # what four libraries raise for damaged files would stay whole.
        raise _unreadable(what, folder, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of tokenizers; it cannot be imported
            raise
        raise _unreadable(what, folder, error) from error


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


def _unreadable(what: str, folder: Path, error: BaseException) -> InputError:
    return InputError(
        f"its {what} cannot be loaded: {_first(error)}.",
        path=folder,
        hint="A file is damaged, or made for something else: fetch or build it again.",
    )


def _first(error: BaseException) -> str:
    """The first line of what an error says."""
    lines = str(error).strip().splitlines()
    first = lines[0].rstrip(".:")[:300] if lines else type(error).__name__
    return f"there is no {first}" if isinstance(error, KeyError) else first
