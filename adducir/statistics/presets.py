"""Tests and corrections that are recommended together, by one name."""

from adducir.core.errors import UsageError
from adducir.statistics.choices import CorrectionName, PresetName, TestName

PRESETS: dict[PresetName, tuple[TestName, CorrectionName]] = {
    "t-holm": ("t", "holm"),
    "t-maxt": ("t", "maxt"),
    "wilcoxon-bh": ("wilcoxon", "bh"),
    "tukey-randomised": ("randomisation", "tukey-randomised"),
}
"""``t-holm`` is the default (Urbano, Lima and Hanjalic 2019); ``wilcoxon-bh`` follows Parapar,
Losada and Barreiro (2021) and Otero, Parapar and Barreiro (2025); ``tukey-randomised`` follows
Carterette (2012)."""


def preset_of(
    preset: PresetName | None, test: TestName | None, correction: CorrectionName | None
) -> tuple[TestName, CorrectionName]:
    """The test and the correction that are asked for, by themselves or by a preset.

    Args:
        preset: The preset; None for none.
        test: The test that is named; None for the preset's, or ``t``.
        correction: The correction that is named; None for the preset's, or ``holm``.

    Raises:
        UsageError: There is no such preset, or another test or correction is named beside it.
    """
    if preset is None:
        return test or "t", correction or "holm"
    if preset not in PRESETS:
        raise UsageError(f"there is no preset {preset!r}.", hint=f"Choose of {', '.join(PRESETS)}.")
    own = PRESETS[preset]
    others = [
        name for name, its in zip((test, correction), own, strict=True) if name not in (None, its)
    ]
    if others:
        raise UsageError(
            f"the preset {preset} sets test and correction to {' and '.join(own)}, and cannot be "
            f"combined with {' and '.join(map(str, others))}.",
            hint="Give the preset, or test and correction.",
        )
    return own
