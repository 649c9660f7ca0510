"""What one of several parts does for steps of a plan; the parts share files, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from adducir.core.errors import AdducirError, IncompleteError
from adducir.core.locks import claimed
from adducir.core.scratch import remove_parts
from adducir.core.sharding.gathering import PartMade
from adducir.experiments.context import Context
from adducir.experiments.step import Step

Make = Callable[[Step, Context], None]


def make_in_part(steps: Sequence[Step], context: Context, make: Make) -> bool:
    """Make steps that share work, or this part's shards of them; nobody is waited for.

    Where all shards of all parts are there, whoever comes first puts them together.

    Args:
        steps: What they are made from is there.
        context: Says the part.
        make: Makes a step.

    Returns:
        Whether all are there now; otherwise other parts have to make their shards, or are at work
        on these steps.

    Raises:
        AdducirError: Something cannot be made.
    """
    if not steps[0].in_shards:
        return _made(steps, replace(context, part=None), make)
    finishing = replace(context, part=None, only_finish=True)
    missing: Path | None = None
    while _are_whole(steps, context, make):
        try:
            return _made(steps, finishing, make)
        except IncompleteError as error:  # a shard was damaged, and is dropped
            if error.path == missing:
                raise
            missing = error.path
    return False


def _made(steps: Sequence[Step], context: Context, make: Make) -> bool:
    """Make those of some steps that are missing, unless another process is at work on them."""
    with _claimed(steps, context) as are_ours:
        if not are_ours:
            return False
        for step in steps:
            if step.why() is not None:
                make(step, context)
        for step in steps:
            if step.in_shards:  # another part may have made some of them once more
                for place in step.shard_places:
                    remove_parts(place)
    return True


@contextmanager
def _claimed(steps: Sequence[Step], context: Context) -> Iterator[bool]:
    """Keep other parts from steps inside the block; yields whether nobody else does."""
    with claimed(Path(steps[0].path).resolve()) as are_ours:
        if not (are_ours and context.processes > 1 and steps[0].trains):
            yield are_ours
            return
    yield True  # the processes that train together hold the lock themselves


def _are_whole(steps: Sequence[Step], context: Context, make: Make) -> bool:
    """Make this part's shards of all steps; whether none lacks any now."""
    found = [_is_whole(step, context, make) for step in steps]
    return all(found)


def _is_whole(step: Step, context: Context, make: Make) -> bool:
    """Make this part's shards of a step; whether all are there now, or the step itself."""
    if step.why() is None:
        return True
    try:
        make(step, context)
    except PartMade as made:
        return made.is_whole or step.why() is None
    except (AdducirError, OSError):
        # Whoever put it together removed the shards that were being made a second time.
        if step.why() is not None:
            raise
    return True
