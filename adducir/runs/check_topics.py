"""Checks of a run's topics against those of the qrels or of the topic file."""

from collections.abc import Iterator, Sequence

from adducir.runs.findings import Finding, counted, some


def check_topics(qids: Sequence[str], wanted: Sequence[str], holder: str) -> Iterator[Finding]:
    """Missing, unknown and differently written topics.

    Args:
        wanted: The topics that it should have.
        holder: What has them: ``the qrels`` or ``the topics``.
    """
    have, want = set(qids), set(wanted)
    unknown = [qid for qid in qids if qid not in want]
    missing = [qid for qid in wanted if qid not in have]
    by_number = {_unpadded(qid): qid for qid in missing}
    padded = [(qid, by_number[_unpadded(qid)]) for qid in unknown if _unpadded(qid) in by_number]
    if padded:
        ours, theirs = padded[0]
        yield Finding(
            "error",
            "padded-qids",
            f"{counted(len(padded), 'topic')} of the run and of {holder} differ in leading zeros "
            f"only: the run has {ours}, {holder} have {theirs}. Tools take them for others.",
        )
    elif qids and not have & want:
        yield Finding(
            "error",
            "no-common-topics",
            f"the run and {holder} have no topic in common: the run has {some(qids)}, {holder} "
            f"have {some(wanted)}.",
        )
        return
    if missing:
        yield Finding(
            "warning",
            "missing-topics",
            f"the run lacks {counted(len(missing), 'topic')} of {holder}: {some(missing)}. Each "
            "counts as 0 in the mean, in Adducir as in trec_eval -c.",
        )
    if unknown:
        yield Finding(
            "warning",
            "unknown-topics",
            f"{holder} lack {counted(len(unknown), 'topic')} of the run: {some(unknown)}. They "
            "count for nothing.",
        )


def _unpadded(qid: str) -> str:
    return qid.lstrip("0") or "0"
