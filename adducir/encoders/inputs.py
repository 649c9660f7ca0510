"""What an encoder reads of contexts, queries and texts: its tokenizers, without its networks."""

from collections.abc import Sequence
from dataclasses import dataclass

from adducir.corpora.spans import MaskedSpan, context
from adducir.encoders.layout import Layout, read_layout
from adducir.encoders.reading import Ids, Reader
from adducir.encoders.settings import Settings
from adducir.models.loading import load_config, load_tokenizer, longest_input
from adducir.models.sources import ModelSource


@dataclass(frozen=True)
class SideReader:
    """What one tower reads.

    Attributes:
        layout: What its folder says beside the weights.
    """

    reader: Reader
    layout: Layout

    @classmethod
    def load(cls, source: ModelSource) -> "SideReader":
        """That of a model.

        Raises:
            InputError, MachineError: The tokenizer cannot be loaded.
        """
        layout, tokenizer = read_layout(source.local()), load_tokenizer(source)
        longest = longest_input(load_config(source), tokenizer)
        return cls(Reader(tokenizer, min(longest, layout.length or 1 << 30)), layout)

    def prompt(self, side: str) -> str:
        """What is put before each text."""
        return self.layout.prompts.get(side, "")


@dataclass(frozen=True)
class InputReader:
    """Makes token ids of contexts, queries and documents.

    Attributes:
        query: What the tower of queries and contexts reads.
        document: What that of documents and spans reads.
    """

    query: SideReader
    document: SideReader
    settings: Settings

    def contexts(self, spans: Sequence[MaskedSpan]) -> list[Ids]:
        """Token ids of the contexts of spans."""
        part = self.settings.context
        return self._pairs([context(span, part.left, part.right, part.words) for span in spans])

    def queries(self, texts: Sequence[str]) -> list[Ids]:
        """Token ids of free queries: to an encoder of masked contexts, a left context each."""
        if self.settings.context.mask:
            return self._pairs([(text, "") for text in texts])
        prompt = self.query.prompt("query")
        return self.query.reader.texts(texts, self.settings.lengths.context, prompt)

    def documents(self, texts: Sequence[str]) -> list[Ids]:
        """Token ids of spans or documents."""
        prompt = self.document.prompt("document")
        return self.document.reader.texts(texts, self.settings.lengths.span, prompt)

    def _pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Ids]:
        return self.query.reader.contexts(
            pairs,
            self.settings.lengths.context,
            side=self.settings.context.tokens,
            masked=self.settings.context.mask,
            prompt=self.query.prompt("query"),
        )
