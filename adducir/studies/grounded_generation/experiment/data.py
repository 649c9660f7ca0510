"""The data of a study of grounded generation: files of contexts and passages, or arguments.

With arguments, the input x is the conclusion and the passages are the premises, each truncated; the
target y is a sentence of one premise with words dropped at random, and that passage is the gold
one. So a retriever that sees only x finds it among those of its conclusion only by chance:
Success@k is at most min(1, k / passages of the conclusion). Content words of x can be replaced by
nonce words: the relation of x to its passages must then be learned.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.many_texts import TextFile
from adducir.core.planning import reads
from adducir.core.recipe import Recipe, Several, as_tuple
from adducir.corpora.documents import refuse_duplicates
from adducir.corpora.reading import DocnoReading
from adducir.corpora.records import parsed_as, read_values
from adducir.corpora.sentences import sentence_bounds
from adducir.corpora.sources import file_path, source_path
from adducir.studies.grounded_generation.hindsight.recipe import GuideRecipe
from adducir.studies.grounded_generation.texts import GroundedContext, read_contexts
from adducir.training.data import DEFAULT_SHARES, PARTS, Shares, part_of

_READ = (*PARTS, "hidden")
_FREQUENT = 100  # this many of the passages' most frequent words carry no content


@pydantic_dataclass(frozen=True, slots=True)
class _Argument:
    docno: str
    conclusion: str
    premise: str


class ArgumentsRecipe(Recipe):
    """How examples are built from arguments; docs/hindsight.md has the keys."""

    words: Annotated[int, Field(ge=1)] = 150
    """Words per passage."""
    least: Annotated[int, Field(ge=1)] = 3
    """Minimum passages per conclusion."""
    sentences: Annotated[int, Field(ge=1)] = 1
    """Maximum sentences per passage that become targets."""
    shortest: Annotated[int, Field(ge=1)] = 8
    """Minimum words of a passage and of such a sentence."""
    dropped: Annotated[float, Field(ge=0, lt=1)] = 0.4
    """The probability that a word of a target is dropped."""
    nonce: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability that a nonce word replaces a content word of the input."""
    shares: Shares = DEFAULT_SHARES
    """The share of the conclusions in each split."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    """The seed of the random draws."""


class Bed(NamedTuple):
    """Texts by docno, contexts by split, and how many passages are equally relevant to a group."""

    passages: dict[str, str]
    contexts: dict[str, list[GroundedContext]]
    relevant: dict[str, int]


def build_bed(path: Path, recipe: ArgumentsRecipe) -> Bed:
    """Build passages and contexts from a file of arguments: docno, conclusion and premise.

    Equal premises are one passage. A conclusion's split depends only on it and the seed.
    """
    passages: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    texts: set[str] = set()
    for _, argument in read_values(path, parsed_as(_Argument)):
        words = argument.premise.split()[: recipe.words]
        text = " ".join(words)
        if len(words) >= recipe.shortest and text not in texts:
            texts.add(text)
            passages[argument.docno] = text
            conclusion = " ".join(argument.conclusion.lower().split())
            groups.setdefault(conclusion, []).append(argument.docno)
    groups = {name: docnos for name, docnos in groups.items() if len(docnos) >= recipe.least}
    if not groups:
        raise InputError(f"none of the conclusions has {recipe.least} passages.", path=path)
    draw = np.random.default_rng(recipe.seed)
    inputs = _inputs(groups, passages, recipe.nonce, draw)
    contexts: dict[str, list[GroundedContext]] = {name: [] for name in recipe.shares}
    for name, docnos in groups.items():
        some = contexts[part_of(name, recipe.shares, recipe.seed)]
        for docno in docnos:
            text = passages[docno]
            sentences = [text[first:past].split() for first, past in sentence_bounds(text)]
            long = [words for words in sentences if len(words) >= recipe.shortest]
            for number, place in enumerate(draw.permutation(len(long))[: recipe.sentences]):
                kept = [word for word in long[place] if draw.random() >= recipe.dropped]
                target, key = " ".join(kept or long[place][:1]), f"{docno}-{number}"
                some.append(GroundedContext(key, inputs[name], target, (docno,), name))
    return Bed(passages, contexts, {name: len(docnos) for name, docnos in groups.items()})


def _inputs(
    conclusions: Iterable[str], passages: dict[str, str], nonce: float, draw: np.random.Generator
) -> dict[str, str]:
    """The input for each conclusion: its words, some replaced by words of three syllables."""
    counts = Counter(word for text in passages.values() for word in text.lower().split())
    frequent = {word for word, _ in counts.most_common(_FREQUENT)}
    names: dict[str, str] = {}
    inputs = {}
    for conclusion in conclusions:
        words = conclusion.split()
        for place, word in enumerate(words):
            bare = word.strip(".,;:!?\"'()[]")
            if bare and bare not in frequent and draw.random() < nonce:
                while bare not in names:
                    text = "".join(
                        "bdfgklmnprstvz"[draw.integers(14)] + "aeiou"[draw.integers(5)]
                        for _ in range(3)
                    )
                    if text not in names.values():
                        names[bare] = text
                words[place] = names[bare]
        inputs[conclusion] = " ".join(words)
    return inputs


@dataclass(frozen=True)
class Problem:
    """Contexts and passages."""

    contexts: Sequence[GroundedContext]
    parts: Mapping[str, NDArray[np.int64]]  # their numbers by part
    docnos: Sequence[str]
    passages: Sequence[str]
    relevant: Mapping[str, int]  # passages that are equally relevant to a group, if known
    pages: Mapping[str, str] = field(default_factory=dict)  # the ``wikipedia_id`` of passages

    def texts(self, guide: GuideRecipe) -> dict[str, Sequence[str]]:
        """The contexts as read by the retriever and by the guide, and the passages."""
        hindsight = [guide.query(context.input, context.target) for context in self.contexts]
        inputs = [context.input for context in self.contexts]
        return {"inputs": inputs, "hindsight": hindsight, "passages": self.passages}

    def pages_of(self, docnos: Iterable[str]) -> tuple[str, ...]:
        """The pages of passages, each once."""
        return tuple(dict.fromkeys(self.pages[name] for name in docnos if name in self.pages))

    def contexts_of(self, parts: Sequence[str]) -> NDArray[np.int64]:
        return np.concatenate([self.parts[part] for part in parts])


class DataRecipe(DocnoReading):
    """Contexts and passages: files of both, or a file of arguments to build them from.

    Answers to ``hidden`` contexts, such as KILT's test sets, are written for KILT's server; they
    are not measured.
    """

    passages: str = ""
    """The corpus of passages, with `title` and `text`."""
    title: bool = True
    """Whether passages' titles are read."""
    train: Several = ()
    """Files of contexts to train on."""
    validation: Several = ()
    """Files of contexts for early stopping."""
    test: Several = ()
    """Files of contexts to evaluate on."""
    hidden: Several = ()
    """Files of contexts without public targets."""
    arguments: str = ""
    """A file of arguments, from which contexts and passages are made."""
    bed: ArgumentsRecipe | None = None
    """How they are made."""

    @model_validator(mode="after")
    def _fits(self) -> "DataRecipe":
        if bool(self.passages) == bool(self.arguments):
            raise ValueError("one of `passages` and `arguments` is needed")
        if self.bed is not None and not self.arguments:
            raise ValueError("`bed` has no effect without `arguments`")
        named = [part for part in _READ if as_tuple(getattr(self, part))]
        if self.arguments and named:
            raise ValueError(f"`{named[0]}` has no effect with `arguments`")
        if self.passages and "test" not in named:
            raise ValueError("files of contexts to `test` on are needed")
        return self


