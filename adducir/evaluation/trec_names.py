"""trec_eval's measure names, for people who type them: ``map``, ``ndcg_cut.10``, ``P_5``.

Each name stands for one ir_measures measure, or for a family with a parameter
(``P.5,10`` and ``P_5`` are trec_eval's two spellings; a family named without a
parameter gets trec_eval's default cutoffs). Names that ir_measures has no
measure for are listed with what to use instead, if anything.

Source: trec_eval 9's ``measures.c`` and the defaults in its ``m_*.c`` files.
"""

import re

from adducir.evaluation.formulas import MEASURES, TrecName

TREC_NAMES = {
    name: meant for kind in MEASURES.kinds().values() for name, meant in kind.trec.items()
} | {"infAP": TrecName("infAP")}
"""The names that ir_measures can express."""

_GEOMETRIC = "it is a geometric mean over topics, and Adducir reports arithmetic means"
_NO_MEASURE = "ir_measures has no such measure"
TREC_INEXPRESSIBLE = {
    "gm_map": _GEOMETRIC,
    "gm_bpref": _GEOMETRIC,
    "11pt_avg": "it is the mean of IPrec@0.0 to IPrec@1.0, which can be asked for singly",
    "Rprec_mult": _NO_MEASURE,
    "relative_P": _NO_MEASURE,
    "binG": _NO_MEASURE,
    "G": _NO_MEASURE,
    "ndcg_rel": _NO_MEASURE,
    "ndcg_p": "nDCG(gains={...}) does the same",
    "Rndcg": _NO_MEASURE,
    "utility": _NO_MEASURE,
    "relstring": "it is not a number",
    "runid": "it is not a number",
    "num_nonrel_judged_ret": _NO_MEASURE,
    "rbp": "RBP(rel=1,p=0.9) is its binary form",
    "rbp_resid": _NO_MEASURE,
    "unj": "Judged@k is its complement",
}
"""The names that it cannot express, with the reason or the way round."""

_WITH_PARAMETER = re.compile(r"(?P<name>.+?)[._](?P<value>[0-9.,+=-]+)")
_LONGEST = 100  # beyond it nothing is a name: the pattern takes time in proportion to its square


def split_trec_name(text: str) -> tuple[str, str | None]:
    """Split ``ndcg_cut.10`` or ``P_5`` into name and parameter text.

    Returns:
        The name and the text after it, or the whole text and None where it is
        not a known name with a parameter.
    """
    match = _WITH_PARAMETER.fullmatch(text[: _LONGEST + 1])
    known = TREC_NAMES.keys() | TREC_INEXPRESSIBLE.keys()
    if text not in known and len(text) <= _LONGEST and match and match["name"] in known:
        return match["name"], match["value"]
    return text, None
