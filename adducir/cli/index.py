"""``adducir index``."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_origin

from pydantic import create_model, model_validator

from adducir.cli import common
from adducir.cli.command import option, optional
from adducir.cli.console import near, note
from adducir.core.errors import UsageError
from adducir.core.meanings import meaning
from adducir.core.texts import counted
from adducir.corpora.reading import CorpusReading
from adducir.indexes.kinds import INDEXES, settings_of
from adducir.indexes.settings import IndexSettings

if TYPE_CHECKING:
    from adducir.core.manifests import Manifest


def _options() -> dict[str, Any]:
    """An option for each setting of each kind of index; only its kind knows its default."""
    options, kinds = dict[str, Any](), INDEXES.kinds()
    for kind in kinds.values():
        for key, field in kind.model_fields.items():
            holders = [name for name, kind_ in kinds.items() if key in kind_.model_fields]
            only = "" if len(holders) > len(kinds) / 2 else f" ({', '.join(holders)} only)"
            default = "" if field.default in ("", ()) else field.default
            look: Any = {"shown": default, **cast("dict[str, Any]", field.json_schema_extra or {})}
            is_list = get_origin(field.annotation) is Sequence
            values: Any = common.Names if is_list else field.annotation
            for mark in field.metadata:
                values = Annotated[values, mark]
            text = f"{meaning(kind, key).rstrip('.')}{only}."
            options.setdefault(key, (values | None, optional(text, **look)))
    return options


_OF_KINDS: Any = create_model("OfKinds", **_options())


class IndexOptions(_OF_KINDS, common.Computing, CorpusReading):  # type: ignore[misc]  # made from the kinds
    source: str | None = optional(
        "An ir_datasets id, or a file or folder: JSONL, CSV, Parquet, TREC, TSV, text, HTML, PDF.",
        argument=True,
        shown="the file of --weights",
        reads=True,
    )
    output: Path = option("The index's folder, such as indexes/NAME.", writes=common.FOLDER)
    engine: Annotated[str | None, INDEXES] = optional(
        "Lucene, arrays in memory that rank as Lucene does, token weights, or vectors.",
        shown="lucene; with --weights memory",
    )
    rebuild: common.Rebuild = False
    allow_code: common.AllowCode = False
    device: common.Device = option("Where the encoder runs.", default="auto", rare=True)

    @cached_property
    def settings(self) -> IndexSettings:
        keys = {"engine", *_OF_KINDS.model_fields} & self.model_fields_set
        return settings_of({key: getattr(self, key) for key in sorted(keys)})

    @model_validator(mode="after")
    def _has_effect(self) -> "IndexOptions":
        stated = dict.fromkeys(self.model_fields_set & {*common.Computing.model_fields}, True)
        self.settings.refuse_idle(**stated)
        return self


def index(settings: IndexOptions) -> None:
    """Build an index from a corpus.

    An index that is up to date is not rebuilt. Repeated docnos and malformed records are errors,
    which leave nothing half-built.

    Examples:
        adducir index bundled:arguments --fields conclusion,premise -o indexes/arguments
        adducir index vaswani --engine memory --output indexes/vaswani
    """
    source = settings.source or getattr(settings.settings, "weights", None)
    if source is None:
        raise UsageError("name a SOURCE, or --weights.")

    corpus = settings.opened(str(source))
    manifest = settings.settings.build(
        corpus, settings.output, settings.running(), rebuild=settings.rebuild
    )
    note(f"{near(settings.output)}: {summary(manifest)}")


def summary(manifest: "Manifest") -> str:
    counts = manifest.counts
    if "width" in counts:
        measured = counts.get("recall")
        recall = f", recall@{measured['at']} {measured['recall']:.3f}" if measured else ""
        return (
            f"{counts['documents']:,} documents, vectors of {counts['width']:,} numbers computed "
            f"in {manifest.recipe['precision']}{recall}"
        )
    empty = counts.get("empty", 0)
    without_text = f" ({empty:,} without text, which cannot be found)" if empty else ""
    return (
        f"{counted(counts['documents'], 'document')}{without_text}, "
        f"{counted(counts['terms'], 'term')}, {counted(counts['tokens'], 'token')}"
    )
