"""Long answers of Natural Questions (Kwiatkowski et al., 2019).

Read are the simplified form that is published for training (``document_text``, tokens parted by
blanks) and the full one (``document_tokens``). As in the EGRET paper (section 2.1, note 2) a
question counts where its only answer is long and a paragraph: one with a short answer, or with
yes or no, can be answered without explaining anything.
"""

import re
from collections import Counter
from typing import Any

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")

NO_LONG = "questions without a long answer"
SHORT = "questions with a short answer as well"
NO_PARAGRAPH = "long answers that are a table or a list"


def long_answer(record: dict[str, Any], skipped: Counter[str]) -> str | None:
    """The words of a question's long answer, parted by blanks, without HTML.

    Args:
        skipped: Receives a count where there is no answer to take.

    Returns:
        The text, or None.

    Raises:
        KeyError, TypeError, ValueError: The record is of another shape.
    """
    annotations = record["annotations"]
    spans = [
        (each["long_answer"]["start_token"], each["long_answer"]["end_token"])
        for each in annotations
        if each["long_answer"]["start_token"] >= 0
    ]
    if not spans:
        skipped[NO_LONG] += 1
        return None
    if any(
        each["short_answers"] or each.get("yes_no_answer", "NONE") != "NONE" for each in annotations
    ):
        skipped[SHORT] += 1
        return None
    tokens = _tokens(record)[slice(*spans[0])]
    if not tokens or tokens[0].upper() != "<P>":
        skipped[NO_PARAGRAPH] += 1
        return None
    return " ".join(token for token in tokens if not _TAG.fullmatch(token))


def _tokens(record: dict[str, Any]) -> list[str]:
    if "document_text" in record:
        return str(record["document_text"]).split(" ")
    return [str(token["token"]) for token in record["document_tokens"]]
