"""Analysis of collections: blocks of UTF-8 texts to term ids, compiled, in threads.

Each thread has a hash table of the words that it has seen. The compiled scanner turns a block into
places in that table. Only then are the words that are new stemmed and numbered, so that each is
once, and the places replaced by the numbers, which all threads share. Words are kept as 8 bytes at
a time, so that hashing and comparing take a step or two.
"""

from collections import deque
from itertools import islice
from threading import Lock
from types import FunctionType

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import inner, was_compiled
from adducir.indexes.text import porter
from adducir.indexes.text.analysers import EnglishAnalyser, TextAnalyser
from adducir.indexes.text.tables import MOST_UNITS, STRIDE

_WORD_BITS = 17  # of a word's number; a table that is full is emptied
_SLOT_BITS = _WORD_BITS + 1
_STORE_BITS = _WORD_BITS + 1  # of a word's place
_SIZE_BITS = 10  # of a word's bytes, at most 3 a unit
_PLACE_BITS = _STORE_BITS + _SIZE_BITS
_NEW, _STOPWORD = -1, -2  # instead of an id
_FEW = 1 << 14  # terms, until which stemming in Python is faster than to compile it
# What to keep of 8 bytes with so many of a word (little-endian).
_KEPT = np.array([(1 << 8 * size) - 1 for size in range(8)], dtype=np.uint64)


