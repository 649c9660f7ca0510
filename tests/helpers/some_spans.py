"""Spans for the tests of encoders."""

from adducir.corpora.spans import MaskedSpan

SENTENCES = [
    "the cat runs fast .",
    "a dog ran for example .",
    "nuclear energy is clean and cheap .",
    "school uniforms should be banned because of cats .",
    "power plants are not a slow dog !",
    "the argument is in a cafe .",
    "dogs and cats run on nuclear power .",
]


def some_spans(count: int, groups: int = 4) -> list[MaskedSpan]:
    """Spans whose text depends on their context, so that there is something to learn."""
    found = []
    for number in range(count):
        first = SENTENCES[number % len(SENTENCES)]
        second = SENTENCES[(number // 7) % len(SENTENCES)]
        third = SENTENCES[(3 * number + 1) % len(SENTENCES)]
        found.append(
            MaskedSpan(
                f"s{number}",
                f"book{number % groups}",
                (third, first),
                (f"{first} {number}",),
                (second,),
                f"c{number}",
            )
        )
    return found
