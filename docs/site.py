"""What the site has beyond docs/: the README, a page for each command, the reference of the API.

A hook of mkdocs (mkdocs.yml). Links that leave docs/ lead to the page that a file became, or to a
copy of the file.
"""

import json
import re
import sys
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import adducir  # noqa: E402
from adducir.cli.command import options_of, rare_fields  # noqa: E402
from adducir.cli.group import all_commands, load_command  # noqa: E402
from adducir.core.meanings import meaning  # noqa: E402

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
    "experiments/README.md": "experiments.md",
    "docs/notebook.ipynb": "notebook.md",
}
RELATED = (
    "adducir.corpora.documents.Document",
    "adducir.corpora.documents.Corpus",
    "adducir.indexes.hits.Hits",
    "adducir.core.artifacts.Manifest",
    "adducir.experiments.experiment.Outcome",
    "adducir.indexes.models.Model",
    "adducir.indexes.feedback.FeedbackMethod",
    "adducir.rerankers.recipe.Reranker",
    "adducir.statistics.settings.Testing",
)
"""What public functions take or return, besides the public names."""
_LINK = re.compile(r'(?<=\]\()(?!\w+:|#)[^)\s]+|(?<=src=")(?!\w+:)[^"]+|(?<=srcset=")[^"]+')


def on_config(config: Any) -> Any:
    """Anchors as GitHub makes them; a page for each command."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    pages = [{name: page_of(name)} for name in all_commands()]
    config.nav.insert(3, {"Every command": pages})
    return config


def on_files(files: Any, config: Any) -> Any:
    for source, page in PAGES.items():
        text = notebook() if source.endswith(".ipynb") else (ROOT / source).read_text()
        files.append(File.generated(config, page, content=text))
    for name in all_commands():
        files.append(File.generated(config, page_of(name), content=command_page(name)))
    files.append(File.generated(config, "reference.md", content=reference()))
    for file in list(files):
        for target in _LINK.findall(file.content_string) if file.src_uri.endswith(".md") else ():
            path = repository_path(target, file.src_uri).partition("#")[0]
            elsewhere = (ROOT / path).is_file() and not path.startswith("docs/")
            copy = f"files/{path}"
            if elsewhere and path not in PAGES and not files.get_file_from_path(copy):
                content = (ROOT / path).read_bytes()
                files.append(File.generated(config, copy, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    here = page.file.src_uri

    def moved(link: re.Match[str]) -> str:
        path, hash_, anchor = repository_path(link[0], here).partition("#")
        target = PAGES.get(path) or (path[5:] if path.startswith("docs/") else f"files/{path}")
        return relpath(target, str(Path(here).parent)) + hash_ + anchor

    return _LINK.sub(moved, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Roles of reStructuredText in docstrings become plain code."""
    return re.sub(r":\w+:(?=<code>)", "", html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The shim that the theme's search fetches from elsewhere is one of ours."""
    shim = relpath("worker.js", str(Path(page.file.dest_uri).parent))
    return output.replace("https://unpkg.com/iframe-worker/shim", shim)


def repository_path(link: str, page: str) -> str:
    """Where a link of a page leads, from the root of the repository."""
    source = next((one for one, name in PAGES.items() if name == page), f"docs/{page}")
    return normpath(Path(source).parent / link)


def page_of(command: str) -> str:
    return f"commands/adducir-{command.replace(' ', '-')}.md"  # index.md would be the folder's


def command_page(name: str) -> str:
    """The help of a command as a page: its purpose, its arguments and options, its --set keys."""
    command: Any = load_command(name)
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    wanted = [one.metavar for one in shown if one.param_type_name == "argument"]
    usage = " ".join(["adducir", name, "[OPTIONS]", *wanted])
    examples = "\n".join(filter(None, command.epilog.removeprefix("Examples:").splitlines()))
    parts = [f"# adducir {name}", command.help, f"```text\n{usage}\n```"]
    parts += [f"```sh\n{examples}\n```"] * bool(examples)
    options, panels = options_of(command.recipe), dict[str, list[str]]()
    for one in shown:
        names = one.metavar if one.metavar in wanted else ", ".join(one.opts + one.secondary_opts)
        value = "" if names == one.metavar else f" {one.metavar or ''}"
        shown_default = getattr(one, "show_default", None)  # arguments have none
        default = shown_default if isinstance(shown_default, str) else one.default
        note = "required" if one.required else f"default: {default}" if shown_default else ""
        panel = options[one.name].panel if one.name in options else None
        rows = panels.setdefault(panel or "Options", [])
        rows.append(entry(names + value, one.help, note))
    if rare := rare_fields(command.recipe):
        panels["Rarely needed"] = [
            entry(f"--set {key}=", meaning(command.recipe, key), default_of(field))
            for key, field in rare.items()
        ]
    parts += [f"## {panel}\n\n" + "\n".join(rows) for panel, rows in panels.items()]
    return "\n\n".join(parts) + "\n"


def default_of(field: Any) -> str:
    if field.is_required():
        return "required"
    return "" if field.default in (None, "", False, ()) else f"default: {field.default}"


def entry(option: str, meaning: str | None, note: str) -> str:
    text = re.sub(r"([<>*_])", r"\\\1", " ".join((meaning or "").split()))
    return f"- **`{option.strip()}`**" + (f" ({note})" if note else "") + f": {text}"


def notebook() -> str:
    """The cells of the notebook, with what they showed."""
    parts = []
    for cell in json.loads((ROOT / "docs/notebook.ipynb").read_text())["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += ["".join(one["data"]["text/html"]) for one in cell.get("outputs", ())]
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """What `import adducir` gives, in the order in which data flow, from its docstrings."""
    parts = [
        "# Reference",
        "What `import adducir` gives; [the public API](api.md) shows it at work.",
    ]
    parts += [f"::: {getattr(adducir, name).__module__}.{name}" for name in adducir.__all__]
    parts += ["## What these take and return", *(f"::: {name}" for name in RELATED)]
    return "\n\n".join(parts) + "\n"
