"""A small package as another author would install it, without installing it."""

from pathlib import Path


def install(
    folder: Path, name: str, source: str, points: dict[str, dict[str, str]], version: str = "1.2"
) -> Path:
    """Put a module and its entry points where Python finds them once ``folder`` is on its path.

    Args:
        folder: What stands in for site-packages.
        name: Of the package and its only module.
        source: The module's text.
        points: By group (``adducir.fusion``), the object of each kind's name.
        version: Of the package.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, kinds in points.items():
        lines += [f"[{group}]", *(f"{kind} = {name}:{home}" for kind, home in kinds.items())]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]))
    return folder