@inner
def scan(
    block: Array,
    classes: Array,
    moves: Array,
    types: Array,
    lower: Array,
    run: Array,
    run_state: int,
    is_english: bool,
    slots: Array,
    words: Array,
    store: Array,
    sign: Array,
    word: Array,
    counts: Array,
    found: Array,
    state: Array,
) -> bool:
    """Find the words of a block, from ``state`` on; False if the table of words is full.

    ``block`` has each text after its length (4 bytes, little-endian). ``slots`` have a part of a
    word's hash and its number plus 1; ``words`` have the id of its term, its place in the store and
    its size. ``sign`` and ``word`` are the same memory. ``found`` gets the ids, or of new words -1
    minus their numbers, and ``counts`` how many each text has.
    """
    text, place, end = state[0], state[1], state[2]
    total, known, used = state[3], state[4], state[5]
    while True:
        if place >= end:
            text += 1
            if text == len(counts):
                break
            end = place + 4
            for i in range(4):
                end += np.int64(block[place + i]) << 8 * i
            place += 4
            continue
        # The longest token that starts here.
        first = place
        following = place + 1
        now, units, size, last, kept = 1, 0, 0, 0, 0
        while place < end:
            if now == run_state:  # letters and the like do not leave this state
                begin = place
                stop = min(end, place + MOST_UNITS - units)
                while place < stop:
                    letter = run[block[place]]
                    if letter == 0:
                        break
                    sign[size] = letter
                    size += 1
                    place += 1
                units += place - begin
                if begin < place:
                    last, kept = place, size
                if place >= end:
                    break
            code = np.int64(block[place])
            step = 1
            if code >= 0xC0:
                step = 2 if code < 0xE0 else 3 if code < 0xF0 else 4
                code &= 0x7F >> step
                for i in range(1, step):
                    code = code << 6 | (block[place + i] & 0x3F)
                if now == 1:
                    following = place + step
            now = int(moves[now * STRIDE + classes[code]])
            width = 2 if step == 4 else 1
            if now == 0 or units + (width if is_english else 1) > MOST_UNITS:
                break
            units += width
            place += step
            if code < len(lower):
                code = np.int64(lower[code])
            if code < 0x80:
                sign[size] = code
                size += 1
            else:
                step = 2 if code < 0x800 else 3 if code < 0x10000 else 4
                for i in range(step - 1, 0, -1):
                    sign[size + i] = 0x80 | (code & 0x3F)
                    code >>= 6
                sign[size] = (0xF00 >> step & 0xFF) | code
                size += step
            if types[now]:
                last, kept = place, size
        if last == 0:
            place = following
            continue
        place, size = last, kept
        # Without a final 's, with any of three apostrophes.
        if is_english and size > 1 and sign[size - 1] == 0x73:
            if sign[size - 2] == 0x27:
                size -= 2
            elif size > 3:
                apostrophe = np.int64(sign[size - 4]) << 16 | np.int64(sign[size - 3]) << 8
                apostrophe |= sign[size - 2]
                if apostrophe == 0xE28099 or apostrophe == 0xEFBC87:
                    size -= 4
        length = size >> 3
        if size & 7:
            word[length] &= _KEPT[size & 7]
            length += 1
        key = np.uint64(size)
        for i in range(length):
            key = (key ^ key >> np.uint64(32) ^ word[i]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(key >> np.uint64(64 - _SLOT_BITS))
        tag = np.int64(key >> np.uint64(32)) & ((1 << 31 - _SLOT_BITS) - 1)
        while True:
            entry = np.int64(slots[slot])
            number = (entry & ((1 << _SLOT_BITS) - 1)) - 1
            if number < 0:
                if known == len(words) or used + length > len(store):
                    state[0], state[1], state[2] = text, first, end
                    state[3], state[4], state[5] = total, known, used
                    return False
                for i in range(length):
                    store[used + i] = word[i]
                number = known
                about = _NEW << _PLACE_BITS | used << _SIZE_BITS | size
                words[known] = about
                known += 1
                slots[slot] = tag << _SLOT_BITS | known
                used += length
                break
            if entry >> _SLOT_BITS == tag:
                about = words[number]
                if about & ((1 << _SIZE_BITS) - 1) == size:
                    begin = about >> _SIZE_BITS & ((1 << _STORE_BITS) - 1)
                    i = 0
                    while i < length and store[begin + i] == word[i]:
                        i += 1
                    if i == length:
                        break
            slot = (slot + 1) & ((1 << _SLOT_BITS) - 1)
        term = about >> _PLACE_BITS
        if term != _STOPWORD:
            found[total] = term if term >= 0 else -1 - number
            total += 1
            counts[text] += 1
    state[3], state[4], state[5] = total, known, used
    return True


# The same code as in Python, but with the compiled function in place of the plain one.
_shape = inner(porter.shape)
_stem = inner(FunctionType(porter.stem.__code__, vars(porter) | {"shape": _shape}))


@inner
def stem_all(letters: Array, begins: Array, sizes: Array, rules: Array) -> None:
    """Stem words of ASCII in place, and correct their sizes."""
    for number in range(len(begins)):
        begin, size = begins[number], sizes[number]
        sizes[number] = _stem(letters[begin : begin + size], size, rules)


class _Words:
    """A table of words and the ids of their terms, for one thread at a time."""

    def __init__(self) -> None:
        self.slots = np.zeros(1 << _SLOT_BITS, dtype=np.int32)
        self.words = np.zeros(1 << _WORD_BITS, dtype=np.int64)
        self.store = np.zeros(1 << _STORE_BITS, dtype=np.uint64)
        self.word = np.zeros(3 * MOST_UNITS // 8 + 2, dtype=np.uint64)
        self.known = self.used = 0

    def empty(self) -> None:
        self.slots[:] = 0
        self.known = self.used = 0


class CompiledBulk:
    """Texts to term ids, by any number of threads; a term keeps its id."""

    def __init__(self, analyser: TextAnalyser) -> None:
        self._analyser = analyser
        self._stems = isinstance(analyser, EnglishAnalyser) and analyser.stems
        tables = analyser.tables
        # Where the state that letters lead to stays, and what they are in lower case.
        run_state = int(tables.moves[STRIDE + tables.classes[ord("a")]])
        stays = tables.moves[run_state * STRIDE + tables.classes[:128].astype(int)] == run_state
        run = np.zeros(256, dtype=np.uint8)
        signs = tables.lower[:128] if len(tables.lower) else np.arange(128)
        run[:128] = np.where(stays, signs, 0)
        self._tables = *tables[:4], run, run_state, analyser.is_english
        self._ids: dict[str, int] = {}
        self._lock = Lock()
        self._idle: deque[_Words] = deque()

    def tokens(self, texts: int, block: bytes) -> tuple[Array, Array]:
        """All term ids of a block's texts, and (n + 1,) where each text begins."""
        try:
            words = self._idle.pop()
        except IndexError:
            words = _Words()
        data = np.frombuffer(block, dtype=np.uint8)
        counts = np.zeros(texts, dtype=np.int32)
        found = np.empty(len(data) // 2 + 1, dtype=np.int32)
        state = np.array([-1, 0, 0, 0, words.known, words.used], dtype=np.int64)
        table = words.slots, words.words, words.store, words.word.view(np.uint8), words.word
        done, has_stopwords, is_done = 0, False, False
        while not is_done:
            is_done = bool(scan(data, *self._tables, *table, counts, found, state))
            part = found[done : int(state[3])]
            done += len(part)
            if words.known < state[4]:
                self._number(words, int(state[4]))
                is_new = part < 0
                part[is_new] = words.words[_NEW - part[is_new]] >> _PLACE_BITS
                has_stopwords = True
            words.used = int(state[5])
            if not is_done:
                words.empty()
                state[4:] = 0
        self._idle.append(words)
        starts = np.zeros(texts + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        found = found[:done]
        if has_stopwords:  # those that the scanner did not know yet
            is_term = found != _STOPWORD
            starts = np.concatenate([[0], np.cumsum(is_term)])[starts]
            found = found[is_term]
        return found, starts

    def _number(self, words: _Words, known: int) -> None:
        """Give the words from ``words.known`` to ``known`` the ids of their terms."""
        new = words.words[words.known : known]
        places = new & ((1 << _PLACE_BITS) - 1)
        begins, sizes = places >> _SIZE_BITS, places & ((1 << _SIZE_BITS) - 1)
        letters = words.store[begins[0] : begins[-1] + (sizes[-1] + 7 >> 3)].view(np.uint8)
        begins = (begins - begins[0]) * 8
        spelt = _spelt(letters, begins, sizes)
        if not self._stems:
            terms = spelt
        elif len(self._ids) < _FEW and not was_compiled(stem_all):
            terms = list(map(self._analyser.stem, spelt))
        else:
            stems = letters.copy()
            is_plain = np.array([word.isascii() for word in spelt])
            lengths = np.where(is_plain, sizes, 0)
            stem_all(stems, begins, lengths, _RULES)
            terms = _spelt(stems, begins, lengths)
            for place in np.flatnonzero(~is_plain).tolist():
                terms[place] = self._analyser.stem(spelt[place])
        ids, stopwords = self._ids, self._analyser.stopwords
        with self._lock:
            new_ids = [
                _STOPWORD if word in stopwords else ids.setdefault(term, len(ids))
                for word, term in zip(spelt, terms, strict=True)
            ]
        new[:] = np.array(new_ids) << _PLACE_BITS | places
        words.known = known

    def terms(self, first: int = 0) -> list[str]:
        """The terms from id ``first`` on."""
        with self._lock:
            return list(islice(self._ids, first, None))


_RULES = np.array(porter.RULES, dtype=np.uint8)


def _spelt(letters: Array, begins: Array, sizes: Array) -> list[str]:
    data = letters.tobytes()
    ends = (begins + sizes).tolist()
    return [data[begin:end].decode() for begin, end in zip(begins.tolist(), ends, strict=True)]
