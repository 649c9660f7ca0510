"""An experiment file's indexes: the settings of a kind of index, and a corpus."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import SerializeAsAny, model_serializer, model_validator

from adducir.core.artifacts import MISSING
from adducir.core.fingerprint import UNREAD
from adducir.core.manifests import is_absent, read_manifest
from adducir.core.packages import imported
from adducir.core.planning import NotRead
from adducir.core.progress import progress
from adducir.evaluation.scores import run_name
from adducir.experiments.retrieval.corpora import OpenedCorpus, refuse_unknown_fields
from adducir.experiments.sections import Linked, Name, Opening, Reported, file_name, is_recipe
from adducir.experiments.step import Context, Shown, Step, folders_of
from adducir.indexes.kinds import settings_of
from adducir.indexes.settings import IndexSettings

if TYPE_CHECKING:
    from adducir.indexes.index import Index


class IndexEntry(Linked):
    """An index of a corpus; the settings' keys are beside ``corpus`` and ``engine``."""

    references: ClassVar[Mapping[str, str]] = {"corpus": "corpora"}
    corpus: Name
    """The corpus."""
    engine: str | None = None
    """The kind of index."""
    settings: SerializeAsAny[IndexSettings]
    """The settings of its kind, whose keys are beside the corpus."""

    @model_validator(mode="before")
    @classmethod
    def _with_settings(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        stated = {key: value[key] for key in ("corpus", "engine") if key in value}
        return {**stated, "settings": settings_of(value, ["corpus"])}

    @model_serializer(mode="wrap")
    def _flat(self, handler: Any) -> dict[str, Any]:
        plain: dict[str, Any] = handler(self)
        settings = plain.pop("settings")
        return {**plain, **settings}

    def open(self, opening: Opening) -> "IndexStep":
        return IndexStep(self, opening)

    def is_trained(self, folder: Path) -> bool:
        key = self.settings.model_key
        return key is not None and is_recipe(getattr(self.settings, key.key), folder)


def index_path(folder: Path, name: str, seed: int | None) -> Path:
    return folder / "indexes" / file_name(run_name(name, seed))


class IndexStep(Step):
    verb, stage = "build", 1

    def __init__(self, entry: IndexEntry, opening: Opening) -> None:
        documents: OpenedCorpus = opening.linked("corpus")
        self.settings, self.place = entry.settings.at(opening.folder), opening.place
        self.kind = self.settings.artifact
        self.path = index_path(opening.folder, opening.name, opening.seed)
        self.facts, self.source = documents.facts, documents.label
        self.inputs, identity = [*documents.steps], None
        if entry.is_trained(opening.folder) and (key := self.settings.model_key) is not None:
            with opening.at(key.key):
                self.settings.refuse_trained()
                recipe, kind = getattr(self.settings, key.key), imported(key.trainable)
                model = opening.training(recipe, kind, key.label)
            self.inputs, identity = [*self.inputs, model], model.fingerprint
            self.settings = self.settings.model_copy(update={key.key: str(model.path)})
        else:
            for name_of_key, opens in self.settings.opens().items():
                with opening.at(name_of_key):
                    opens()
            self.uses = folders_of(getattr(self.settings, "source", None))
        self.corpus = self.settings.documents(documents.corpus)
        try:
            self.settings = self.settings.of(self.corpus)
        except NotRead:
            # An existing index with the right fingerprint, which covers the corpus, has the
            # corpus's counts.
            there = () if is_absent(self.path) else read_manifest(self.path).recipe["fields"]
            self.settings = self.settings.defaulting_to(there)
        self.fields = self.settings.fields
        self.reads = [*documents.reads, self.place]
        self.fingerprint = UNREAD
        if self.fields:
            self.fingerprint = self.settings.fingerprint(self.corpus, identity)
        self.why()  # raises if something else is there
        with suppress(Reported), opening.at("fields"):
            refuse_unknown_fields(self.corpus, self.fields or self.corpus.default_fields)

    def recipe(self) -> Mapping[str, Any]:
        return self.settings.recipe()

    def title(self, shown: Shown) -> str:
        return f"index {shown(self.path)} of {self.source}"

    def make(self, context: Context) -> None:
        name, why = f"index {context.shown(self.path)}", self.why()
        if why not in (None, MISSING):
            progress().note(f"{name}: {why}")
        manifest = self.settings.build(
            self.corpus, self.path, context.running(), rebuild=context.rebuild
        )
        counts = manifest.counts
        empty = f", {counts['empty']:,} of them without text" if counts.get("empty") else ""
        progress().note(f"{name}: {counts['documents']:,} documents{empty}")

    def open(self, context: Context) -> "Index":
        from adducir.indexes.engines import open_index

        opener = partial(open_index, device=context.device, tokens=context.batch_tokens)
        return context.shared(("index", self.path), partial(opener, self.path))
