"""The content of texts as a digest, so that a changed corpus is never mistaken."""

import hashlib
from collections.abc import Iterable


def digest_of(texts: Iterable[str]) -> str:
    """The SHA-256 of a sequence of texts, in hex; each text is preceded by its length."""
    hasher = hashlib.sha256()
    for text in texts:
        data = text.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()
