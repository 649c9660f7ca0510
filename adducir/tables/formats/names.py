"""Names too long for a line: systems' shortened so that no two become one, measures' broken."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"


def one_line(name: str) -> str:
    """A name with line breaks and other control characters turned to blanks."""
    return "".join(char if char.isprintable() else " " for char in name)


def shortened(names: Sequence[str], width: int, ellipsis: str = ELLIPSIS) -> dict[str, str]:
    """Each name, cut in the middle to at most ``width`` terminal cells.

    Names that would look alike keep more of their end, or more of their beginning, or get a
    number; so the shortened names differ wherever the names do.

    Args:
        names: The full names.
        width: Greatest width, at least 4 and the ellipsis.
        ellipsis: What stands for the omitted part.

    Returns:
        Full name to shortened name; a name that fits stays as it is.
    """
    room = width - cell_len(ellipsis)
    result: dict[str, str] = {}
    taken = {name for name in names if cell_len(name) <= width}
    for name in dict.fromkeys(names):
        if cell_len(name) <= width:
            result[name] = name
            continue
        for head in _heads(room):
            short = _cut(name, head, room - head, ellipsis)
            if short not in taken:
                break
        number = 2
        while short in taken:
            mark = f"{ellipsis}{number}"
            short = set_cell_size(name, width - cell_len(mark)).rstrip() + mark
            number += 1
        taken.add(short)
        result[name] = short
    return result


def _heads(room: int) -> list[int]:
    """How many cells to keep of the beginning: the middle first, then further and further off."""
    middle = (room + 1) // 2
    return sorted(range(1, room), key=lambda head: abs(head - middle))


def _cut(name: str, head: int, tail: int, ellipsis: str) -> str:
    """``head`` cells of the beginning, the ellipsis, ``tail`` cells of the end."""
    backwards = set_cell_size(name[::-1], tail).rstrip()
    return set_cell_size(name, head).rstrip() + ellipsis + backwards[::-1].lstrip()


def wrap_title(title: str, width: int) -> list[str]:
    """A measure's name in lines of at most ``width``, broken where the name has a joint.

    ``nDCG(judged_only=True)@5`` breaks after ``(``, ``,``, ``_``, ``=``, blank and hyphen and
    before ``@``; a piece that is longer still is cut. No character is lost, blanks at a break
    excepted.
    """
    pieces = joints(title)
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        while len(lines[-1] + piece.rstrip()) > width:
            lines[-1], piece = piece[:width], piece[width:]
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()] or [""]


def joints(title: str) -> Sequence[str]:
    """A measure's name in the pieces between which a line may break."""
    pieces, start = [], 0
    for place in range(1, len(title)):
        opening = title[place - 1] == "(" and title[place - 2 : place - 1] != " "
        if opening or title[place - 1] in ",_= -" or title[place] == "@":
            pieces.append(title[start:place])
            start = place
    return [*pieces, title[start:]]
