"""The entry point: ``adducir`` on the command line, ``main(argv)`` from Python.

Starting must cost next to nothing (``benchmarks/startup.py`` measures it), so this module imports
only the standard library's lightest parts; typer comes when there is a command line to read, and a
command's own module when that command is called.
"""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import adducir

PROGRAM = "adducir"
_DEBUG = "--debug"
_VERIFY = "--verify"
_ANYWHERE = (_DEBUG, _VERIFY)
_COMPLETION_VARIABLE = "_ADDUCIR_COMPLETE"  # the name that typer's completion scripts set


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: The arguments without the program's name; by default those of the process.

    Returns:
        The exit code (:mod:`adducir.core.errors` lists them). Nothing is raised.
    """
    arguments, seen = _without_anywhere(list(sys.argv[1:] if argv is None else argv))
    if _VERIFY in seen:
        # In the environment, so that processes started from here do it as well.
        os.environ["ADDUCIR_VERIFY"] = "1"
    _never_fail_to_print()
    try:
        code = run(arguments or ["--help"])
        sys.stdout.flush()  # here, so that a reader who went away is noticed here
    except BaseException as error:  # noqa: BLE001  (the last place that can explain it)
        from adducir.cli.error_report import report

        code = report(error, debug=_DEBUG in seen)
    return _ended(code)


def _ended(code: int) -> int:
    """The exit code; one of several processes of a training ends here with it.

    Threads that torch keeps for its connections may outlast the interpreter, and then abort the
    process ("terminate called without an active exception") after all of its work was done.
    """
    if "torch.distributed" in sys.modules and "WORLD_SIZE" in os.environ:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # its reader went away
                stream.flush()
        os._exit(code)
    return code


def run(arguments: list[str]) -> int:
    """Run one command line; what goes wrong is raised.

    Args:
        arguments: Without what may stand anywhere on the line.

    Returns:
        The exit code.
    """
    completing = _COMPLETION_VARIABLE in os.environ
    if arguments == ["--version"] and not completing:
        print(f"{PROGRAM} {adducir.__version__}")
        return 0
    from adducir.cli.group import build_group

    group = build_group()
    if completing:
        group.main(arguments, prog_name=PROGRAM, complete_var=_COMPLETION_VARIABLE)
    with group.make_context(PROGRAM, arguments) as context:
        result = group.invoke(context)
    return result if isinstance(result, int) else 0


def _without_anywhere(arguments: list[str]) -> tuple[list[str], set[str]]:
    """``--debug`` and ``--verify`` count wherever they stand before a ``--``."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    seen = {argument for argument in arguments[:end] if argument in _ANYWHERE}
    options = [argument for argument in arguments[:end] if argument not in _ANYWHERE]
    return options + arguments[end:], seen


def _never_fail_to_print() -> None:
    """A terminal that lacks a character gets an escape in its place, not an exception."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
