"""The items that a recipe names, divided into those to learn from and those held out.

Items are read file by file and never held together. What is kept of them are the names of what must
not be in two parts: books, questions.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol, Self, TypeVar

from pydantic import Field, model_validator

from adducir.core.absent import gathering
from adducir.core.errors import InputError, UsageError
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.names import Numbered
from adducir.core.recipe import Recipe
from adducir.corpora.references import file_path
from adducir.corpora.splitting import DEFAULT_SHARES, check_shares, part_of
from adducir.training.recipe import Several, listed

Part = Literal["train", "validation", "test"]


class GroupShares(Recipe):
    """How the groups of items are divided.

    Attributes:
        shares: The shares of the groups.
        seed: Of that division.
    """

    shares: dict[Part, float] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        try:
            check_shares(self.divided)
        except UsageError as error:
            raise ValueError(error.what.rstrip(".")) from error
        return self

    @property
    def divided(self) -> dict[str, float]:
        """The shares, default or not."""
        return {f"{name}": share for name, share in (self.shares or DEFAULT_SHARES).items()}


class DataPart(GroupShares):
    """The files to learn from.

    Attributes:
        train: Files of items.
        validation: Files of items; none of their groups may be in ``train``. Without them, groups
            of ``train`` are held out by ``shares``, or by name in ``held_out``.
        shares: The shares of the groups of ``train``; those of ``test`` are not looked at.
        held_out: The groups of ``validation`` and of ``test``, in place of ``shares``.
        without: Files of items whose groups are left out of training and validation: the books or
            questions that a study tests on.
    """

    train: Several
    validation: Several = ()
    without: Several = ()
    held_out: dict[Literal["validation", "test"], tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> "DataPart":
        if not listed(self.train):
            raise ValueError("`train` names no file")
        ways = ("validation", "shares", "held_out")
        given = [f"`{name}`" for name in ways if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{given[1]} has no effect beside {given[0]}")
        return self

    def part_of(self, name: str) -> str:
        """The part that a group of ``train`` is in."""
        if self.held_out:
            return next((part for part, some in self.held_out.items() if name in some), "train")
        return part_of(name, self.divided, self.seed)

    def files(self, folder: Path) -> dict[str, list[Path]]:
        """The files, by the keys that name them."""
        names = {"train": self.train, "validation": self.validation, "without": self.without}
        return {
            key: [file_path(name, folder) for name in listed(value)] for key, value in names.items()
        }

    def identity(self, folder: Path) -> dict[str, str]:
        """The fingerprints of the files, by the keys that name them.

        Raises:
            InputError: A file cannot be read; of all that are not at hand one error.
        """
        with gathering() as each:
            digests = {
                key: [each(partial(source_digest, path)) for path in paths]
                for key, paths in self.files(folder).items()
            }
        return {key: fingerprint(of_files) for key, of_files in digests.items()}

    def card(self, groups: str) -> dict[str, Any]:
        """What a model card shows of it; ``groups`` is what is kept apart."""
        divided: dict[str, Any] = {"validation": list(listed(self.validation))}
        if self.held_out:
            divided = {f"{groups} held out": self.held_out}
        elif not self.validation:
            divided = {f"shares of {groups}": self.divided, "seed of the division": self.seed}
        return {
            "training": list(listed(self.train)),
            **divided,
            f"{groups} left out": list(listed(self.without)),
        }


class Named(Protocol):
    """What has an id of its own."""

    @property
    def id(self) -> str:
        """The id."""


T = TypeVar("T", bound=Named)


class Division(Generic[T]):
    """The items of a recipe, each with its part; to be iterated over once.

    Args:
        part: What the recipe says.
        folder: Where relative paths start.
        read: Yields the items of a file.
        unit: The name by which items are divided.
        group: The name of what must not be in two parts, or is left out.
        groups: What these are, for messages.

    Attributes:
        read: The items so far.
        excluded: Of them, left out because their group is in a file of ``without``.
    """

    def __init__(
        self,
        part: DataPart,
        folder: Path,
        read: Callable[[Path], Iterator[T]],
        *,
        unit: Callable[[T], str],
        group: Callable[[T], str],
        groups: str,
    ) -> None:
        self.files = part.files(folder)
        self.read = self.excluded = 0
        self._part, self._read, self._groups = part, read, groups
        self._unit, self._group = unit, group

    def __iter__(self) -> Iterator[tuple[T, str]]:
        """Yield items with ``train``, ``validation`` or ``test``, which is of no use here.

        Raises:
            InputError: A file cannot be read, an id comes twice, or a group is in ``train`` and in
                ``validation``; the last two when all is read.
        """
        banned = {self._group(item) for item in self._all("without")}
        learnt: set[str] = set()
        homes: dict[str, str] = {}
        for item in self._kept("train", banned):
            if self._part.validation:
                learnt.add(self._group(item))
                yield item, "train"
                continue
            unit = self._unit(item)
            if unit not in homes:
                homes[unit] = self._part.part_of(unit)
            yield item, homes[unit]
        named = {one for some in self._part.held_out.values() for one in some}
        if unknown := named - homes.keys() - banned:
            raise InputError(
                f"there is none of the {self._groups} {min(unknown)!r} that are to be held out.",
                path=self.files["train"][0],
            )
        shared: set[str] = set()
        for item in self._kept("validation", banned):
            if self._group(item) in learnt:
                shared.add(self._group(item))
            yield item, "validation"
        if shared:
            raise InputError(
                f"{len(shared)} {self._groups} are in the training data as well, such as "
                f"{min(shared)!r}.",
                path=self.files["validation"][0],
                hint="A validation loss over what was memorised shows nothing: take others.",
            )

    def _kept(self, key: str, banned: set[str]) -> Iterator[T]:
        for item in self._all(key):
            self.read += 1
            if self._group(item) in banned:
                self.excluded += 1
            else:
                yield item

    def _all(self, key: str) -> Iterator[T]:
        return items_of(self.files[key], self._read)


def items_of(paths: Sequence[Path], read: Callable[[Path], Iterator[T]]) -> Iterator[T]:
    """Yield the items of files, which need ids of their own in all of them together.

    Args:
        read: Yields the items of a file, whose ids differ.

    Raises:
        InputError: An id comes twice.
    """
    ids, homes = Numbered(), array("q")
    for place, path in enumerate(paths):
        for item in read(path):
            if len(paths) > 1:
                number = ids.number(hash(item.id))
                if number < len(homes):
                    home = paths[homes[number]]
                    raise InputError(f"the id {item.id!r} is in {home} as well.", path=path)
                homes.append(place)
            yield item
