"""The data of a study of grounded generation: files of contexts and passages, or arguments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from pydantic import model_validator

from adducir.core.absent import gathering
from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.names import TextFile
from adducir.core.recipe import Recipe
from adducir.corpora.documents import Corpus, refuse_duplicates
from adducir.corpora.references import file_path, source_path
from adducir.corpora.sources import open_corpus
from adducir.studies.grounded_generation.arguments import ArgumentsRecipe, build_bed
from adducir.studies.grounded_generation.contexts import GroundedContext, read_contexts
from adducir.studies.grounded_generation.hindsight.building import Problem
from adducir.training.recipe import Several, listed

PARTS = ("train", "validation", "test")


class DataRecipe(Recipe):
    """Contexts and passages: files of both, or a file of arguments of which they are made.

    Attributes:
        passages: The corpus: a source, as `adducir index` takes it. Fields ``title`` and ``text``
            are read.
        title: Whether a passage's title is read.
        train: Files of contexts to learn from.
        validation: For early stopping.
        test: What is measured.
        arguments: A file of arguments.
        bed: How contexts are made of them.
    """

    passages: str = ""
    title: bool = True
    train: Several = ()
    validation: Several = ()
    test: Several = ()
    arguments: str = ""
    bed: ArgumentsRecipe | None = None

    @model_validator(mode="after")
    def _fits(self) -> "DataRecipe":
        if bool(self.passages) == bool(self.arguments):
            raise ValueError("one of `passages` and `arguments` is needed")
        if self.bed is not None and not self.arguments:
            raise ValueError("`bed` stands beside `arguments` only")
        named = [part for part in PARTS if listed(getattr(self, part))]
        if self.arguments and named:
            raise ValueError(f"`{named[0]}` has no effect beside `arguments`")
        if self.passages and "test" not in named:
            raise ValueError("files of contexts to `test` on are needed")
        return self


class GroundedData:
    """A data set, whose texts are read when they are needed."""

    def __init__(self, recipe: DataRecipe, folder: Path) -> None:
        self.recipe, self.folder = recipe, folder
        self._problem: Problem | None = None
        if recipe.arguments:
            self._arguments = file_path(recipe.arguments, folder)
            digest = source_digest(self._arguments)
            self.identity = fingerprint([digest, self._bed.model_dump(mode="json")])
            return
        with gathering() as each:
            corpus = each(partial(_corpus, recipe.passages, folder))
            digests = {
                part: [each(partial(source_digest, path)) for path in self._files(part)]
                for part in PARTS
            }
        if corpus is None:
            raise InputError("the passages cannot be read.", path=folder)
        self._corpus = corpus
        self.identity = fingerprint([corpus.identity(), recipe.title, digests])

    @property
    def _bed(self) -> ArgumentsRecipe:
        return self.recipe.bed or ArgumentsRecipe()

    def _files(self, part: str) -> Iterator[Path]:
        for name in listed(getattr(self.recipe, part)):
            yield file_path(name, self.folder)

    def problem(self) -> Problem:
        """Contexts and passages, read once."""
        if self._problem is None:
            self._problem = self._of_arguments() if self.recipe.arguments else self._of_files()
        return self._problem

    def _of_arguments(self) -> Problem:
        bed = build_bed(self._arguments, self._bed)
        contexts = {part: bed.contexts.get(part, []) for part in PARTS}
        empty = [part for part, share in self._bed.shares.items() if share and not contexts[part]]
        if empty:
            raise InputError(
                f"no conclusion fell into {' and '.join(empty)}.",
                path=self._arguments,
                hint="Take another `seed` or other `shares` of the `bed`, or more arguments.",
            )
        docnos, texts = [*bed.passages], [*bed.passages.values()]
        return _problem(contexts, docnos, texts, bed.relevant, self._arguments)

    def _of_files(self) -> Problem:
        contexts: dict[str, list[GroundedContext]] = {part: [] for part in PARTS}
        homes: dict[str, Path] = {}
        for part, path in [(name, path) for name in PARTS for path in self._files(name)]:
            for one in read_contexts(path):
                if one.id in homes:
                    raise InputError(
                        f"the context {one.id!r} of {part} was read from {homes[one.id]} already.",
                        path=path,
                        hint="A context is in one part only: test on none that is learned from.",
                    )
                homes[one.id] = path
                contexts[part].append(one)
        fields = ("title", "text") if self.recipe.title else ("text",)
        docnos, passages, pages = list[str](), TextFile(self.folder), dict[str, str]()
        for document in refuse_duplicates(self._corpus):
            texts = (document.fields.get(name, "") for name in fields)
            docnos.append(document.docno)
            passages.append(" | ".join(text for text in texts if text))
            if page := document.fields.get("wikipedia_id"):
                pages[document.docno] = page
        problem = _problem(contexts, docnos, passages, {}, Path(self.recipe.passages), homes)
        return replace(problem, pages=pages)


def _corpus(name: str, folder: Path) -> Corpus:
    return open_corpus(source_path(name, folder))


def _problem(
    contexts: dict[str, list[GroundedContext]],
    docnos: Sequence[str],
    passages: Sequence[str],
    relevant: dict[str, int],
    path: Path,
    homes: Mapping[str, Path] = MappingProxyType({}),
) -> Problem:
    """The problem; ``path`` is where passages come from, ``homes`` the files of contexts, by id."""
    every = [one for part in PARTS for one in contexts[part]]
    if len({one.id for one in every}) < len(every):
        raise InputError("a context is in two parts, or twice in one.", path=path)
    lacking = {docno for one in every for docno in one.gold}.difference(docnos)
    if lacking:
        context = next(one for one in every if lacking.intersection(one.gold))
        docno = next(docno for docno in context.gold if docno in lacking)
        raise InputError(
            f"the gold passage {docno!r} of the context {context.id!r} is not in the corpus.",
            path=homes.get(context.id, path),
            hint=f"The corpus is {path}.",
        )
    if not contexts["test"]:
        raise InputError("there is no context to test on.", path=path)
    if bare := next((one.id for part in PARTS[:2] for one in contexts[part] if not one.target), ""):
        raise InputError(
            f"the context {bare!r} has no target, and is for training or validation.",
            path=homes.get(bare, path),
            hint="Leave it out, or name its file as `test` only.",
        )
    ends = np.cumsum([0, *(len(contexts[part]) for part in PARTS)])
    parts = {part: np.arange(ends[n], ends[n + 1]) for n, part in enumerate(PARTS)}
    return Problem(every, parts, tuple(docnos), passages, relevant)
