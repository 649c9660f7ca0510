"""Text cut into sentences, examples and quotations: how fast, and how well.

``speed``: megabytes a second, and whether time is linear (a slope of 1: the logarithm of the ratio
of times over that of sizes). Quotations are sought in every other work of criticism, then in all,
the reading and cutting of books apart from the search.

``sentences``: our cuts against those of the libraries that need no download (pip install pysbd
sentencex blingfire sentence-splitter segtok), on the answers of ELI5 that people labelled, which a
tool had cut, so that this is agreement with good cuts. A boundary is recognised by the first letter
or digit behind it. Of the books, speed (CPU time) and differences are reported.

``examples``: 755 answers (ELI5, Natural Questions, WebGPT and a model's) have a role for each
sentence, agreed on by three people; "Answer - Example" is one (Xu, Li and Choi, 2022: How do we
answer complex questions? Discourse structure of long-form answers). A unit is right where a
sentence of this role overlaps it. Figures stay below 1 without any error of the extraction, because
EGRET leaves out examples without a marker, the marker of a longer example is in one sentence, and a
clause in parentheses rarely decides its sentence's label. So recall is also reported over sentences
with a marker, and precision by form, and where any of the three people said "example".

``quotations``: a run is 26 words or more that a book and a work of criticism have in common, found
over the raw texts by looking up every 26 words of one in the other: no sentences, no likeness,
nothing of Adducir's search. It is covered where a window there holds half of it or 26 of its words.

    ADDUCIR_COLLECTIONS=... python benchmarks/spans.py speed|sentences|examples|quotations
        [--rounds 3] [--books novels/98-*] [--rules strict] [--show 20]
"""

import argparse
import json
import math
import os
import random
import re
import statistics
import time
import warnings
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from adducir.core.files import read_text
from adducir.corpora.sentences import sentence_bounds
from adducir.studies.books import body, body_bounds
from adducir.studies.exemplification.extraction import Tally, extract_examples
from adducir.studies.exemplification.texts import read_texts
from adducir.studies.exemplification.units import SENTENCE, Sentences, find_units
from adducir.studies.literary_evidence.finding import Rules
from adducir.studies.literary_evidence.quotations import Built, find_quotations
from adducir.studies.literary_evidence.sources import Source, read_source, text_files

FOLDER = Path(os.environ.get("ADDUCIR_COLLECTIONS", ""))
ANSWERS = FOLDER / "eli5" / "lfqa_discourse.role_annotation.jsonl"
BOOKS = FOLDER / "gutenberg"
FORMS = (SENTENCE, "parenthesis")
EXAMPLE = "Answer - Example"
MARKER = re.compile(r"for\s+example|\be\.?\s?g\b", re.IGNORECASE)
Cutter = Callable[[str], Iterable[int]]
SLOW_LETTERS = 200_000
"""A library that needs more than a minute for a megabyte gets so many letters of the books."""


