"""Eight processes at one artifact: all succeed, and it is what one of them makes alone."""

from pathlib import Path

import pytest
from attack_builds import outputs
from attack_commands import COMMANDS, Command
from attack_counts import count
from attack_process import Order, Running
from attack_settings import chosen
from attack_trials import REPLACING, Bench
from test_attack_renames import unreported

PROCESSES = 8
COSTLY = {"demo", "rerank-monot5", "search-lucene"}
"""Left out: eight processes with Java, or what another command shows as well."""
RACING = [command for command in COMMANDS if command.name not in COSTLY]


def raced(bench: Bench, lines: list[list[str]], work: Path) -> list[str]:
    """Start all at once; what is wrong with how they end."""
    running = [Running(Order(argv, work, tag=f"-{n}")) for n, argv in enumerate(lines)]
    ended = [each.ended(600) for each in running]
    count("racing processes", len(ended))
    allowed = {0, 5} if bench.command.is_refused_when_there else {0}
    return [f"ended with {one.code}: {one.last}" for one in ended if one.code not in allowed]


@pytest.mark.parametrize("command", chosen(RACING, "races"), ids=lambda command: command.name)
def test_eight_processes_make_one_artifact(study: Path, tmp_path: Path, command: Command) -> None:
    bench = Bench(study, command, tmp_path)
    errors = []
    for start in bench.starts:
        wanted = bench.undisturbed(start)
        work = bench.copy(wanted.start, wanted.kind)
        errors += raced(bench, [command.argv()] * PROCESSES, work)
        errors += bench.finished(work, wanted)
    assert not errors, "\n".join(errors)


OTHERS = [command for command in RACING if command.other]


@pytest.mark.parametrize("command", chosen(OTHERS, "rivals"), ids=lambda command: command.name)
def test_rivals_leave_no_mixture(study: Path, tmp_path: Path, command: Command) -> None:
    bench = Bench(study, command, tmp_path)
    wanted = bench.undisturbed(REPLACING)
    work = bench.copy(wanted.start, wanted.kind)
    lines = [command.argv(is_other=bool(number % 2)) for number in range(PROCESSES)]
    errors = raced(bench, lines, work) + unreported(bench, work)
    errors += [
        f"neither of the two: {name}"
        for name, data in outputs(work, bench.given).items()
        if "rerankers/.scores" not in name
        and data not in (wanted.first.get(name), wanted.made.get(name))
    ]
    errors += bench.finished(work, wanted)
    assert not errors, "\n".join(errors)
