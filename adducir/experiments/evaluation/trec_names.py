"""trec_eval's measure names, for people who type them: ``map``, ``ndcg_cut.10``, ``P_5``.

Each name stands for one ir_measures measure, or for a family with a parameter
(``P.5,10`` and ``P_5`` are trec_eval's two spellings; a family named without a
parameter gets trec_eval's default cutoffs). Names that ir_measures has no
measure for are listed with what to use instead, if anything.

Source: trec_eval 9's ``measures.c`` and the defaults in its ``m_*.c`` files.
"""

import re
from typing import NamedTuple

_CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_RECALLS = ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0")


class TrecName(NamedTuple):
    """What a trec_eval name stands for.

    Attributes:
        measure: The ir_measures name.
        parameter: The parameter a family takes, or None for a single measure.
        defaults: The family's values where none is given.
    """

    measure: str
    parameter: str | None = None
    defaults: tuple[str, ...] = ()


TREC_NAMES = {
    "map": TrecName("AP"),
    "map_cut": TrecName("AP", "cutoff", _CUTOFFS),
    "P": TrecName("P", "cutoff", _CUTOFFS),
    "recall": TrecName("R", "cutoff", _CUTOFFS),
    "success": TrecName("Success", "cutoff", ("1", "5", "10")),
    "recip_rank": TrecName("RR"),
    "Rprec": TrecName("Rprec"),
    "bpref": TrecName("Bpref"),
    "ndcg": TrecName("nDCG"),
    "ndcg_cut": TrecName("nDCG", "cutoff", _CUTOFFS),
    "iprec_at_recall": TrecName("IPrec", "recall", _RECALLS),
    "infAP": TrecName("infAP"),
    "set_P": TrecName("SetP"),
    "set_relative_P": TrecName("SetRelP"),
    "set_recall": TrecName("SetR"),
    "set_map": TrecName("SetAP"),
    "set_F": TrecName("SetF", "beta", ("1.0",)),
    "num_q": TrecName("NumQ"),
    "num_ret": TrecName("NumRet"),
    "num_rel": TrecName("NumRel"),
    "num_rel_ret": TrecName("NumRelRet"),
}
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
