"""``adducir exemplification``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import adducir
from adducir.cli import common, options
from adducir.cli import evaluate_options as opts
from adducir.cli.choices import kind_of
from adducir.cli.command import option as field
from adducir.cli.effects import with_any
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.statistics.settings import CORRECTIONS, TESTS, Testing
from adducir.studies.options import Drawing

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from adducir.corpora.spans import MaskedSpan
    from adducir.studies.exemplification.texts import Text


class _Masks(Recipe):
    sources: list[Path] = field(
        "Answers (JSON objects) and books (plain text), or folders of them; also .gz, .bz2.",
        metavar="SOURCE",
        argument=True,
    )
    output: Path = field("The file to write, such as X.jsonl.gz.", "-o", writes=common.LINES)
    form: Literal["auto", "eli5", "kilt", "nq", "qa", "book"] = field(
        "What the sources are; auto: by beginning and name of each.", "--format", default="auto"
    )
    words: int = field(
        "Keep sentences on each side until they have so many words.", default=256, ge=0
    )

    def texts(self, skipped: "Counter[str] | None" = None) -> "Iterator[Text]":
        from adducir.studies.exemplification.texts import read_texts

        return read_texts(self.sources, None if self.form == "auto" else self.form, skipped)

    def written(self, spans: "Iterable[MaskedSpan]", doing: str, what: str) -> int:
        from adducir.cli.console import open_progress
        from adducir.corpora.spans import write_spans

        with open_progress() as progress, progress.doing(doing, None, what):
            return write_spans((one for one in spans if progress.advance(1) is None), self.output)


class Examples(_Masks):
    min_words: int = field("Words of a unit beside its marker.", default=1, ge=1)
    max_words: int = field("A longer unit is a table or a list.", default=256, ge=1)
    rules: Literal["strict", "paper"] = field(
        "The edges of units; paper: as EGRET's paper has them.", default="strict"
    )


def examples(settings: Examples) -> None:
    """Extract examples in context from answers and books.

    Sentences that hold "for example" or "e.g.", and parenthesised clauses that open with them,
    become masked spans. Prints how many there are, how long, and what was dropped and why.

    Examples:
        adducir exemplification examples eli5-train-kilt.jsonl -o eli5.jsonl.gz
        adducir exemplification examples books/ --words 256 -o books.jsonl.gz
    """
    from collections import Counter

    from adducir.cli.console import columns, note, show
    from adducir.studies.exemplification.extraction import Tally, extract_examples

    tally, skipped = Tally(), Counter[str]()
    found = extract_examples(
        settings.texts(skipped),
        tally,
        words=settings.words,
        min_words=settings.min_words,
        max_words=settings.max_words,
        strict=settings.rules == "strict",
    )
    settings.written(found, "Taking examples", "units")
    sides = {"left": "left context", "span": "example", "right": "right context"}
    counts = {
        "examples": tally.spans,
        "  different ones (candidates)": tally.candidates,
        "  questions or books with one": len(tally.groups),
        "answers or books read": tally.texts,
    }
    more = {f'{form} with "{marker}"': n for (form, marker), n in sorted(tally.kinds.items())}
    more |= {f"dropped: {reason}": n for reason, n in sorted(tally.dropped.items())}
    more |= {f"not read: {reason}": n for reason, n in sorted(skipped.items())}
    rows = [(name, f"{count:,}") for name, count in counts.items()]
    for side, name in sides.items():
        rows.append((f"mean words of {name}", f"{tally.words[side] / max(1, tally.spans):.1f}"))
    show("\n".join(columns([*rows, *((name, f"{count:,}") for name, count in more.items())])))
    note(f"wrote {settings.output}")


class Cloze(_Masks):
    every: int = field("Sentences from one mask to the next.", default=10, ge=2)
    longest: int = field("Sentences of a mask, at most.", "--max-sentences", default=1, ge=1, le=20)
    min_words: int = field("Words of a mask.", default=8, ge=1)
    max_words: int = field("Words of a mask, for each of its sentences.", default=60, ge=1)


def cloze(settings: Cloze) -> None:
    """Mask sentences of texts to pretrain encoders on.

    Sentences are masked evenly over each answer or book; what stands around them is the query.

    Examples:
        adducir exemplification cloze eli5-train-kilt.jsonl --every 5 -o cloze.jsonl.gz
        adducir exemplification cloze novels/ --every 10 -o cloze.jsonl.gz
    """
    from adducir.cli.console import note
    from adducir.studies.exemplification.extraction import mask_sentences

    found = mask_sentences(
        settings.texts(),
        every=settings.every,
        longest=settings.longest,
        words=settings.words,
        min_words=settings.min_words,
        max_words=settings.max_words,
    )
    count = settings.written(found, "Masking sentences", "masks")
    note(f"wrote {settings.output}: {count:,} masks")


def rouge(
    runs: Annotated[
        list[Path],
        argument(
            "Runs over masked spans, such as `literary-evidence retrieve` writes; each is a "
            "system.",
            "RUN",
        ),
        SOURCE,
    ],
    spans: Annotated[
        list[Path],
        option("The spans with their gold texts; can be repeated.", metavar="FILE"),
        SOURCE,
    ],
    candidates: Annotated[
        list[Path] | None,
        option("Spans that are candidates only; can be repeated.", metavar="FILE"),
        SOURCE,
    ] = None,
    depth: Annotated[int, option("Add the best and the mean of so many candidates.", min=1)] = 1,
    stem: Annotated[bool, option("Compare Porter stems.")] = False,
    without_gold: Annotated[
        bool, option("Leave the gold candidate itself out of the runs.")
    ] = False,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Compare top-ranked candidates with the gold text by ROUGE-L.

    A span that a run lacks counts 0 and is reported.

    Examples:
        adducir exemplification rouge runs/egret.trec.gz runs/bm25.trec.gz --spans test.jsonl.gz
        adducir exemplification rouge runs/egret.trec.gz --spans test.jsonl.gz --without-gold
    """
    from adducir.cli.names import system_names
    from adducir.corpora.spans import read_spans
    from adducir.evaluation.rouge import rouge_of_run, stems_of, words_of
    from adducir.runs.read import read_run
    from adducir.statistics.comparison import compare
    from adducir.tables.build import build_table

    more = candidates or []
    gold = [span for path in spans for span in read_spans(path)]
    others = [span for path in more for span in read_spans(path)]
    scores = [
        rouge_of_run(
            name,
            read_run(path),
            gold,
            others,
            depth=depth,
            without_gold=without_gold,
            words=stems_of if stem else words_of,
        )
        for path, name in system_names(runs).items()
    ]
    layout = printing.layout(testing, files=opts.digests([*runs, *spans, *more]))
    printing.show(build_table(compare(scores, testing.testing), layout))


