"""Which systems are made from the runs of which: fusions and reranks of others."""

from collections.abc import Mapping

from adducir.experiments.recipe import SystemRecipe


def made_of(systems: Mapping[str, SystemRecipe], name: str) -> list[str]:
    """The systems that one is made from, at any depth, each once, the nearest first.

    Names that nothing defines are among them; the system itself is where it is made from itself.
    """
    found: dict[str, None] = {}
    waiting = [name]
    for one in waiting:
        members = systems[one].members if one in systems else ()
        waiting += [member for member in members if member not in found]
        found |= dict.fromkeys(members)
    return list(found)


def in_order(systems: Mapping[str, SystemRecipe]) -> list[str]:
    """All systems, each after those that it is made from; none may be made from itself.

    What is made from nothing comes first, then what is made from that, and so on.
    """
    levels: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in levels:
            levels[name] = 1 + max((level(one) for one in systems[name].members), default=-1)
        return levels[name]

    return sorted(systems, key=level)


def text_index(systems: Mapping[str, SystemRecipe], name: str) -> str | None:
    """The index whose documents a rerank reads; None where nothing says which.

    It is the one that the rerank names, or what it reranks, or the only one that is searched.
    """
    known = [systems[one] for one in (name, *made_of(systems, name)) if one in systems]
    named = [system.texts for system in known if system.texts is not None]
    if named:
        return named[0]
    searched = {system.index for system in known if system.index is not None}
    return searched.pop() if len(searched) == 1 else None
