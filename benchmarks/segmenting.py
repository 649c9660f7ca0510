"""Sentence segmentation: Adducir's cuts against those of the libraries that need no download.

The answers of collections/eli5 whose sentences were labelled by people come cut into sentences.
A tool had cut them before they were labelled ("K." stands alone in one), so this is agreement
with good cuts, not accuracy. A boundary is recognised by the first letter or digit behind it, so
that it does not matter which sentence a bullet, quotation mark or bracket at the seam belongs to.
Answers whose sentences cannot be found in their text are left out and counted.

Then the books of collections/gutenberg between their START and END lines are cut, and it is
reported how fast (processor time, since the machine may be shared), how many of the boundaries each
has that Adducir has not, and the other way round. Books have no labels: --show prints a sample of
these differences, to be read.

Rivals that are not installed are ignored: pip install pysbd sentencex blingfire
sentence-splitter segtok

    ADDUCIR_COLLECTIONS=... python benchmarks/segmenting.py [--show 10] [--books novels/98-*]
"""

import argparse
import json
import os
import random
import re
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from adducir.studies.books import body_bounds
from adducir.studies.sentences import sentence_bounds

Cutter = Callable[[str], Iterable[int]]
SLOW_LETTERS = 200_000
"""A library that needs more than a minute for a megabyte gets so many letters of the books."""


def starts_of(text: str, sentences: Iterable[str]) -> list[int] | None:
    """Where these sentences begin in their text, whatever white space it has; None: lost one."""
    starts, place = [], 0
    for sentence in sentences:
        if not (words := sentence.split()):
            continue
        found = re.compile(r"\s+".join(map(re.escape, words))).search(text, place)
        if found is None:
            return None
        starts.append(found.start())
        place = found.end()
    return starts


def rivals() -> dict[str, Cutter]:
    """Every library that can be imported, as a function from a text to starts of sentences."""

    def syntok() -> Cutter:
        analyze = import_module("syntok.segmenter").analyze
        return lambda text: [s[0].offset for part in analyze(text) for s in part]

    def blingfire() -> Cutter:
        cut = import_module("blingfire").text_to_sentences_and_offsets
        return lambda text: [start for start, _ in cut(text)[1]]

    def by_sentences(cut: Callable[[str], Iterable[str]]) -> Cutter:
        return lambda text: starts_of(text, cut(text)) or []

    def pysbd() -> Cutter:
        return by_sentences(import_module("pysbd").Segmenter(language="en", clean=False).segment)

    def sentencex() -> Cutter:
        segment = import_module("sentencex").segment
        return by_sentences(lambda text: segment("en", text))

    def sentence_splitter() -> Cutter:
        return by_sentences(import_module("sentence_splitter").SentenceSplitter("en").split)

    def segtok() -> Cutter:
        return by_sentences(import_module("segtok.segmenter").split_single)

    found: dict[str, Cutter] = {
        "adducir": lambda text: [start for start, _ in sentence_bounds(text)]
    }
    for make in (syntok, pysbd, sentencex, blingfire, sentence_splitter, segtok):
        try:
            found[make.__name__] = make()
        except ImportError:
            print(f"({make.__name__} is not installed)")
    return found


def seams(text: str, starts: Iterable[int]) -> set[int]:
    """The first letter or digit behind each boundary; that of the text itself is none."""
    places = set()
    for start in starts:
        while start < len(text) and not text[start].isalnum():
            start += 1
        if start < len(text):
            places.add(start)
    first = next((i for i, letter in enumerate(text) if letter.isalnum()), 0)
    return places - {first}


def labelled(path: Path) -> list[tuple[str, str, set[int]]]:
    """Dataset, text and boundaries of every answer that can be aligned."""
    answers, lost = [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        text = record["answer_paragraph"]
        starts = starts_of(text, record["answer_sentences"])
        if starts is None:
            lost += 1
        else:
            answers.append((record["dataset"], text, seams(text, starts)))
    print(f"{len(answers)} labelled answers, {lost} left out")
    return answers


def on_answers(cutters: dict[str, Cutter], answers: list[tuple[str, str, set[int]]]) -> None:
    """Precision and recall of boundaries."""
    print(f"\n{'answers':18} {'P':>6} {'R':>6} {'F1':>6} {'seconds':>8}")
    for name, cut in cutters.items():
        hits = made = wanted = 0
        began = time.process_time()
        found = [set(cut(text)) for _, text, _ in answers]
        seconds = time.process_time() - began
        for starts, (_, text, gold) in zip(found, answers, strict=True):
            got = seams(text, starts)
            hits, made, wanted = hits + len(got & gold), made + len(got), wanted + len(gold)
        p, r = hits / made, hits / wanted
        print(f"{name:18} {p:6.3f} {r:6.3f} {2 * p * r / (p + r):6.3f} {seconds:8.2f}")


def on_books(cutters: dict[str, Cutter], texts: list[str], show: int) -> None:
    """Speed, and differences; every library gets one unwrapped paragraph at a time."""
    parts = [
        re.sub(r"\s", " ", part) for text in texts for part in re.split(r"\n\s*\n", text) if part
    ]
    letters = sum(map(len, parts))
    print(f"\n{letters / 1e6:.1f} million letters of {len(texts)} books")
    print(f"{'books':18} {'MB/s':>6} {'boundaries':>10} {'not ours':>9} {'only ours':>9}")
    ours: list[set[int]] = []
    for name, cut in cutters.items():
        done, found, began = 0, [], time.process_time()
        for part in parts:
            found.append(set(cut(part)))
            done += len(part)
            if time.process_time() - began > 60 and done > SLOW_LETTERS:
                break
        seconds = time.process_time() - began
        places = [seams(part, starts) for part, starts in zip(parts, found, strict=False)]
        ours = ours or places
        theirs_only = [(i, at) for i, mine in enumerate(places) for at in mine - ours[i]]
        ours_only = [(i, at) for i, mine in enumerate(places) for at in ours[i] - mine]
        cuts = sum(map(len, places))
        print(
            f"{name:18} {done / seconds / 1e6:6.2f} {cuts:10,} {len(theirs_only):9,}"
            f" {len(ours_only):9,}" + ("" if done == letters else f"  ({done:,} letters)")
        )
        for title, places_apart in (("not ours", theirs_only), ("only ours", ours_only)):
            for i, at in random.Random(1).sample(places_apart, min(show, len(places_apart))):
                print(f"    {title}: …{parts[i][max(0, at - 55) : at]}‖{parts[i][at : at + 35]}…")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--show", type=int, default=0, help="differences to print")
    parser.add_argument("--books", default="*/*.txt", help="which books, as a pattern")
    arguments = parser.parse_args()
    folder = Path(os.environ["ADDUCIR_COLLECTIONS"])
    warnings.simplefilter("ignore")
    cutters = rivals()
    on_answers(cutters, labelled(folder / "eli5" / "lfqa_discourse.role_annotation.jsonl"))
    texts = []
    for path in sorted((folder / "gutenberg").glob(arguments.books)):
        text = path.read_text(encoding="utf-8")
        start, end = body_bounds(text)
        texts.append(text[start:end])
    on_books(cutters, texts, arguments.show)


if __name__ == "__main__":
    main()
