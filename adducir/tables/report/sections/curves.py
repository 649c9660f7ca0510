"""Training curves: training and validation loss over the steps of each training."""

from adducir.tables.material import Curve
from adducir.tables.report.drawing import dot, figure, label, line, path, shown, ticks
from adducir.tables.report.frame import framed
from adducir.tables.report.view import Section, View

WIDE, HIGH, LEFT, TOP = 420, 200, 56, 12


def section(view: View) -> Section | None:
    """A figure for each training with two points or more."""
    curves = {
        name: one for name, one in view.material.curves.items() if max(map(len, _lines(one))) > 1
    }
    if not curves:
        return None
    drawn = [
        framed(_plot(number, name, one), name) for number, (name, one) in enumerate(curves.items())
    ]
    lead = (
        "Mean loss of training and of validation (dashed) over the steps; the ring is the step "
        "whose weights were kept."
    )
    return Section("training", "Training", lead, f'<div class="plots">{"".join(drawn)}</div>')


def _lines(curve: Curve) -> tuple[tuple[tuple[float, float], ...], ...]:
    return curve.training, curve.validation


def _plot(number: int, name: str, curve: Curve) -> str:
    points = [point for one in _lines(curve) for point in one]
    last = max(step for step, _ in points) or 1.0
    least, most = min(0.0, *(loss for _, loss in points)), max(loss for _, loss in points)
    most = most if most > least else least + 1.0

    def at(step: float, loss: float) -> tuple[float, float]:
        return LEFT + step / last * WIDE, TOP + HIGH - (loss - least) / (most - least) * HIGH

    marks = []
    for tick in ticks(least, most, 5):
        y = at(0, tick)[1]
        marks.append(line(LEFT, y, LEFT + WIDE, y, "grid"))
        marks.append(label(LEFT - 6, y, shown(tick), "tick", "end"))
    marks += [
        label(at(tick, 0)[0], TOP + HIGH + 12, shown(tick), "tick", "middle")
        for tick in ticks(0, last)
    ]
    for role, one in zip(("curve", "curve2 dashed"), _lines(curve), strict=True):
        marks.append(path([at(*point) for point in one], role))
        marks += [
            dot(*at(*point), 2.5, "none", f"step {point[0]:g}: {point[1]:.4g}") for point in one
        ]
    kept = [point for point in curve.validation if point[0] == curve.kept]
    marks += [dot(*at(*point), 7, "ring") for point in kept]
    marks.append(label(LEFT + WIDE / 2, TOP + HIGH + 28, "step", "tick", "middle"))
    caption = f"Training of {name}: loss over {last:g} steps"
    return figure(f"training-{number}", LEFT + WIDE + 14, TOP + HIGH + 40, caption, marks)
