"""Porter's stemmer, as in Lucene: his own program, with its departures from the paper.

Porter (1980), An algorithm for suffix stripping. Program 14(3), 130-137. Departures: ``-bli``
instead of ``-abli`` becomes ``-ble``, ``-logi`` becomes ``-log``, and words of one or two letters
stay as they are. Letters are UTF-16 units, and all but a to z are consonants.

``stem`` and ``shape`` run as they are, on lists, and compiled, on arrays (:mod:`.bulk`).
"""

from typing import Any

_A, _B, _D, _E, _G, _I, _L, _N, _O, _S, _T, _U, _W, _X, _Y, _Z = b"abdegilnostuwxyz"
_VOWELS = (_A, _E, _I, _O, _U)
_LONGEST = 7  # letters of a suffix

# The suffixes of steps 2, 3 and 4 and what replaces them. The first that fits is the only one.
_STEPS = (
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous"
    " ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al"
    " iviti:ive biliti:ble logi:log",
    "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:",
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive:"
    " ize:",
)


def _rules() -> list[list[int]]:
    """Of each rule the step, two lengths, the suffix and its replacement, padded."""
    rules = []
    for step, text in enumerate(_STEPS, 2):
        for rule in text.split():
            suffix, _, new = rule.encode().partition(b":")
            padded = suffix.ljust(_LONGEST, b"\0") + new.ljust(_LONGEST, b"\0")
            rules.append([step, len(suffix), len(new), *padded])
    return rules


RULES = _rules()


def shape(word: Any, size: int) -> tuple[int, bool, bool, bool]:
    """Porter's measure of ``word[:size]``, and three conditions.

    They are whether it has a vowel, ends in a double consonant, and ends in consonant, vowel,
    consonant, of which the last is not w, x or y.
    """
    measure, has_vowel = 0, False
    before_last = last = is_vowel = False  # whether the letters up to the current one are vowels
    for i in range(size):
        letter = word[i]
        before_last, last = last, is_vowel
        is_vowel = letter in _VOWELS or (letter == _Y and i > 0 and not last)
        if is_vowel:
            has_vowel = True
        elif last:
            measure += 1
    is_double = size > 1 and not is_vowel and word[size - 1] == word[size - 2]
    letter = word[size - 1] if size > 2 else _W
    is_wxy = letter in (_W, _X, _Y)
    is_short = size > 2 and not is_vowel and last and not before_last and not is_wxy
    return measure, has_vowel, is_double, is_short


def stem(word: Any, size: int, rules: Any) -> int:
    """Stem ``word[:size]`` in place, and return how many letters remain."""
    if size < 3:
        return size
    # Step 1: plurals, -ed, -ing, and a final y.
    if word[size - 1] == _S:
        is_es = word[size - 2] == _E
        if is_es and (
            word[size - 3] == _I or (size > 3 and word[size - 3] == word[size - 4] == _S)
        ):
            size -= 2
        elif word[size - 2] != _S:
            size -= 1
    cut = 0
    if size > 1 and word[size - 1] == _D and word[size - 2] == _E:
        cut = 2
    elif size > 2 and word[size - 1] == _G and word[size - 2] == _N and word[size - 3] == _I:
        cut = 3
    if cut == 2 and size > 2 and word[size - 3] == _E:
        if shape(word, size - 3)[0] > 0:
            size -= 1
    elif cut and shape(word, size - cut)[1]:
        size -= cut
        measure, _, is_double, is_short = shape(word, size)
        last, before = word[size - 1], word[size - 2] if size > 1 else 0
        if (
            (before == _A and last == _T)
            or (before == _B and last == _L)
            or (before == _I and last == _Z)
        ):
            word[size] = _E
            size += 1
        elif is_double:
            if last != _L and last != _S and last != _Z:
                size -= 1
        elif measure == 1 and is_short:
            word[size] = _E
            size += 1
    if word[size - 1] == _Y and shape(word, size - 1)[1]:
        word[size - 1] = _I
    # Steps 2 to 4: double suffixes, -ic-, -full, -ness, and the rest.
    done = 1
    for rule in rules:
        step, length, added = rule[0], rule[1], rule[2]
        rest = size - length
        if step == done or rest < 0:
            continue
        i = 0
        while i < length and word[rest + i] == rule[3 + i]:
            i += 1
        # -ion only after s or t
        if i < length or (
            step == 4
            and word[rest] == _I
            and word[rest + 1] == _O
            and (rest == 0 or (word[rest - 1] != _S and word[rest - 1] != _T))
        ):
            continue
        done = step
        if shape(word, rest)[0] > (step == 4):
            for i in range(added):
                word[rest + i] = rule[3 + _LONGEST + i]
            size = rest + added
    # Step 5: a final e, and a double l.
    measure = shape(word, size)[0]
    if word[size - 1] == _E and (measure > 1 or (measure == 1 and not shape(word, size - 1)[3])):
        size -= 1
    if word[size - 1] == _L and measure > 1 and shape(word, size)[2]:
        size -= 1
    return size
