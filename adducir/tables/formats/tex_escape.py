"""Any text as LaTeX text, for pdfLaTeX's default fonts."""

import re

from adducir.tables.formats.names import one_line

_GREEK = (
    "αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta κkappa λlambda μmu νnu ξxi πpi "
    "ρrho σsigma τtau φphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma "
    "ΦPhi ΨPsi ΩOmega"
)
_MATHS = (
    "→rightarrow ←leftarrow ↑uparrow ↓downarrow ≈approx ≤leq ≥geq ≠neq ×times ±pm ·cdot "
    "∞infty ∈in ∪cup ∩cap ∘circ ′prime"
)
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"{\ttfamily\char34}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\dots{}",
    "−": "$-$",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{word[0]: f"$\\{word[1:]}$" for word in f"{_GREEK} {_MATHS}".split()},
}


def escaped(text: str) -> str:
    """A text in which no character means anything to LaTeX, on one line.

    Doubled hyphens, commas and quotes stay two characters instead of joining in one; a bracket or
    star at the beginning cannot be taken for an argument of a line break before it.
    """
    plain = "".join(_ESCAPES.get(char, char) for char in one_line(text))
    parted = re.sub(r"(?<=([-',]))(?=\1)", "{}", plain)
    return "{}" + parted if parted.startswith(("[", "*")) else parted


def label(text: str) -> str:
    """A text as the name of a label: without what LaTeX would expand, and without blanks."""
    return "".join(char for char in text if char not in "\\{}%#~^$&_ " and char.isprintable())
