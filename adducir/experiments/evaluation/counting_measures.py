"""Measures of what was retrieved, whatever its order: shares judged, set measures, counts.

Definitions are trec_eval's; the file of each is named. Judged@k is
ir_measures'.
"""

import numpy as np
from ir_measures import Measure

from adducir.experiments.evaluation.judgements import Floats
from adducir.experiments.evaluation.lists import WHOLE_LIST, Lists, option, share


def judged(lists: Lists, measure: Measure) -> Floats:
    """Judged@k: the judged among the top k, whatever their grade.

    Divided by k, or by the number retrieved where that is less (as ir_measures
    does); 0 where nothing was retrieved.
    """
    standing = lists.standing(condensed=False)
    cutoff = option(measure, "cutoff", WHOLE_LIST)
    found = lists.sums(standing.topic[standing.rank < cutoff])
    return share(found, np.minimum(standing.retrieved, cutoff))


def set_precision(lists: Lists, measure: Measure) -> Floats:
    """SetP (m_set_P.c); relative (m_set_rel_P.c) to the best that was possible."""
    relevant, retrieved = lists.relevant(measure), lists.retrieved(measure)
    if option(measure, "relative", False):
        retrieved = np.minimum(retrieved, relevant.total)
    return share(lists.sums(relevant.topic), retrieved)


def set_f(lists: Lists, measure: Measure) -> Floats:
    """SetF (m_set_F.c): (1 + beta) P R / (R + beta P); beta is not squared."""
    relevant = lists.relevant(measure)
    found = lists.sums(relevant.topic)
    precision = share(found, lists.retrieved(measure))
    recall = share(found, relevant.total)
    beta = option(measure, "beta", 1.0)
    return share((beta + 1.0) * precision * recall, recall + beta * precision)


def set_average_precision(lists: Lists, measure: Measure) -> Floats:
    """SetAP (m_set_map.c): SetP times SetR."""
    relevant = lists.relevant(measure)
    found = lists.sums(relevant.topic)
    return share(found, lists.retrieved(measure)) * share(found, relevant.total)


def retrieved(lists: Lists, measure: Measure) -> Floats:
    """NumRet (m_num_ret.c), and NumRet(rel=1), which is NumRelRet (m_num_rel_ret.c)."""
    if "rel" not in measure.params:
        return lists.retrieved(measure).astype(np.float64)
    return lists.sums(lists.relevant(measure).topic)


def relevant_total(lists: Lists, measure: Measure) -> Floats:
    """NumRel (m_num_rel.c)."""
    return lists.relevant(measure).total.astype(np.float64)


def one_each(lists: Lists, measure: Measure) -> Floats:
    """NumQ (m_num_q.c with -c): 1 for every topic of the qrels."""
    del measure
    return np.ones(lists.topics)
