"""A recipe of a term weighter with all that it names opened, and the examples that it gives."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adducir.core.absent import gathering
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus
from adducir.corpora.qrels import load_qrels
from adducir.corpora.references import expanded, file_path, source_path
from adducir.corpora.topics import load_topics
from adducir.deepct.cutting import Cutter, cutter
from adducir.deepct.examples import (
    Counts,
    Example,
    ExampleSettings,
    examples,
    refuse_reference_in_text,
)
from adducir.deepct.model import TermWeighter
from adducir.deepct.passages import remembering
from adducir.deepct.prepared import KIND, VERSION, PassageWork, settings_of
from adducir.deepct.recipe import DeepCTRecipe
from adducir.deepct.settings import Settings
from adducir.deepct.stopwords import NAMES, StopWords, stop_words
from adducir.deepct.supervision import FromFields, FromTopics, Supervision
from adducir.deepct.targets import Matcher
from adducir.models.sources import ModelSource, model_source
from adducir.training.leaks import Excluded
from adducir.training.preparation import Preparation
from adducir.training.recipe import listed


@dataclass(frozen=True)
class OpenedRecipe:
    """What a recipe says and names.

    Attributes:
        corpus: The documents to learn from.
        stop_words: Words that are no terms.
    """

    recipe: DeepCTRecipe
    corpus: Corpus
    supervision: Supervision
    without: Excluded
    stop_words: StopWords
    base: ModelSource

    @classmethod
    def of(cls, recipe: DeepCTRecipe, folder: Path) -> "OpenedRecipe":
        """Open what a recipe names; no document is read, no model loaded.

        Raises:
            InputError: A source cannot be read; of all that is not at hand one error.
            MachineError: Something cannot be downloaded, or is not installed.
        """
        named = recipe.stopwords
        with gathering() as each:
            corpus = each(partial(recipe.corpus.open, folder))
            supervision = each(partial(_supervision, recipe, folder))
            without = each(partial(recipe.without.excluded, folder))
            words = each(lambda: stop_words(named if named in NAMES else file_path(named, folder)))
            tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
            base = each(lambda: model_source(expanded(recipe.base), folder, tokenizer))
        return cls(recipe, corpus, supervision, without, words, base)

    @property
    def settings(self) -> Settings:
        """What the model keeps of it."""
        recipe = self.recipe
        silent = () if recipe.stop_words_in_loss else tuple(self.stop_words)
        return Settings(
            text=listed(recipe.text),
            keys=recipe.keys,
            activation=recipe.activation,
            passages=recipe.passages,
            stop_words=silent,
        )

    def untrained(self) -> TermWeighter:
        """The model as training starts."""
        return TermWeighter.untrained(self.base, self.settings, self.recipe.training.seed)

    @property
    def example_settings(self) -> ExampleSettings:
        """How documents become examples."""
        recipe, part = self.recipe, self.recipe.passages
        return ExampleSettings(
            listed(recipe.text),
            part.length,
            part.overlap,
            part.unit,
            recipe.keys,
            recipe.keep_empty,
            recipe.held_out.by,
            recipe.without.copies,
        )

    @property
    def work(self) -> PassageWork:
        """What cuts the corpus into passages."""
        longest = self.recipe.training_length
        return PassageWork(self.corpus, self.base, self.example_settings, self.stop_words, longest)

    @property
    def preparation(self) -> Preparation:
        """The passages that the examples are made of.

        Raises:
            UsageError: The text holds the reference.
        """
        refuse_reference_in_text(self.example_settings, self.supervision)
        work, corpus = self.work, self.corpus
        inputs = {
            "corpus": fingerprint(corpus.identity()),
            "stop words": fingerprint(self.stop_words.identity()),
            "tokenizer": self.base.reading_identity(),
        }
        return Preparation(
            KIND,
            settings_of(work),
            inputs,
            VERSION,
            work,
        )

    def examples(self, cut: Cutter, counts: Counts) -> Iterator[Example]:
        """Make the examples, one after the other.

        Args:
            cut: Gives the passages: :attr:`cutter`, or :attr:`.prepared.Prepared.cuts`.

        Raises:
            InputError: The corpus cannot be read, or the passages do not fit the model.
        """
        yield from examples(
            self.corpus,
            self.example_settings,
            self.supervision,
            self.matcher,
            cut,
            counts,
            excluded=self.without,
        )
        for warning in counts.warnings():
            progress().note(warning)

    @property
    def matcher(self) -> Matcher:
        """Recognises words as terms."""
        return Matcher(self.stop_words, keys=self.recipe.keys)

    @property
    def cutter(self) -> Cutter:
        """Cuts documents as they are read."""
        count_pieces = remembering(self.work.reader().count_pieces)
        return cutter(self.example_settings, self.matcher, count_pieces)


def _supervision(recipe: DeepCTRecipe, folder: Path) -> Supervision:
    part = recipe.topics
    if part is None:
        return FromFields(listed(recipe.reference))
    topics = load_topics(source_path(part.source, folder), field=part.field)
    sources = [source_path(source, folder) for source in listed(part.qrels)]
    return FromTopics.of(topics, load_qrels(sources), grade=part.grade)
