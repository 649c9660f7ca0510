"""The rules of Lucene's StandardTokenizer, from which ``adducir/indexes/text/words.txt`` is made.

The rules are Unicode's word boundaries (UAX #29, WB3 to WB16, as tokens instead of boundaries) and
emoji sequences (UTS #51, ED-14 to ED-17), over classes of code points. They are compiled here to
the smallest automaton. Which code point is in which class, and Java's lower case, are facts of the
installed Lucene (Unicode 12.1) and Java, read from them:

    python tests/helpers/word_rules.py

``differences`` walks this automaton and that of Lucene's class together, so that finding none
proves that both make the same tokens of every text.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adducir.indexes import jvm, text

TABLE = Path(text.__file__).with_name("words.txt")
CLASSES = {  # each with one of its code points
    "Other": " ",
    "Double_Quote": '"',
    "Keycap_Base": "#",
    "Single_Quote": "'",
    "MidNum": ",",
    "MidNumLet": ".",
    "Digit": "1",
    "MidLetter": ":",
    "ALetter": "a",
    "ExtendNumLet": "_",
    "Pictographic": "😀",
    "Extend": "\u0301",
    "Hebrew_Letter": "א",
    "Numeric": "٠",
    "Complex": "ก",
    "Complex_Extend": "\u0e31",
    "Hangul": "가",
    "ZWJ": "\u200d",
    "Keycap": "\u20e3",
    "Letter_Pictographic": "Ⓜ",
    "Han": "漢",
    "Katakana": "カ",
    "Hiragana": "あ",
    "Text_Selector": "\ufe0e",
    "Emoji_Selector": "\ufe0f",
    "Regional_Indicator": "🇦",
    "Emoji_Modifier": "🏽",
    "Tag": "\U000e0061",
    "Cancel_Tag": "\U000e007f",
}
TYPES = ["EMOJI", "NUM", "HANGUL", "KATAKANA"]
TYPES += ["ALPHANUM", "SOUTHEAST_ASIAN", "IDEOGRAPHIC", "HIRAGANA"]
HEADER = """\
# How Lucene 9 and 10 cut text into tokens (StandardTokenizer, Unicode 12.1), and Java's lower case
# of them. Made by tests/helpers/word_rules.py, which has the rules; read by tables.py.
# classes: of code points. states: the type of a token that can end in a state (- for none), and the
# next state for each class (. for none). ranges: first and last code point and their class, if it
# is not Other. lower: first and last capital, the step between them, and what to add."""
NUMBERS = {name: number for number, name in enumerate(CLASSES)}


class Part(NamedTuple):
    """A regular expression as an automaton with empty moves: edges, first state, last state."""

    edges: list[tuple[int, int | None, int]]
    first: int
    last: int


class Rules:
    """Builds the automaton; every method returns a new part."""

    def __init__(self) -> None:
        self._states = 0

    def _ends(self) -> tuple[int, int]:
        self._states += 2
        return self._states - 2, self._states - 1

    def one(self, *names: str) -> Part:
        """One code point of any of these classes."""
        first, last = self._ends()
        return Part([(first, NUMBERS[name], last) for name in names], first, last)

    def all(self, *makers: Any) -> Part:
        """One after the other."""
        parts = [make() for make in makers]
        edges = [edge for part in parts for edge in part.edges]
        edges += [(one.last, None, other.first) for one, other in pairwise(parts)]
        return Part(edges, parts[0].first, parts[-1].last)

    def either(self, *makers: Any) -> Part:
        first, last = self._ends()
        parts = [make() for make in makers]
        edges = [edge for part in parts for edge in part.edges]
        for part in parts:
            edges += [(first, None, part.first), (part.last, None, last)]
        return Part(edges, first, last)

    def maybe(self, make: Any) -> Part:
        part = make()
        return Part([*part.edges, (part.first, None, part.last)], part.first, part.last)

    def many(self, make: Any, least: int = 0) -> Part:
        """Any number of times, or at least once."""
        first, last = self._ends()
        part = make()
        edges = [*part.edges, (first, None, part.first), (part.last, None, last)]
        edges.append((part.last, None, part.first))
        if not least:
            edges.append((first, None, last))
        return Part(edges, first, last)


