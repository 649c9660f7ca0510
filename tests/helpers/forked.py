"""Commands in processes of their own, forked from one that has imported what they need.

Importing sentence-transformers takes longer than most commands of the tests. Where only that is
imported beforehand, a command imports what is ours as if it were typed.
"""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

SECONDS = 900
"""After which a command that does not end is killed."""


class Forked:
    """Runs ``python -m ...`` or ``python -c ...`` in a folder, beside which said and told are."""

    def __init__(self, environment: dict[str, str], *modules: str) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, __file__, *modules]
        self.server = subprocess.Popen(command, env=environment, **pipes)

    def run(self, arguments: list[str], folder: Path, **environment: str) -> int:
        print(json.dumps([arguments, str(folder), environment]), file=self.server.stdin, flush=True)
        return int(self.server.stdout.readline())


def _become(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = folder
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name, number in (("../said", 1), ("../told", 2)):
        os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    option, program, *sys.argv[1:] = arguments
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    for module in sys.argv[1:]:
        import_module(module)
    gc.freeze()
    for line in iter(sys.stdin.readline, ""):
        if not (child := os.fork()):
            _become(*json.loads(line))
            break
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
