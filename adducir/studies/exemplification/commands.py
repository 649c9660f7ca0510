"""``adducir exemplification``."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.console import columns, note, show
from adducir.cli.tabled import Tabled, TableOptions, digests
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe, needs
from adducir.statistics.settings import CORRECTIONS, TESTS, Testing
from adducir.studies.options import Bootstrap, counted

if TYPE_CHECKING:
    from adducir.studies.exemplification.texts import Text


class _Masks(Recipe):
    sources: list[Path] = option(
        "Answers (JSON objects) and books (plain text), or folders of them; also .gz and .bz2.",
        metavar="SOURCE",
        argument=True,
    )
    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=common.LINES)
    form: Literal["auto", "eli5", "kilt", "nq", "qa", "book"] = option(
        "The sources' format; auto: by each file's content and name.", "--format", default="auto"
    )
    words: int = option(
        "Keep whole sentences on each side, until they have this many words.", default=256, ge=0
    )

    def texts(self, skipped: Counter[str]) -> "Iterator[Text]":
        from adducir.studies.exemplification.texts import read_texts

        return read_texts(self.sources, None if self.form == "auto" else self.form, skipped)


class Examples(_Masks):
    min_words: int = option("Minimum words of a unit, without its marker.", default=1, ge=1)
    max_words: int = option("Maximum words; a longer unit is a table or a list.", default=256, ge=1)
    rules: Literal["strict", "paper"] = option(
        "The boundaries of units; paper: as in EGRET's paper.", default="strict"
    )


def examples(settings: Examples) -> None:
    """Extract examples in context from answers and books.

    Sentences that contain "for example" or "e.g.", and parenthesised clauses that begin with them,
    become masked spans. Prints their number and lengths, and what was dropped and why.

    Examples:
        adducir exemplification examples eli5-train-kilt.jsonl -o eli5.jsonl.gz
        adducir exemplification examples books/ --words 256 -o books.jsonl.gz
    """
    from adducir.corpora.spans import write_spans
    from adducir.studies.exemplification.extraction import Tally, extract_examples

    tally, skipped = Tally(), Counter[str]()
    sizes = settings.model_dump(include={"words", "min_words", "max_words"})
    texts, strict = settings.texts(skipped), settings.rules == "strict"
    examples_ = extract_examples(texts, tally, strict=strict, **sizes)
    write_spans(counted(examples_, "Extracting examples", "units"), settings.output)
    sides = {"left": "left context", "span": "example", "right": "right context"}
    rows = [
        ("examples", f"{tally.spans:,}"),
        ("  different ones (candidates)", f"{tally.candidates:,}"),
        ("  questions or books with one", f"{len(tally.groups):,}"),
        ("answers or books read", f"{tally.texts:,}"),
    ]
    for side, name in sides.items():
        rows.append((f"mean words of {name}", f"{tally.words[side] / max(1, tally.spans):.1f}"))
    kinds = {f'{form} with "{marker}"': n for (form, marker), n in tally.kinds.items()}
    for before, some in (("", kinds), ("dropped: ", tally.dropped), ("not read: ", skipped)):
        rows += [(f"{before}{name}", f"{count:,}") for name, count in sorted(some.items())]
    show("\n".join(columns(rows)))
    note(f"wrote {settings.output}")


class Cloze(_Masks):
    every: int = option("Sentences from one mask to the next.", default=10, ge=2)
    longest: int = option("Maximum sentences of a mask.", "--max-sentences", default=1, ge=1, le=20)
    min_words: int = option("Words of a mask.", default=8, ge=1)
    max_words: int = option("Words of a mask, for each of its sentences.", default=60, ge=1)


def cloze(settings: Cloze) -> None:
    """Mask sentences of texts to pretrain encoders on.

    Sentences are masked evenly over each answer or book; their context is the query.

    Examples:
        adducir exemplification cloze eli5-train-kilt.jsonl --every 5 -o cloze.jsonl.gz
        adducir exemplification cloze novels/ --every 10 -o cloze.jsonl.gz
    """
    from adducir.corpora.spans import write_spans
    from adducir.studies.exemplification.extraction import mask_sentences

    sizes = settings.model_dump(exclude={"sources", "output", "form"})
    masks = mask_sentences(settings.texts(Counter()), **sizes)
    count = write_spans(counted(masks, "Masking sentences", "masks"), settings.output)
    note(f"wrote {settings.output}: {count:,} masks")


class Rouge(Tabled):
    runs: tuple[Path, ...] = option(
        "Runs over masked spans, such as `literary-evidence retrieve` writes; each is a system.",
        metavar="RUN",
        argument=True,
    )
    spans: tuple[Path, ...] = option(
        "The spans with their gold texts; can be repeated.", metavar="FILE"
    )
    candidates: tuple[Path, ...] = option(
        "Spans that are candidates only; can be repeated.", default=(), metavar="FILE"
    )
    depth: int = option("Add the best and the mean of this many candidates.", default=1, ge=1)
    stem: bool = option("Compare Porter stems.", default=False)
    without_gold: bool = option("Remove the gold candidate from the runs.", default=False)


def rouge(settings: Rouge) -> None:
    """Compare top-ranked candidates with the gold text by ROUGE-L.

    Spans missing from a run count 0 and are reported.

    Examples:
        adducir exemplification rouge runs/egret.trec.gz runs/bm25.trec.gz --spans test.jsonl.gz
        adducir exemplification rouge runs/egret.trec.gz --spans test.jsonl.gz --without-gold
    """
    from adducir.corpora.spans import read_spans
    from adducir.evaluation.rouge import stems_of, words_of
    from adducir.runs.read import read_run
    from adducir.statistics.comparison import compare
    from adducir.studies.exemplification.rouge import rouge_of_run
    from adducir.tables.build import build_table

    gold, others = [*read_spans(*settings.spans)], [*read_spans(*settings.candidates)]
    scores = [
        rouge_of_run(
            name,
            read_run(path),
            gold,
            others,
            depth=settings.depth,
            without_gold=settings.without_gold,
            words=stems_of if settings.stem else words_of,
        )
        for path, name in common.system_names(settings.runs).items()
    ]
    files = [*settings.runs, *settings.spans, *settings.candidates]
    layout = settings.layout(files=digests(files))
    settings.print(build_table(compare(scores, settings.testing()), layout))


class Agreement(Bootstrap, TableOptions):
    ratings: Path = option(
        "A CSV file with the columns item, rater, system, and rating or rank or both.",
        metavar="RATINGS",
        argument=True,
    )
    level: Literal["nominal", "ordinal", "interval", "ratio"] = option(
        "Level of measurement for Krippendorff's alpha.", default="ordinal"
    )
    unigrams: bool = option(
        "Ratings are texts that raters marked: measure the overlap of their words.", default=False
    )
    mean_ranks: bool = option("Average tied ranks: 1, 1, 2 become 1.5, 1.5, 3.", default=False)
    baseline: tuple[str, ...] = option(
        "Test the means of all other systems against this one, paired over items; repeatable.",
        "-b",
        default=(),
        metavar="SYSTEM",
    )
    test: Annotated[str, TESTS, needs("baseline")] = option("The paired test.", default="t")
    correction: Annotated[str, CORRECTIONS, needs("baseline")] = option(
        "Correction of p-values, per mean.", default="holm"
    )
    alpha: Annotated[float, needs("baseline")] = option(
        "Significance level (alpha).", default=0.05, gt=0, lt=1
    )


def agreement(settings: Agreement) -> None:
    """Inter-annotator agreement, and how raters rate and rank each system.

    Krippendorff's alpha and Fleiss' kappa (for two raters also Cohen's) with bootstrap intervals,
    the rates at which all and none agree, mean ratings and mean ranks with t intervals over items.

    Examples:
        adducir exemplification agreement ratings.csv
        adducir exemplification agreement ratings.csv --level interval --baseline c-REALM
    """
    if settings.unigrams and settings.level not in ("ordinal", "nominal"):
        raise UsageError("--unigrams compares texts, whose only level is nominal.")

    from adducir.studies.exemplification.agreement import agreement_table, read_ratings

    ratings = read_ratings(settings.ratings)
    if settings.mean_ranks:
        if not ratings.has("rank"):
            raise UsageError(f"--mean-ranks has no effect without ranks in {settings.ratings}.")
        ratings = ratings.with_mean_ranks()
    options = settings.model_dump(include={"baseline", "test", "correction", "alpha"})
    settings.print(
        agreement_table(
            ratings,
            settings,
            settings.layout(files=digests([settings.ratings])),
            level="nominal" if settings.unigrams else settings.level,
            unigrams=settings.unigrams,
            testing=Testing(**options) if settings.baseline else None,
        )
    )


class Annotations(TableOptions):
    file: Path = option(
        "A CSV file or JSON lines, one annotation each, with a column item.",
        metavar="ANNOTATIONS",
        argument=True,
    )
    labels: common.Names = option(
        "Columns with categories, such as type,personal.", default=(), shown="none"
    )
    texts: common.Names = option(
        "Columns with marked texts, such as anchor,example.", default=(), shown="none"
    )
    group: str | None = option("A column such as dataset: a row for each value.", default=None)
    valid: str | None = option(
        "A column that says yes or no: whether the item is an example at all.", default=None
    )


def annotations(settings: Annotations) -> None:
    """Distributions of annotated labels, and lengths of marked texts.

    For each group, for all, and for each label: the number of items, the shares of the labels, and
    the mean sentences and words of the texts. An item with several annotations counts once.

    Examples:
        adducir exemplification annotations a.csv --labels type,personal --texts anchor,example
        adducir exemplification annotations a.csv --labels type --group dataset --valid valid
    """
    if not settings.labels and not settings.texts:
        raise UsageError("give --labels or --texts, or both.")

    from adducir.studies.exemplification import annotations as data

    columns = data.Annotated(settings.labels, settings.texts, settings.group, settings.valid)
    frame = data.read_annotations(settings.file, columns)
    layout = settings.layout(files=digests([settings.file]))
    settings.print(data.annotation_table(frame, columns, layout))


COMMANDS = (examples, cloze, rouge, agreement, annotations)
