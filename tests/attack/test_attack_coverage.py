"""No command that writes, and no reader, is left out of the attacks."""

import pytest
from attack_commands import COMMANDS as ATTACKED
from attack_readers import READERS
from attack_samples import SAMPLES
from attack_study import RECIPES
from every_command import COMMANDS, load_command

WRITING = {"--output", "--keep", "--folder", "--key"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_writes_is_attacked(name: str) -> None:
    options = {option for param in load_command(name).params for option in param.opts}
    if options & WRITING or name in ("new", "train", "experiment"):
        lines = [" ".join(command.argv()) for command in ATTACKED]
        assert any(line.startswith(f"{name} ") for line in lines), f"{name} writes: attack it"


def test_every_sample_has_a_reader() -> None:
    names = {path.rpartition("/")[2] for path in RECIPES}
    assert set(SAMPLES) | names == set(READERS)