def rules() -> dict[str, Part]:
    """One expression per type of token; the first type wins if several match."""
    r = Rules()
    kin = ("Extend", "Complex_Extend", "ZWJ", "Keycap", "Emoji_Modifier", "Tag", "Cancel_Tag")

    def bare(*names: str) -> Any:
        return lambda: r.one(*names)

    def extended(*names: str) -> Any:  # WB4, in emoji without variation selectors
        return lambda: r.all(bare(*names), lambda: r.many(bare(*kin)))

    def word(*names: str) -> Any:  # WB4
        selectors = ("Text_Selector", "Emoji_Selector")
        return lambda: r.all(bare(*names), lambda: r.many(bare(*kin, *selectors)))

    def seq(*makers: Any) -> Any:
        return lambda: r.all(*makers)

    def either(*makers: Any) -> Any:
        return lambda: r.either(*makers)

    def maybe(make: Any) -> Any:
        return lambda: r.maybe(make)

    def many(make: Any, least: int = 0) -> Any:
        return lambda: r.many(make, least)

    letter = word("ALetter", "Hangul", "Letter_Pictographic", "Hebrew_Letter")
    hebrew, katakana = word("Hebrew_Letter"), word("Katakana")
    number, joiner = word("Digit", "Numeric"), word("ExtendNumLet")
    single, double = word("Single_Quote"), word("Double_Quote")
    in_words = word("MidLetter", "MidNumLet", "Single_Quote")
    in_numbers = word("MidNum", "MidNumLet", "Single_Quote")
    letters = seq(letter, many(seq(either(many(joiner), in_words), letter)))
    numbers = seq(number, many(seq(either(many(joiner), in_numbers), number)))
    quoted = seq(hebrew, either(single, seq(double, hebrew)))  # WB7a to WB7c
    kana = seq(katakana, many(seq(many(joiner), katakana)))
    block = either(kana, many(either(quoted, numbers, letters), 1))

    picture = extended("Pictographic", "Letter_Pictographic")
    modifier = extended("Emoji_Modifier")
    selector, zwj = bare("Emoji_Selector"), bare("ZWJ")
    flag = seq(word("Regional_Indicator"), word("Regional_Indicator"))
    keycap = seq(extended("Digit", "Keycap_Base"), maybe(selector), extended("Keycap"))
    tags = seq(many(zwj), picture, selector, many(bare("Tag"), 1), bare("Cancel_Tag"))
    joined = seq(
        either(many(zwj), seq(modifier, zwj)),
        picture,
        many(
            either(
                seq(maybe(selector), many(zwj, 1), picture),
                seq(selector, zwj, modifier, zwj, picture),
            )
        ),
        maybe(seq(selector, maybe(seq(zwj, modifier)))),
    )
    return {
        "EMOJI": either(flag, keycap, tags, joined, modifier)(),
        "NUM": seq(many(joiner), numbers, many(joiner))(),
        "HANGUL": many(word("Hangul"), 1)(),
        "KATAKANA": many(katakana, 1)(),
        "ALPHANUM": seq(many(joiner), block, many(seq(many(joiner, 1), block)), many(joiner))(),
        "SOUTHEAST_ASIAN": many(word("Complex", "Complex_Extend"), 1)(),
        "IDEOGRAPHIC": word("Han")(),
        "HIRAGANA": word("Hiragana")(),
    }


class Automaton(NamedTuple):
    """(states, classes) next states and each state's type, -1 for none; the first state is 0."""

    moves: np.ndarray
    types: np.ndarray


def compiled() -> Automaton:
    """The smallest automaton of the rules, by subsets of states and by refining their partition."""
    parts = rules()
    empty: dict[int, list[int]] = {}
    edges: dict[int, list[tuple[int, int]]] = {}
    for part in parts.values():
        for source, name, target in part.edges:
            if name is None:
                empty.setdefault(source, []).append(target)
            else:
                edges.setdefault(source, []).append((name, target))
    lasts = {part.last: TYPES.index(name) for name, part in parts.items()}

    def closed(states: Iterable[int]) -> frozenset[int]:
        seen, waiting = set(states), list(states)
        while waiting:
            for target in empty.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return frozenset(seen)

    known = {closed([part.first for part in parts.values()]): 0}
    moves, types, waiting = [], [], deque(known)
    while waiting:
        subset = waiting.popleft()
        targets: dict[int, set[int]] = {}
        for state in subset:
            for name, target in edges.get(state, ()):
                targets.setdefault(name, set()).add(target)
        row = [-1] * len(CLASSES)
        for name, target in sorted(targets.items()):
            following = closed(target)
            if following not in known:
                known[following] = len(known)
                waiting.append(following)
            row[name] = known[following]
        moves.append(row)
        types.append(min((lasts[state] for state in subset if state in lasts), default=-1))
    return smallest(Automaton(np.array(moves), np.array(types)))


def smallest(automaton: Automaton) -> Automaton:
    blocks = automaton.types + 1
    while True:
        # No state is -1, which the last entry stands for.
        following = np.append(blocks, -1)[automaton.moves]
        keys = np.column_stack([blocks, following])
        _, first, refined = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # numbered by their first states, so that 0 stays first
        refined = np.argsort(order)[refined.ravel()]
        if refined.max() == blocks.max() and len(set(zip(refined, blocks, strict=True))) == len(
            set(refined)
        ):
            break
        blocks = refined
    representatives = np.unique(refined, return_index=True)[1]
    moves = np.append(refined, -1)[automaton.moves[representatives]]
    return Automaton(moves, automaton.types[representatives])


