"""Whether what stands somewhere may be replaced: one rule for everything that is written.

What a command writes, the same command may write again: another command's work, the same command's
work from other sources, and what Adducir did not make are replaced only where the user says so
(``--force``, :func:`replacing_anything`). Other settings of the same sources make the same thing
again. Artifacts show their origin in their manifests, runs in their metadata, and other files in
the user's register (:mod:`adducir.core.register`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import ArtifactError

ELSEWHERE = "Choose another place, or replace it with --force."

_anything: ContextVar[bool] = ContextVar("replacing anything", default=False)


@contextmanager
def replacing_anything(wanted: bool = True) -> Iterator[None]:
    """Inside the block, replace whatever stands where something is written: ``--force``."""
    token = _anything.set(wanted)
    try:
        yield
    finally:
        _anything.reset(token)


def may_replace_anything() -> bool:
    """Whether a block of :func:`replacing_anything` is open."""
    return _anything.get()


@dataclass(frozen=True)
class Origin:
    """What made something, and from what.

    Attributes:
        builder: The command, or the kind of artifact.
        sources: Its principal sources by their role: paths in full, or ids of collections.
    """

    builder: str
    sources: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        builder: str,
        sources: Mapping[str, Iterable[Path | str]],
        folder: Path | None = None,
    ) -> "Origin":
        """The origin, with paths in full, or relative to ``folder`` where that is given."""
        named = {
            role: tuple(sorted(source_name(one, folder) for one in ones))
            for role, ones in sources.items()
        }
        return cls(builder, named)

    def is_same(self, other: "Origin") -> bool:
        """Whether both have one builder, and share a source in each role that both know."""
        if self.builder != other.builder:
            return False
        for role in self.sources.keys() & other.sources.keys():
            mine, theirs = set(self.sources[role]), set(other.sources[role])
            if mine.isdisjoint(theirs) and (mine or theirs):
                return False
        return True

    def described(self) -> str:
        """The sources, to be read by people: ``corpus a.jsonl, topics b.xml``."""
        named = [f"{role} {' and '.join(ones)}" for role, ones in self.sources.items() if ones]
        return ", ".join(named)


def source_name(source: Path | str, folder: Path | None = None) -> str:
    """A source's name for an origin: of a path its real one, of another thing (an id) itself."""
    if not os.path.exists(source):  # noqa: PTH110 - an id is no path
        return str(source)
    real = os.path.realpath(source)
    if folder is None:
        return real
    try:
        return Path(os.path.relpath(real, os.path.realpath(folder))).as_posix()
    except ValueError:  # on another drive
        return real


def refuse_other(path: Path, what: str, wanted: Origin, found: Origin | None) -> None:
    """Refuse to replace what another origin has, unless anything may be replaced.

    Args:
        path: Where it stands.
        what: What it is: ``run``, ``file``, ``lucene-index``.
        wanted: The origin of what is to be written.
        found: The origin of what stands there; None where it is not known.

    Raises:
        ArtifactError: It was not created by the same builder from the same sources.
    """
    if may_replace_anything() or (found is not None and found.is_same(wanted)):
        return
    if found is None:
        raise ArtifactError(
            f"this {what} was not created by this command, or was changed since: it is not "
            "replaced.",
            path=path,
            hint=ELSEWHERE,
        )
    of = f" from {found.described()}" if found.described() else ""
    if found.builder == wanted.builder:
        how = f"{of}, not from {wanted.described()}"
    else:
        how = f" by {found.builder}{of}, not by this command"
    raise ArtifactError(
        f"this {what} was created{how}: it is not replaced.", path=path, hint=ELSEWHERE
    )
