"""Small evidence questions in the words that the tiny models know."""

import random

from adducir.studies.complementary_evidence.questions import EvidencePassage, EvidenceQuestion

_WORDS = "cat dog runs fast slow nuclear energy power plants banned clean cheap school".split()  # noqa: SIM905


def some_questions(count: int, passages: int = 5, seed: int = 0) -> list[EvidenceQuestion]:
    """Questions of two words; a true passage repeats one of them, a false one has others."""
    made = []
    for number in range(count):
        draw = random.Random(f"{seed}:{number}")
        one, two, *rest = draw.sample(_WORDS, len(_WORDS))
        texts = [f"{one} is {rest[0]}", f"the {two} and {rest[1]} of it"]
        texts += [f"{' '.join(draw.sample(rest, 1 + n % 4))}" for n in range(passages - 2)]
        order = draw.sample(range(passages), passages)
        question = EvidenceQuestion(
            f"q{seed}-{number}",
            f"{one} and {two} for {number} ?",
            tuple(EvidencePassage(f"p{place}", "", texts[n]) for place, n in enumerate(order)),
            (tuple(place for place, n in enumerate(order) if n < 2),),
        )
        made.append(question.with_sets(negatives=3, seed=seed))
    return made
