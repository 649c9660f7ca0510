"""The data of a study of grounded generation: files of contexts and passages, or arguments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.many_texts import TextFile
from adducir.core.recipe import Recipe
from adducir.corpora.documents import refuse_duplicates
from adducir.corpora.sources import file_path, open_corpus, source_path
from adducir.studies.grounded_generation.arguments import ArgumentsRecipe, build_bed
from adducir.studies.grounded_generation.contexts import GroundedContext, read_contexts
from adducir.studies.grounded_generation.hindsight.recipe import GuideRecipe
from adducir.training.recipe import Several, listed

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Problem:
    """Contexts and passages.

    Attributes:
        parts: The numbers of the contexts of ``train``, ``validation`` and ``test``.
        relevant: By group, how many passages are equally relevant; empty where that is not known.
        pages: The Wikipedia pages of passages by docno, where they have a ``wikipedia_id``.
    """

    contexts: Sequence[GroundedContext]
    parts: Mapping[str, NDArray[np.int64]]
    docnos: Sequence[str]
    passages: Sequence[str]
    relevant: Mapping[str, int]
    pages: Mapping[str, str] = field(default_factory=dict)

    def texts(self, guide: GuideRecipe) -> dict[str, Sequence[str]]:
        """What the retriever reads of contexts, what the guide does, the passages."""
        hindsight = [guide.query(one.input, one.target) for one in self.contexts]
        inputs = [one.input for one in self.contexts]
        return {"inputs": inputs, "hindsight": hindsight, "passages": self.passages}

    def contexts_of(self, parts: Sequence[str]) -> NDArray[np.int64]:
        return np.concatenate([self.parts[part] for part in parts])


class DataRecipe(Recipe):
    """Contexts and passages: files of both, or a file of arguments from which they are made."""

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
    """A data set, whose texts are read when they are needed; another process opens it anew."""

    def __init__(self, recipe: DataRecipe, folder: Path, identity: str = "") -> None:
        self.recipe, self.folder = recipe, folder
        self.held: tuple[Any, Any] = None, None  # what several steps use, with its key
        self._problem: Problem | None = None
        self._bed = recipe.bed or ArgumentsRecipe()
        if recipe.arguments:
            self._arguments = file_path(recipe.arguments, folder)
            digest = source_digest(self._arguments)
            self.identity = fingerprint([digest, self._bed.model_dump(mode="json")])
        else:
            with gathering() as each:
                corpus = each(lambda: open_corpus(source_path(recipe.passages, folder)))
                digests = {
                    part: [each(partial(source_digest, path)) for path in self._files(part)]
                    for part in PARTS
                }
            if corpus is None:
                raise InputError("the passages cannot be read.", path=folder)
            self._corpus = corpus
            self.identity = fingerprint([corpus.identity(), recipe.title, digests])
        if identity and identity != self.identity:
            hint = "Run this again."
            raise InputError("the data were changed meanwhile.", path=folder, hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return GroundedData, (self.recipe, self.folder, self.identity)

    def _files(self, part: str) -> Iterator[Path]:
        for name in listed(getattr(self.recipe, part)):
            yield file_path(name, self.folder)

    def problem(self) -> Problem:
        if self._problem is None:
            self._problem = self._of_arguments() if self.recipe.arguments else self._of_files()
        return self._problem

    def _of_arguments(self) -> Problem:
        passages, contexts, relevant = build_bed(self._arguments, self._bed)
        empty = [part for part, share in self._bed.shares.items() if share and not contexts[part]]
        if empty:
            raise InputError(
                f"no conclusion fell into {' and '.join(empty)}.",
                path=self._arguments,
                hint="Take another `seed` or other `shares` of the `bed`, or more arguments.",
            )
        every = [one for part in PARTS for one in contexts.get(part, ())]
        homes = dict.fromkeys((one.id for one in every), self._arguments)
        if len(homes) < len(every):
            raise InputError("two arguments have one docno.", path=self._arguments)
        texts = [*passages], [*passages.values()]
        return self._checked(Problem(every, _parts(contexts), *texts, relevant), homes)

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
        every = [one for some in contexts.values() for one in some]
        problem = Problem(every, _parts(contexts), docnos, passages, {}, pages)
        return self._checked(problem, homes)

    def _checked(self, problem: Problem, homes: Mapping[str, Path]) -> Problem:
        """The problem, if it can be computed with; ``homes`` are the files of contexts, by id."""
        lacking = {docno for one in problem.contexts for docno in one.gold}.difference(
            problem.docnos
        )
        for context in problem.contexts:
            if docno := next((one for one in context.gold if one in lacking), ""):
                raise InputError(
                    f"the gold passage {docno!r} of the context {context.id!r} is not in the "
                    "corpus.",
                    path=homes[context.id],
                    hint=f"The corpus is {self.recipe.passages}.",
                )
        if not len(problem.parts["test"]):
            raise InputError("there is no context to test on.", path=self.folder)
        for number in problem.contexts_of(PARTS[:2]):
            context = problem.contexts[number]
            if not context.target:
                raise InputError(
                    f"the context {context.id!r} has no target, and is for training or validation.",
                    path=homes[context.id],
                    hint="Leave it out, or name its file as `test` only.",
                )
        return problem


def _parts(contexts: Mapping[str, Sequence[GroundedContext]]) -> dict[str, NDArray[np.int64]]:
    ends = np.cumsum([0, *(len(contexts.get(part, ())) for part in PARTS)])
    return {part: np.arange(ends[n], ends[n + 1]) for n, part in enumerate(PARTS)}
