"""Measures of generated texts: against answers, against passages, KILT's and MS MARCO's."""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.evaluation.generation.answers import Answers, Knowledge
    from adducir.evaluation.generation.files import read_generated, read_references
    from adducir.evaluation.generation.grounding import Grounding
    from adducir.evaluation.generation.kilt import Kilt
    from adducir.evaluation.generation.msmarco import MsMarco
    from adducir.evaluation.generation.overlap import f1, novel_f1
    from adducir.evaluation.generation.sharpness import sharpness
    from adducir.evaluation.generation.texts import Generated, Output, Reference
    from adducir.evaluation.generation.words import common_words

__all__ = [
    "Answers",
    "Generated",
    "Grounding",
    "Kilt",
    "Knowledge",
    "MsMarco",
    "Output",
    "Reference",
    "common_words",
    "f1",
    "novel_f1",
    "read_generated",
    "read_references",
    "sharpness",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
