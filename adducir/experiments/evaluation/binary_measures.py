"""Measures of relevant or not: by the ranks of the documents of grade ``rel`` or more.

Definitions are trec_eval's; the file of each is named. RR@k is ir_measures',
RBP is Moffat and Zobel's (TOIS 2008).
"""

import numpy as np
from ir_measures import Measure

from adducir.experiments.evaluation.judgements import Floats
from adducir.experiments.evaluation.lists import Lists, in_top, option, share


def precision(lists: Lists, measure: Measure) -> Floats:
    """P@k (m_P.c): divided by k, however few were retrieved."""
    relevant = lists.relevant(measure)
    cutoff: int = measure["cutoff"]
    return lists.sums(relevant.topic[in_top(relevant, measure)]) / cutoff


def recall(lists: Lists, measure: Measure) -> Floats:
    """R@k (m_recall.c), and SetR (m_set_recall.c), which has no cutoff."""
    relevant = lists.relevant(measure)
    return share(lists.sums(relevant.topic[in_top(relevant, measure)]), relevant.total)


def success(lists: Lists, measure: Measure) -> Floats:
    """Success@k (m_success.c): 1 where the top k hold a relevant document."""
    relevant = lists.relevant(measure)
    return lists.sums(relevant.topic[in_top(relevant, measure) & (relevant.nth == 1)])


def reciprocal_rank(lists: Lists, measure: Measure) -> Floats:
    """RR (m_recip_rank.c); RR@k is 0 where the first relevant stands below k."""
    relevant = lists.relevant(measure)
    first = in_top(relevant, measure) & (relevant.nth == 1)
    return lists.sums(relevant.topic[first], 1.0 / (relevant.rank[first] + 1))


def average_precision(lists: Lists, measure: Measure) -> Floats:
    """AP (m_map.c); AP@k (m_map_cut.c) divides by all relevant documents too."""
    relevant = lists.relevant(measure)
    top = in_top(relevant, measure)
    precision = relevant.nth[top] / (relevant.rank[top] + 1)
    return share(lists.sums(relevant.topic[top], precision), relevant.total)


def r_precision(lists: Lists, measure: Measure) -> Floats:
    """Rprec (m_Rprec.c): precision at the number of relevant documents."""
    relevant = lists.relevant(measure)
    top = relevant.rank < relevant.total[relevant.topic]
    return share(lists.sums(relevant.topic[top]), relevant.total)


def interpolated_precision(lists: Lists, measure: Measure) -> Floats:
    """IPrec@r (m_iprec_at_recall.c of trec_eval 9).

    The best precision at or below the rank where recall r is reached. How many
    documents that is, is ``int(r * R + 0.9)``; trec_eval 10 rounds instead.
    """
    relevant = lists.relevant(measure)
    needed = (measure["recall"] * relevant.total + 0.9).astype(np.int64)
    deep = relevant.nth >= needed[relevant.topic]
    values = np.zeros(lists.topics)
    precision = relevant.nth / (relevant.rank + 1)
    np.maximum.at(values, relevant.topic[deep], precision[deep])
    return values


def bpref(lists: Lists, measure: Measure) -> Floats:
    """Bpref (m_bpref.c): how few judged non-relevant stand above each relevant.

    The non-relevant above are counted up to R, and divided by min(R, N): R the
    relevant and N the judged non-relevant documents of the topic.
    """
    relevant = lists.relevant(measure, condensed=True)
    total = relevant.total
    non_relevant = lists.judgements.counts.between(0, option(measure, "rel", 1))
    above = np.minimum(relevant.rank - (relevant.nth - 1), total[relevant.topic])
    bound = np.minimum(non_relevant, total)[relevant.topic]
    return share(lists.sums(relevant.topic, 1.0 - share(above, bound)), total)


def rank_biased_precision(lists: Lists, measure: Measure) -> Floats:
    """RBP(p, rel): (1 - p) times the sum of p^rank over the relevant documents."""
    relevant = lists.relevant(measure)
    top = in_top(relevant, measure)
    p: float = option(measure, "p", 0.8)
    return (1.0 - p) * lists.sums(relevant.topic[top], np.power(p, relevant.rank[top]))
