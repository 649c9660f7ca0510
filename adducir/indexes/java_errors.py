"""What Java's exceptions mean to the user of an index."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from adducir.core.errors import AdducirError, ArtifactError, MachineError
from adducir.indexes.jvm import message_of

_REBUILD = "Build it again with 'adducir index --rebuild'."
_OTHER_LUCENE = (
    "IndexFormatTooOld",
    "IndexFormatTooNew",
    "Could not load codec",
    "An SPI class of type org.apache.lucene.codecs",
)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn a Java exception about the index in ``path`` into an error that says what to do.

    Raises:
        ArtifactError: No index, a damaged one, or one of another Lucene.
        MachineError: No disk space or not enough heap.
    """
    try:
        yield
    except AdducirError:
        raise
    except Exception as error:
        if type(error).__name__ != "JavaException" and not isinstance(error, UnicodeEncodeError):
            raise
        raise _meaning(error, path) from error


def _meaning(error: Exception, path: Path) -> AdducirError:
    text = f"{getattr(error, 'classname', '')} {message_of(error)}"
    if "No space left on device" in text:
        return MachineError(
            "no space is left on the disk.", path=path, hint="Free some, then run this again."
        )
    if "OutOfMemoryError" in text:
        return MachineError(
            "Java's heap is too small for this.",
            path=path,
            hint="Set ADDUCIR_JAVA_HEAP to more megabytes than 'adducir doctor' shows.",
        )
    if any(sign in text for sign in _OTHER_LUCENE):
        return ArtifactError("this index was made by another Lucene.", path=path, hint=_REBUILD)
    if "InvalidPathException" in text or isinstance(error, UnicodeEncodeError):
        return MachineError(
            "Java cannot read this path: the locale's encoding lacks a character of it.",
            path=path,
            hint="Set a locale of UTF-8, such as LC_ALL=C.UTF-8.",
        )
    if "IndexNotFoundException" in text:
        return ArtifactError("this folder holds no Lucene index.", path=path, hint=_REBUILD)
    return ArtifactError(f"Lucene cannot use this index: {text.strip()}.", path=path, hint=_REBUILD)