class Lucene(NamedTuple):
    """What Lucene's generated tokeniser holds: each code point's class, and its automaton."""

    classes: np.ndarray
    automaton: Automaton


def lucene() -> Lucene:
    jvm.start()
    from jnius import autoclass

    name = "org.apache.lucene.analysis.standard.StandardTokenizerImpl"
    tokenizer = autoclass(name, include_private=True)

    def table(name: str) -> np.ndarray:
        return np.array(getattr(tokenizer, f"ZZ_{name}"), dtype=np.int64)

    codes = np.arange(0x110000)
    classes = table("CMAP_BLOCKS")[table("CMAP_TOP")[codes >> 8] | (codes & 255)]
    moves = table("TRANS")[table("ROWMAP")[:, None] + np.arange(classes.max() + 1)]
    # The actions are numbered in the order of their rules, the first being to skip a code point.
    numbers = np.array([-1, -1, 1, 4, 0, 5, 2, 6, 3, 7])  # places in TYPES
    return Lucene(classes, Automaton(moves, numbers[table("ACTION")]))


def classes_of(tokenizer: Lucene) -> np.ndarray:
    """Each code point's class by our numbers."""
    names = {tokenizer.classes[ord(sign)]: NUMBERS[name] for name, sign in CLASSES.items()}
    assert len(names) == len(CLASSES) == tokenizer.classes.max() + 1
    return np.array([names[number] for number in range(len(names))])[tokenizer.classes]


def differences(ours: Automaton, tokenizer: Lucene) -> Iterator[str]:
    """Every pair of states that some text leads to and whose types differ, with such a text."""
    order = [tokenizer.classes[ord(sign)] for sign in CLASSES.values()]
    theirs = Automaton(tokenizer.automaton.moves[:, order], tokenizer.automaton.types)
    # The last state, which -1 also stands for, has no way out.
    first, second = (
        Automaton(np.vstack([one.moves, np.full(len(CLASSES), -1)]), np.append(one.types, -1))
        for one in (ours, theirs)
    )
    texts = {(0, 0): ""}
    waiting = deque(texts)
    while waiting:
        pair = waiting.popleft()
        types = first.types[pair[0]], second.types[pair[1]]
        if types[0] != types[1]:
            yield f"{texts[pair]!r}: {types[0]}, not {types[1]}"
        for sign, mine, other in zip(
            CLASSES.values(), first.moves[pair[0]], second.moves[pair[1]], strict=True
        ):
            following = (int(mine), int(other))
            if following not in texts:
                texts[following] = texts[pair] + sign
                waiting.append(following)


def lower_cases() -> dict[int, int]:
    """What Java makes of each capital that can be in a token."""
    character = jvm.java_class("java.lang.Character")
    tokenizer = lucene()
    codes = np.flatnonzero(classes_of(tokenizer)).tolist()
    lower = {code: character.toLowerCase(code) for code in codes}
    return {code: small for code, small in lower.items() if small != code}


def runs(keys: Sequence[int], values: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
    """First and last key of each run of consecutive keys with one value."""
    first = 0
    for place in range(1, len(keys) + 1):
        ends = place == len(keys) or keys[place] != keys[place - 1] + 1
        if ends or values[place] != values[first]:
            yield keys[first], keys[place - 1], values[first]
            first = place


def written() -> str:
    """The content of the table."""
    automaton = compiled()
    lines = [HEADER, "[classes]", *CLASSES, "[states]"]
    for moves, kind in zip(automaton.moves.tolist(), automaton.types.tolist(), strict=True):
        following = " ".join("." if move < 0 else str(move) for move in moves)
        lines.append(f"{TYPES[kind] if kind >= 0 else '-'} {following}")
    lines.append("[ranges]")
    names = list(CLASSES)
    for first, last, number in runs(range(0x110000), classes_of(lucene()).tolist()):
        if number:
            lines.append(f"{first:x} {last:x} {names[number]}")
    lines.append("[lower]")
    added = {code: small - code for code, small in lower_cases().items()}
    for step, parity in ((1, 0), (2, 0), (2, 1)):  # pairs, of which every second code is a capital
        codes = [
            code // step
            for code, plus in added.items()
            if (plus == 1) == (step == 2) and code % step == parity
        ]
        values = [added[code * step + parity] for code in codes]
        for first, last, plus in runs(codes, values):
            lines.append(f"{first * step + parity:x} {last * step + parity:x} {step} {plus}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(*differences(compiled(), lucene()), sep="\n")
    TABLE.write_text(written(), encoding="ascii")
