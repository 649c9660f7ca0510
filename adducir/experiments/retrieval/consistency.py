"""What the sections of a retrieval experiment must keep to among each other.

Every check gives an error for its place and goes on, so that one message can hold all of them.
"""

from collections.abc import Iterator

from adducir.core.recipe import ErrorDetail
from adducir.experiments.retrieval.study import Entries
from adducir.experiments.sections import Names, on_disk


def inconsistencies(recipe: Entries, names: Names) -> Iterator[ErrorDetail]:
    """Every error that lies between two entries of a file, other than systems' own.

    Args:
        recipe: What the file says; it may lack entries that have errors of their own.
        names: The names that the file defines.
    """
    for name, index in recipe.indexes.items():
        yield from names.check(("indexes", name, "corpus"), "corpora", index.corpus)
    yield from clashing_files(recipe)


def clashing_files(recipe: Entries) -> Iterator[ErrorDetail]:
    """Names that would get the same file, also where upper and lower case are one."""
    sections = ("indexes", recipe.indexes), ("topics", recipe.topics), ("systems", recipe.systems)
    for section, names in sections:
        seen: dict[str, str] = {}
        for name in names:
            before = seen.setdefault(on_disk(name), name)
            if before != name:
                what = f"its files would have the names of those of `{before}`"
                yield ErrorDetail((section, name), what)
    runs: dict[str, tuple[str, str]] = {}
    made = (name for name, system in recipe.systems.items() if not system.is_given)
    for system in made:
        for topic_set in recipe.topics:
            before_run = runs.setdefault(on_disk(f"{system}.{topic_set}"), (system, topic_set))
            if before_run[0] != system and on_disk(before_run[0]) != on_disk(system):
                what = (
                    f"its run on `{topic_set}` would have the file of that of `{before_run[0]}` "
                    f"on `{before_run[1]}`"
                )
                yield ErrorDetail(("systems", system), what)
