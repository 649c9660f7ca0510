"""The entry point: ``adducir`` on the command line, ``main(argv)`` from Python.

Starting must be fast (``benchmarks/startup.py`` measures it), so this module imports only the
standard library's lightest parts; click is imported to read a command line, and a command's own
module when that command is called.
"""

import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import adducir

PROGRAM = "adducir"
_COMPLETION_VARIABLE = "_ADDUCIR_COMPLETE"  # set by click's completion scripts


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (by default the process's own); never raises.

    The exit codes are listed in docs/troubleshooting.md. ``--debug`` and ``--verify`` work anywhere
    before a ``--``.
    """
    atexit.register(gc.freeze)  # or an interpreter that ends goes through millions of objects
    gc.set_threshold(10_000)  # imports and readers make many objects that stay
    words = list(sys.argv[1:] if argv is None else argv)
    end = words.index("--") if "--" in words else len(words)
    seen = {"--debug", "--verify"} & {*words[:end]}
    arguments = [word for word in words[:end] if word not in seen] + words[end:]
    if "--verify" in seen:
        # In the environment, for child processes.
        os.environ["ADDUCIR_VERIFY"] = "1"
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run(arguments or ["--help"])
        sys.stdout.flush()  # here, to notice a closed pipe here
    except BaseException as error:  # noqa: BLE001  (the last place that can explain it)
        from adducir.cli.console import report

        code = report(error, debug="--debug" in seen)
    if "torch.distributed" in sys.modules and "WORLD_SIZE" in os.environ:
        # In distributed training, threads of torch's connections may outlast the interpreter and
        # abort the process after its work is done.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a closed pipe
                stream.flush()
        os._exit(code)
    return code


def _open_missing_streams() -> None:
    """Replace standard streams that are closed, as some daemons leave them, by the null device.

    Otherwise the next file that is opened would become the standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            device = os.open(os.devnull, os.O_RDWR)
            try:
                os.fstat(number)
            except OSError:
                os.dup2(device, number)
            if device == number:
                os.set_inheritable(device, True)
            setattr(sys, name, os.fdopen(device, "w" if number else "r", encoding="utf-8"))


def run(arguments: list[str]) -> int:
    completing = os.environ.get(_COMPLETION_VARIABLE)
    if arguments[:1] == ["--version"] and not completing:
        print(f"{PROGRAM} {adducir.__version__}")
        return 0
    from click.exceptions import Exit

    from adducir.cli.group import build_group

    group = build_group()
    if completing:
        group.main(arguments, prog_name=PROGRAM, complete_var=_COMPLETION_VARIABLE)
    try:
        with group.make_context(PROGRAM, arguments) as context:
            result = group.invoke(context)
    except Exit as done:  # --help
        return done.exit_code
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
