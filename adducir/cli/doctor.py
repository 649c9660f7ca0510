"""``adducir doctor``."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from adducir.cli.parameters import option
from adducir.core.errors import EXIT_PROBLEMS_FOUND

if TYPE_CHECKING:
    from adducir.cli.checks import Finding

_WIDTH = 21  # of the longest name, sentence-transformers
_SIGNS = {"ok": "ok", "note": "note", "missing": "MISSING"}


def doctor(
    as_json: Annotated[bool, option("Print what is found as JSON.", "--json")] = False,
) -> int:
    """Check the installation, and say how to fix what is missing.

    Every part is really tried: Java is started, and packages that Adducir uses are imported. The
    exit code is 1 where something is missing that Adducir cannot do without, 0 otherwise.
    """
    from adducir.cli.checks import all_checks, import_packages
    from adducir.cli.console import open_progress, show

    findings: list[Finding] = []
    part = ""
    checks, imports = all_checks(), import_packages()
    with open_progress() as progress:
        progress.start("checking", len(checks), "parts")
        for name, check in checks:
            progress.detail(name)
            found = list(check())
            findings += found
            for finding in [] if as_json else found:  # each as it comes: the whole takes seconds
                if finding.part != part:
                    show(f"\n{finding.part}" if part else finding.part)
                    part = finding.part
                show(line(finding))
            progress.advance(1)
        imports.join()
        progress.finish()
    if as_json:
        show(json.dumps([asdict(finding) for finding in findings], indent=2))
    missing = [finding.name for finding in findings if finding.state == "missing"]
    if not as_json:
        show(f"\nMissing: {', '.join(missing)}." if missing else "\nNothing needed is missing.")
    return EXIT_PROBLEMS_FOUND if missing else 0


def line(finding: "Finding") -> str:
    """One finding, aligned with the others, with its hint below it."""
    text = f"  {_SIGNS[finding.state]:<7}  {finding.name:<{_WIDTH}}  {finding.detail}"
    return f"{text}\n{' ' * (_WIDTH + 13)}hint: {finding.hint}" if finding.hint else text
