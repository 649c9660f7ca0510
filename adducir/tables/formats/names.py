"""Names too long for a line: systems' are shortened but stay distinct, measures' broken."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size


def one_line(name: str) -> str:
    """A name with line breaks and other control characters replaced by blanks."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else " " for char in name)


def shortened(names: Sequence[str], width: int) -> dict[str, str]:
    """Each name, cut in the middle to at most ``width`` terminal cells; names stay distinct."""
    room = width - 1
    heads = sorted(range(1, room), key=lambda head: abs(head - (room + 1) // 2))
    result = {name: name for name in names if cell_len(name) <= width}
    taken = set(result)
    for name in dict.fromkeys(names):
        if name in result:
            continue
        for head in heads:
            tail = set_cell_size(name[::-1], room - head).rstrip()[::-1].lstrip()
            short = set_cell_size(name, head).rstrip() + "…" + tail
            if short not in taken:
                break
        number = 2
        while short in taken:
            mark = f"…{number}"
            short = set_cell_size(name, width - cell_len(mark)).rstrip() + mark
            number += 1
        taken.add(short)
        result[name] = short
    return result


def wrap_title(title: str, width: int) -> list[str]:
    """A measure's name in lines of at most ``width``, broken at joints; a longer piece is cut."""
    lines = [""]
    for piece in joints(title):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        while len(lines[-1] + piece.rstrip()) > width:
            lines[-1], piece = piece[:width], piece[width:]
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()] or [""]


def joints(title: str) -> Sequence[str]:
    """A measure's name in pieces between which a line may break."""
    pieces, start = [], 0
    for place in range(1, len(title)):
        opening = title[place - 1] == "(" and title[place - 2 : place - 1] != " "
        if opening or title[place - 1] in ",_= -" or title[place] == "@":
            pieces.append(title[start:place])
            start = place
    return [*pieces, title[start:]]
