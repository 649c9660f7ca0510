"""Python code named in an experiment file: found, identified by content, run only with consent.

It is never imported while the file is checked or planned, because the file may come from a
stranger: only its bytes and the names that it defines are read.
"""

import ast
import importlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

from adducir.core.errors import AdducirError, InputError, UsageError, worded
from adducir.core.files import cache_folder, file_digest, writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.packages import raised_in
from adducir.core.texts import nearest

_modules: dict[tuple[Path, str], tuple[str, Any]] = {}  # by folder and name, with their digest


@dataclass(frozen=True)
class Code:
    """A function named in an experiment file: ``module:name`` or ``folder/file.py:name``."""

    name: str
    function: str
    module: str | None  # None for a file
    path: Path
    folder: Path  # the study's, searched for modules first
    root: Path  # the package's folder or the module's file, which the fingerprint covers

    @property
    def is_of_study(self) -> bool:
        return self.root.is_relative_to(self.folder)

    def identity(self) -> dict[str, str]:
        """The code's identity: the bytes of its package or module.

        The study's modules that it imports by statements count, too, also indirectly.
        """
        contents = {
            Path(os.path.relpath(path, self.root.parent)).as_posix(): file_digest(path)
            for path in sorted(self._files())
        }
        return {"function": self.name, "sha256": fingerprint(contents)}

    def _files(self) -> list[Path]:
        files = _sources(self.root)
        for path in files:
            tops = set[str]()
            with suppress(OSError, SyntaxError, ValueError):
                for node in ast.walk(ast.parse(path.read_bytes())):
                    if isinstance(node, ast.Import):
                        tops |= {alias.name.partition(".")[0] for alias in node.names}
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        tops.add(node.module.partition(".")[0])
            for top in tops - {"adducir"}:
                sources = _sources(self.folder / top) + _sources(self.folder / f"{top}.py")
                files += [source for source in sources if source not in files]
        return files

    def call(self, arguments: Mapping[str, Any]) -> Any:
        key = self.folder, self.module or str(self.path)
        digest = self.identity()["sha256"] if self.is_of_study else ""
        if _modules.get(key, (None, None))[0] != digest:
            _modules[key] = digest, self._imported()
        function = getattr(_modules[key][1], self.function, None)
        if function is None:
            raise self.error("cannot be imported:", AttributeError(self.function))
        try:
            return function(**arguments)
        except Exception as error:
            raise self.error("raised", error) from error

    def _imported(self) -> Any:
        """The module as its files are now, whatever Python has loaded or compiled before."""
        names = set[str]()
        for path in self._files() if self.is_of_study else ():
            if path.is_relative_to(self.folder):
                parts = path.relative_to(self.folder).with_suffix("").parts
                names |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
                with suppress(OSError, NotImplementedError):  # trusted by time and size alone
                    Path(cache_from_source(str(path))).unlink(missing_ok=True)
        before = {name: sys.modules.pop(name) for name in names & sys.modules.keys()}
        importlib.invalidate_caches()
        sys.path.insert(0, str(self.folder))
        try:
            name = self.module or f"_adducir_study_{fingerprint(str(self.path))[:12]}"
            if self.module is None and (spec := spec_from_file_location(name, self.path)):
                sys.modules[name] = module_from_spec(spec)
                cast("Any", spec.loader).exec_module(sys.modules[name])
            return importlib.import_module(name)
        except Exception as error:
            raise self.error("cannot be imported:", error) from error
        finally:
            with suppress(ValueError):
                sys.path.remove(str(self.folder))
            for name, module in before.items():  # such as Python's own `statistics`
                file = getattr(module, "__file__", None)
                if not (
                    Path(file).is_relative_to(self.folder) if file else hasattr(module, "__path__")
                ):
                    sys.modules[name] = module

    def error(self, message: str, error: Exception) -> InputError:
        """The error for an exception, with the innermost line in the study's or package's code."""
        home = self.folder if self.is_of_study else self.root
        place = {"path": self.path} | raised_in(error, home)
        return InputError(f"{self.name} {message} {error!r}.", **place)


def find_code(name: str, folder: Path) -> Code:
    place, colon, function = name.rpartition(":")
    if not (colon and place and function.isidentifier()):
        raise InputError(f"{name!r} is neither `module:function` nor `file.py:function`.")
    if place.endswith(".py"):
        path = folder / place
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError("this file is not in the study's folder.", path=path)
        if not path.is_file():
            raise InputError("no such file.", path=path)
        code = Code(name, function, None, path, folder, path)
    else:
        path, root = _module_file(place, folder)
        code = Code(name, function, place, path, folder, root)
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes(), filename=str(path)))]
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"this is not Python: {error}.", path=path, line=line) from error
    names = {getattr(node, key, None) for node in nodes for key in ("name", "asname", "id")}
    if function not in names and not names & {"*", "__getattr__"}:
        guess = nearest(function, [*filter(None, names)]) or "."
        raise InputError(f"it does not define the function {function}{guess}", path=path)
    return code


def _sources(root: Path) -> list[Path]:
    if root.is_dir():
        return [path for path in root.rglob("*.py") if path.is_file()]
    return [root] if root.is_file() else []


def _module_file(module: str, folder: Path) -> tuple[Path, Path]:
    """A module's file, and its package's folder or file, without importing anything."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        raise InputError(f"{module!r} is not a valid module name.")
    for base in [folder, *(Path(entry or ".") for entry in sys.path)]:
        place = base.joinpath(*parts)
        for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if path.is_file():
                is_package = len(parts) > 1 or path.name == "__init__.py"
                return path, base / parts[0] if is_package else path
    raise InputError(
        f"the module {module!r} is neither in the study's folder nor installed.",
        hint="Name it as `module:function`, or its file as `folder/file.py:function`.",
    )


def require_consent(code: Mapping[str, str], folder: Path, allowed: bool) -> None:
    """Refuse to run code (names by digest) that this user has not allowed."""
    cache, study = cache_folder(), os.path.realpath(folder)
    digests = {fingerprint([study, digest]): name for digest, name in code.items()}
    allowed_before: set[str] = set()
    if cache is not None:
        with suppress(OSError, ValueError, TypeError):
            text = (cache / "allowed-code.json").read_text(encoding="utf-8")
            allowed_before = set(json.loads(text))
    new = dict.fromkeys(name for key, name in digests.items() if key not in allowed_before)
    if new and not allowed:
        raise UsageError(
            f"this experiment runs Python code that you have not allowed yet, or that has changed "
            f"since: {', '.join(new)}.",
            hint=f"Read that code; if you trust it, add {worded('allow_code', 'true')}.",
        )
    if new and cache is not None:
        with suppress(AdducirError), writing_text(cache / "allowed-code.json") as handle:
            handle.write(json.dumps(sorted(allowed_before | digests.keys()), indent=1) + "\n")