class GroundedData:
    """A data set, whose texts are read on demand; other processes reopen it."""

    def __init__(self, recipe: DataRecipe, folder: Path, identity: str = "") -> None:
        self.recipe, self.folder = recipe, folder
        self.held: tuple[Any, Any] = None, None  # shared by several steps, with its key
        self._problem: Problem | None = None
        self._bed = recipe.bed or ArgumentsRecipe()
        if recipe.arguments:
            self._arguments = file_path(recipe.arguments, folder)
            digest = source_digest(self._arguments)
            self.identity = fingerprint([digest, self._bed.model_dump(mode="json")])
        else:
            with gathering() as opening:
                corpus = opening(lambda: recipe.opened(source_path(recipe.passages, folder)))
                digests = {
                    part: [opening(partial(source_digest, path)) for path in self._files(part)]
                    for part in (_READ if recipe.hidden else PARTS)
                }
            if corpus is None:
                raise InputError("the passages cannot be read.", path=folder)
            self._corpus = corpus
            self.identity = fingerprint([corpus.identity(), recipe.title, digests])
        if identity and identity != self.identity:
            hint = "Run this again."
            raise InputError("the data have changed meanwhile.", path=folder, hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return GroundedData, (self.recipe, self.folder, self.identity)

    def _files(self, part: str) -> Iterator[Path]:
        for name in as_tuple(getattr(self.recipe, part)):
            yield file_path(name, self.folder)

    def inputs(self, *parts: str) -> list[str]:
        """The contexts' inputs; none in a dry run that does not read their files."""
        paths = [path for part in parts for path in self._files(part)]
        if not reads(*([self._arguments] if self.recipe.arguments else paths)):
            return []
        if self.recipe.arguments:
            problem = self.problem()
            return [problem.contexts[number].input for number in problem.contexts_of(parts)]
        return [context.input for path in paths for context in read_contexts(path)]

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
                hint="Use another `seed` or other `shares` of the `bed`, or more arguments.",
            )
        all_contexts = [context for part in PARTS for context in contexts.get(part, ())]
        homes = dict.fromkeys((context.id for context in all_contexts), self._arguments)
        if len(homes) < len(all_contexts):
            raise InputError("two arguments share a docno.", path=self._arguments)
        texts = [*passages], [*passages.values()]
        return self._checked(Problem(all_contexts, _parts(contexts), *texts, relevant), homes)

    def _of_files(self) -> Problem:
        contexts: dict[str, list[GroundedContext]] = {part: [] for part in _READ}
        homes: dict[str, Path] = {}
        for part, path in [(name, path) for name in _READ for path in self._files(name)]:
            for context in read_contexts(path):
                if context.id in homes:
                    raise InputError(
                        f"the context {context.id!r} of {part} was already read from "
                        f"{homes[context.id]}.",
                        path=path,
                        hint="A context must be in only one part: do not test on training data.",
                    )
                homes[context.id] = path
                contexts[part].append(context)
        fields = ("title", "text") if self.recipe.title else ("text",)
        docnos, passages, pages = list[str](), TextFile(self.folder), dict[str, str]()
        for document in refuse_duplicates(self._corpus):
            texts = (document.fields.get(name, "") for name in fields)
            docnos.append(document.docno)
            passages.append(" | ".join(text for text in texts if text))
            if page := document.fields.get("wikipedia_id"):
                pages[document.docno] = page
        if contexts["hidden"] and not pages:
            raise InputError(
                "the passages lack `wikipedia_id`, which KILT needs of `hidden` contexts.",
                path=source_path(self.recipe.passages, self.folder),
                hint="Build them with `adducir grounded-generation passages`.",
            )
        all_contexts = [context for some in contexts.values() for context in some]
        problem = Problem(all_contexts, _parts(contexts), docnos, passages, {}, pages)
        return self._checked(problem, homes)

    def _checked(self, problem: Problem, homes: Mapping[str, Path]) -> Problem:
        """The problem, validated; ``homes`` are the files of contexts, by id."""

        def refuse(context: GroundedContext, message: str, hint: str) -> NoReturn:
            raise InputError(message, path=homes[context.id], hint=hint)

        gold = {docno for context in problem.contexts for docno in context.gold}
        lacking = gold.difference(problem.docnos)
        for context in problem.contexts:
            if docno := next((docno for docno in context.gold if docno in lacking), ""):
                where = f"of the context {context.id!r} is not in the corpus"
                hint = f"The corpus is {self.recipe.passages}."
                refuse(context, f"the gold passage {docno!r} {where}.", hint)
        if not len(problem.parts["test"]):
            raise InputError("contexts to test on are missing.", path=self.folder)
        learned = [problem.contexts[number] for number in problem.contexts_of(PARTS[:2])]
        for context in learned:
            if not context.target:
                message = f"the context {context.id!r} for training or validation lacks a target."
                refuse(context, message, "Remove it, or use its file only as `test`.")
        groups = {context.group for context in learned} - {None}
        for context in (problem.contexts[number] for number in problem.parts["test"]):
            if context.group in groups:
                where = f"of the context {context.id!r} is also in `train` or `validation`"
                hint = "Contexts of a group belong in one part: do not test on training data."
                refuse(context, f"the group {context.group!r} {where}.", hint)
        return problem


def _parts(contexts: Mapping[str, Sequence[GroundedContext]]) -> dict[str, NDArray[np.int64]]:
    ends = np.cumsum([0, *(len(contexts.get(part, ())) for part in _READ)])
    return {part: np.arange(ends[n], ends[n + 1]) for n, part in enumerate(_READ)}
