"""What generators wrote, and what they are compared with."""

from collections.abc import Mapping
from dataclasses import dataclass

from adducir.studies.grounded_generation.contexts import GroundedContext


@dataclass(frozen=True, slots=True)
class Output:
    """One text that was generated from one passage.

    Attributes:
        text: The text.
        docno: The passage, by name; None where it is not known.
        passage: Its text; None where it has to be looked up, or is not known.
    """

    text: str
    docno: str | None = None
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """What a system wrote for one input.

    Attributes:
        id: The input's id.
        outputs: A text for each passage, in the order of the passages' ranks. The first is the
            system's answer.
        pages: The pages of the passages, best first (KILT's provenance).
    """

    id: str
    outputs: tuple[Output, ...]
    pages: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """The answer; empty where there is none."""
        return self.outputs[0].text if self.outputs else ""


@dataclass(frozen=True, slots=True)
class Reference:
    """What is right for one input.

    Attributes:
        id: The input's id.
        answers: The answers, one or several; an output is compared with the nearest.
        input: The input itself; empty where it is not known.
        gold: The docnos of the passages that the answer was written from.
        evidence: The pages behind each answer (KILT).
        unanswerable: Whether the right answer is that there is none (MS MARCO).
    """

    id: str
    answers: tuple[str, ...]
    input: str = ""
    gold: tuple[str, ...] = ()
    evidence: tuple[tuple[str, ...], ...] = ()
    unanswerable: bool = False

    @classmethod
    def of(cls, context: GroundedContext) -> "Reference":
        """The reference of a context with its target."""
        answers = (context.target,) if context.target else ()
        return cls(context.id, answers, context.input, context.gold)


References = Mapping[str, Reference]
"""References by id, in the order in which they are reported."""
System = Mapping[str, Generated]
"""What one system wrote, by id."""