def seconds(call: Callable[[], object], rounds: int) -> float:
    """The median time of a call."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def megabytes(paths: Sequence[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


def show_times(what: str, sizes: Sequence[float], times: Sequence[float]) -> None:
    """Print rates, and the slope where two sizes were timed."""
    for size, taken in zip(sizes, times, strict=True):
        print(f"{what}: {size:.1f} MB in {taken:.2f} s, {size / taken:.1f} MB/s")
    if len(sizes) > 1:
        slope = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
        print(f"{what}: slope {slope:.2f}")


def time_examples(rounds: int) -> None:
    books = [
        path
        for part in ("criticism", "nonfiction", "novels")
        for path in text_files([BOOKS / part])
    ]
    answers = [FOLDER / "eli5" / "eli5-category-validation-2.jsonl"]
    for what, paths in (("examples of books", books), ("examples of answers", answers)):
        parts = [paths[::2], paths] if len(paths) > 1 else [paths]

        def run(part: Sequence[Path]) -> int:
            return sum(1 for _ in extract_examples(read_texts(part), Tally()))

        times = [seconds(lambda part=part: run(part), rounds) for part in parts]
        show_times(what, [megabytes(part) for part in parts], times)


def time_quotations(rounds: int) -> None:
    novels = text_files([BOOKS / "novels"])
    works = text_files([BOOKS / "criticism"])
    reading = seconds(lambda: [read_source(path) for path in novels], rounds)
    show_times("reading novels", [megabytes(novels)], [reading])
    books = [read_source(path) for path in novels]
    parts = [works[::2], works]
    read = [[read_source(path, is_work=True) for path in part] for part in parts]
    sizes = [megabytes(part) for part in parts]
    for name in ("strict", "relic"):
        rules = Rules(rules=name)
        times = [
            seconds(lambda part=part, rules=rules: find_quotations(books, part, rules), rounds)
            for part in read
        ]
        show_times(f"seeking {len(books)} novels in criticism, {name} rules", sizes, times)


def places_in(text: str, sentences: Iterable[str]) -> list[tuple[int, int]] | None:
    """Where these sentences stand in their text, whatever white space it has; None: lost one."""
    found, place = [], 0
    for sentence in sentences:
        if words := sentence.split():
            at = re.compile(r"\s+".join(map(re.escape, words))).search(text, place)
            if at is None:
                return None
            found.append(at.span())
            place = at.end()
    return found


def answers() -> Iterator[tuple[dict, list[tuple[int, int]]]]:
    """Every labelled answer whose sentences can be found in its text, and where they are."""
    for line in ANSWERS.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        places = places_in(record["answer_paragraph"], record["answer_sentences"])
        if places is not None:
            yield record, places


def rivals() -> dict[str, Cutter]:
    """Every library that can be imported, as a function from a text to starts of sentences."""

    def syntok() -> Cutter:
        analyze = import_module("syntok.segmenter").analyze
        return lambda text: [s[0].offset for part in analyze(text) for s in part]

    def blingfire() -> Cutter:
        cut = import_module("blingfire").text_to_sentences_and_offsets
        return lambda text: [start for start, _ in cut(text)[1]]

    def by_sentences(cut: Callable[[str], Iterable[str]]) -> Cutter:
        return lambda text: [start for start, _ in places_in(text, cut(text)) or []]

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


def on_answers(cutters: dict[str, Cutter], labelled: list[tuple[str, set[int]]]) -> None:
    """Precision and recall of boundaries."""
    print(f"\n{'answers':18} {'P':>6} {'R':>6} {'F1':>6} {'seconds':>8}")
    for name, cut in cutters.items():
        hits = made = wanted = 0
        began = time.process_time()
        found = [set(cut(text)) for text, _ in labelled]
        seconds = time.process_time() - began
        for starts, (text, gold) in zip(found, labelled, strict=True):
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


def sentences(pattern: str, show: int) -> None:
    warnings.simplefilter("ignore")
    cutters, labelled = rivals(), []
    for record, places in answers():
        text = record["answer_paragraph"]
        labelled.append((text, seams(text, (start for start, _ in places))))
    print(f"{len(labelled)} labelled answers")
    on_answers(cutters, labelled)
    texts = [path.read_text(encoding="utf-8") for path in sorted(BOOKS.glob(pattern))]
    on_books(cutters, [text[slice(*body_bounds(text))] for text in texts], show)


class Labelled(NamedTuple):
    """A sentence of an answer and what people said of it."""

    start: int
    end: int
    agreed: bool
    by_any: bool


def examples(show: int) -> None:
    count: Counter[str] = Counter()
    wrong, missed = [], []
    for record, places in answers():
        said = [
            (role == EXAMPLE, EXAMPLE in roles)
            for sentence, role, roles in zip(
                record["answer_sentences"],
                record["role_annotation"],
                record["raw_role_annotation"],
                strict=True,
            )
            if sentence.split()
        ]
        sentences = [Labelled(*at, *roles) for at, roles in zip(places, said, strict=True)]
        count["answers"] += 1
        text = record["answer_paragraph"]
        units = [unit for unit in find_units(Sentences(text)) if unit.reason is None]
        for unit in units:
            met = [s for s in sentences if s.start < unit.end and unit.start < s.end]
            count[unit.form] += 1
            count[f"{unit.form} agreed"] += any(s.agreed for s in met)
            count[f"{unit.form} by any"] += any(s.by_any for s in met)
            if not any(s.by_any for s in met):
                wrong.append(text[unit.start : unit.end])
        hit = [any(u.start < s.end and s.start < u.end for u in units) for s in sentences]
        pairs = list(zip(sentences, hit, strict=True))
        for sentence, is_hit in pairs:
            if sentence.agreed:
                marked = MARKER.search(text, sentence.start, sentence.end) is not None
                count["examples"] += 1
                count["examples hit"] += is_hit
                count["marked"] += marked
                count["marked hit"] += marked and is_hit
                if marked and not is_hit:
                    missed.append(text[sentence.start : sentence.end])
        for is_example, run in groupby(pairs, key=lambda pair: pair[0].agreed):
            if is_example:
                count["runs"] += 1
                count["runs hit"] += any(is_hit for _, is_hit in run)
    report(count)
    for title, texts in (("wrong", wrong), ("missed", missed)):
        for each in texts[:show]:
            print(f"{title}: {' '.join(each.split())}")


def report(count: Counter[str]) -> None:
    """Precision and recall, each with what it is a share of."""
    units = count[SENTENCE] + count["parenthesis"]
    rows = [
        ("precision, all units", sum(count[f"{f} agreed"] for f in FORMS), units),
        ("precision, sentences", count["sentence agreed"], count[SENTENCE]),
        ("precision, parentheses", count["parenthesis agreed"], count["parenthesis"]),
        ("said by any of three, all units", sum(count[f"{f} by any"] for f in FORMS), units),
        ("said by any of three, sentences", count["sentence by any"], count[SENTENCE]),
        ("said by any of three, parentheses", count["parenthesis by any"], count["parenthesis"]),
        ("recall, sentences with a marker", count["marked hit"], count["marked"]),
        ("recall, all example sentences", count["examples hit"], count["examples"]),
        ("recall, runs of example sentences", count["runs hit"], count["runs"]),
    ]
    print(f"{count['answers']} answers, {units} units")
    for name, part, whole in rows:
        print(f"{name:36} {part / whole if whole else 0:6.3f}  ({part} of {whole})")


LEAST = 26
WORD = re.compile(r"[^\W_]+")


class Text(NamedTuple):
    """Words, and the sentence of each."""

    words: list[str]
    sentences: list[int]

    def place(self, run: Sequence[str], places: dict[tuple[str, ...], int]) -> int | None:
        """Where a run begins, although reading may have taken a note out of it; None: nowhere."""
        for at in range(len(run) - LEAST + 1):
            found = places.get(tuple(run[at : at + LEAST]))
            if found is not None:
                return found - at
        return None


def text_of(source: Source) -> Text:
    pairs = [(word, n) for n, text in enumerate(source.sentences) for word in words_of(text)]
    return Text([word for word, _ in pairs], [number for _, number in pairs])


def words_of(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def places_of(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    return {tuple(words[at : at + LEAST]): at for at in range(len(words) - LEAST + 1)}


def shared_runs(book: Sequence[str], work: Sequence[str]) -> Iterator[list[str]]:
    """Every longest run of words of the work that the book has as well."""
    places = defaultdict(list)
    for at in range(len(book) - LEAST + 1):
        places[hash(tuple(book[at : at + LEAST]))].append(at)
    known: set[tuple[int, int]] = set()
    for there in range(len(work) - LEAST + 1):
        for here in places.get(hash(tuple(work[there : there + LEAST])), ()):
            known.add((here, there))
            if (here - 1, there - 1) in known:
                continue
            count = 0
            while book[here + count : here + count + 1] == work[there + count : there + count + 1]:
                count += 1
                if max(here, there) + count >= max(len(book), len(work)):
                    break
            if count >= LEAST:
                yield list(book[here : here + count])


def is_covered(run: list[str], built: Built, book: str, work: str, texts: dict[str, Text]) -> bool:
    """Whether one window holds enough of a run, in the book and in the work."""
    here, there = (texts[name].place(run, PLACES[name]) for name in (f"b {book}", f"w {work}"))
    if here is None or there is None:
        return False
    wanted = min(len(run) / 2, LEAST)
    for window in built.windows:
        if (window.book, window.work) != (book, work):
            continue
        first = bisect_left(texts[f"b {book}"].sentences, window.start)
        past = bisect_left(texts[f"b {book}"].sentences, window.start + window.length)
        begin = bisect_left(texts[f"w {work}"].sentences, window.place)
        end = begin + len(words_of(window.quoted))
        held = min(past, here + len(run)) - max(first, here)
        masked = min(end, there + len(run)) - max(begin, there)
        if min(held, masked) >= wanted:
            return True
    return False


PLACES: dict[str, dict[tuple[str, ...], int]] = {}


def quotations(rules: str, show: int) -> None:
    books_at, works_at = (text_files([BOOKS / name]) for name in ("novels", "criticism"))
    books = [read_source(at) for at in books_at]
    works = [read_source(at, is_work=True) for at in works_at]
    built = find_quotations(books, works, Rules(rules=rules))
    texts = {f"b {one.name}": text_of(one) for one in books}
    texts |= {f"w {one.name}": text_of(one) for one in works}
    PLACES.update({name: places_of(text.words) for name, text in texts.items()})
    raw = {at: words_of(body(read_text(at), at)) for at in (*books_at, *works_at)}
    total = covered = 0
    for work_at, work in zip(works_at, works, strict=True):
        for book_at, book in zip(books_at, books, strict=True):
            runs = list(shared_runs(raw[book_at], raw[work_at]))
            hits = [is_covered(run, built, book.name, work.name, texts) for run in runs]
            total, covered = total + len(runs), covered + sum(hits)
            if runs:
                print(f"{work.name:40} {book.name:30} {sum(hits):4} of {len(runs):4}")
            for run in [run for run, hit in zip(runs, hits, strict=True) if not hit][:show]:
                print(f"    {len(run):4} words: {' '.join(run[:6])} …")
    print(f"{covered} of {total} runs of {LEAST} words or more are covered: {covered / total:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("speed", "sentences", "examples", "quotations"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--books", default="*/*.txt", help="which books to cut, as a pattern")
    parser.add_argument("--rules", default="strict", choices=("strict", "relic"))
    parser.add_argument("--show", type=int, default=0, help="differences or errors to print")
    options = parser.parse_args()
    if not ANSWERS.exists():
        print("ADDUCIR_COLLECTIONS is not set: there is no text to work on")
        return
    print(f"load {os.getloadavg()[0]:.1f}")
    if options.what == "speed":
        time_examples(options.rounds)
        time_quotations(options.rounds)
    elif options.what == "sentences":
        sentences(options.books, options.show)
    elif options.what == "examples":
        examples(options.show)
    else:
        quotations(options.rules, options.show)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
