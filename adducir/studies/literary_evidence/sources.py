"""Books and works of criticism, from files to sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.corpora.books import TEXT_ENDINGS, body, read_plain, stem_of, title_of
from adducir.corpora.local import skipped_note
from adducir.corpora.sentences import literary_sentences
from adducir.studies.literary_evidence.citations import without_citations
from adducir.studies.literary_evidence.pages import without_pages
from adducir.studies.literary_evidence.wrapping import paragraphs


@dataclass(frozen=True, slots=True)
class Source:
    """A book or a work of criticism.

    Attributes:
        name: The file's name without its ending; names the book in every output.
        title: The title in Project Gutenberg's header, or the name.
        sentences: Its sentences, in order.
        artefacts: Page lines, citations and note marks that were taken out.
    """

    name: str
    title: str
    sentences: list[str]
    artefacts: int = 0


def text_files(paths: Iterable[Path]) -> list[Path]:
    """The text files among and directly inside ``paths``, by name.

    Of a folder, what else is not hidden is reported as not read.

    Raises:
        InputError: A path does not exist, a folder has no .txt file, or two files have one name.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError("there is no such file or folder.", path=path)
        inside = [path]
        if path.is_dir():
            visible = sorted(one for one in path.iterdir() if not one.name.startswith("."))
            inside = [one for one in visible if is_text(one)]
            if not inside:
                raise InputError("there is no .txt file in this folder.", path=path)
            if others := [one for one in visible if one not in inside]:
                progress().note(skipped_note(path, others, "not a .txt file directly in it"))
        found += inside
    names: dict[str, Path] = {}
    for path in sorted(found, key=stem_of):
        other = names.setdefault(stem_of(path), path)
        if other != path:
            raise InputError(
                f"its name {stem_of(path)!r} is that of {other} as well.",
                path=path,
                hint="Rename one: names distinguish books.",
            )
    return list(names.values())


def is_text(path: Path) -> bool:
    """Whether a path is a visible text file."""
    return path.is_file() and path.name.endswith(TEXT_ENDINGS) and not path.name.startswith(".")


def read_book(path: Path) -> Source:
    """Read a primary source: Gutenberg's frame off, lines unwrapped, sentences cut.

    Raises:
        InputError: The file cannot be read or has no text.
    """
    text = read_plain(path)
    plain = (without_citations(part)[0] for part in paragraphs(body(text, path)))
    return _source(path, text, literary_sentences(plain))


def read_work(path: Path) -> Source:
    """Read a work of criticism: as a book, and page furniture and citations taken out.

    Raises:
        InputError: As :func:`read_book`.
    """
    text = read_plain(path)
    lines, removed = without_pages(body(text, path))
    plain: list[str] = []
    for paragraph in paragraphs(lines):
        cleaned, count = without_citations(paragraph)
        plain.append(cleaned)
        removed += count
    return _source(path, text, literary_sentences(plain), removed)


def _source(path: Path, text: str, sentences: Sequence[str], artefacts: int = 0) -> Source:
    if not sentences:
        raise InputError("there is no sentence in this file.", path=path)
    name = stem_of(path)
    return Source(name, title_of(text) or name, list(sentences), artefacts)
