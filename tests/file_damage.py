"""Damages to files, drawn from a seed."""

import random
from pathlib import Path


def damage(path: Path, draw: random.Random) -> None:
    """Change a file that is not empty: a bit, a few bytes, a block of zeros, its end."""
    content = bytearray(path.read_bytes())
    place = draw.randrange(len(content))
    kind = draw.choice(["bit", "bit", "bit", "bytes", "zeros", "cut", "longer"])
    if kind == "bit":
        content[place] ^= 1 << draw.randrange(8)
    elif kind == "bytes":
        for other in range(place, min(place + 8, len(content))):
            content[other] = draw.randrange(256)
    elif kind == "zeros":
        content[place : place + 512] = bytes(len(content[place : place + 512]))
    elif kind == "cut":
        del content[place:]
    else:
        content += bytes(draw.randrange(1, 64))
    path.write_bytes(bytes(content))


def damaged_files(folder: Path, draw: random.Random, count: int) -> list[Path]:
    """Files below a folder to damage, each as likely as any other."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    return [draw.choice(files) for _ in range(count)]