def agreement(
    ratings: Annotated[
        Path,
        argument(
            "A CSV file with the columns item, rater, system, and rating or rank or both.",
            "RATINGS",
        ),
        SOURCE,
    ],
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"],
        option("What ratings mean to Krippendorff's alpha."),
    ] = "ordinal",
    unigrams: Annotated[
        bool,
        option("Ratings are texts that raters marked: measure the overlap of their words."),
    ] = False,
    mean_ranks: Annotated[
        bool,
        option("Give equal ranks the mean of their places: 1, 1, 2 as 1.5, 1.5, 3."),
    ] = False,
    baseline: Annotated[
        list[str] | None,
        option(
            "Test the means of all others against it, paired over items; repeatable.",
            "-b",
            metavar="SYSTEM",
        ),
    ] = None,
    test: Annotated[
        str | None,
        option("The paired test.", shown="t", **kind_of(TESTS)),
        with_any("baseline"),
    ] = None,
    correction: Annotated[
        str | None,
        option("Correction of the p-values of each mean.", shown="holm", **kind_of(CORRECTIONS)),
        with_any("baseline"),
    ] = None,
    alpha: Annotated[
        float | None,
        option("Significance level (alpha).", shown="0.05"),
        with_any("baseline"),
    ] = None,
    *,
    drawing: Drawing,
    printing: opts.Printing,
) -> None:
    """Inter-annotator agreement, and how raters rate and rank each system.

    Krippendorff's alpha and Fleiss' kappa (of two raters Cohen's, too) with bootstrap intervals,
    the rates at which all and none agree, mean ratings and mean ranks with t intervals over items.

    Examples:
        adducir exemplification agreement ratings.csv
        adducir exemplification agreement ratings.csv --level interval --baseline c-REALM
    """
    if unigrams and level not in ("ordinal", "nominal"):
        raise UsageError("--unigrams takes texts, which have no level but nominal.")

    from adducir.core.files import file_digest
    from adducir.studies.exemplification.agreement_table import Study, agreement_table
    from adducir.studies.exemplification.rated_systems import with_mean_ranks
    from adducir.studies.exemplification.ratings_files import read_ratings

    found = read_ratings(ratings)
    if mean_ranks:
        if not found.has("rank"):
            raise UsageError(f"--mean-ranks has no effect without ranks in {ratings}.")
        found = with_mean_ranks(found)
    asked = options.given(baseline=baseline, test=test, correction=correction, alpha=alpha)
    study = Study(
        level="nominal" if unigrams else level,
        unigrams=unigrams,
        drawing=drawing.drawing(),
        testing=Testing(**asked) if asked else None,
        style=printing.style(),
        provenance={
            "adducir": adducir.__version__,
            "ratings": {"path": str(ratings), "sha256": file_digest(ratings)},
        },
    )
    printing.show(agreement_table(found, study))


COMMANDS = (examples, cloze, rouge, agreement)
