"""How much work the steps are, from the sizes of files and networks; no text is read.

Passages and queries are taken to be as long as they are on average, what the generator reads and
writes of contexts as long as it may be, and every sampled passage to be computed anew. A token that
a generator writes or scores takes what two take that it reads: attention to the encoder and the
vocabulary come on top of a layer of the encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from adducir.encoders.token_work import BLOCK, PART
from adducir.experiments.grounded_generation.data import Counts
from adducir.experiments.grounded_generation.opened import Opened
from adducir.experiments.work import (
    ACTIVATIONS,
    BYTES_PER_TOKEN,
    COPIES,
    PROJECTED,
    SINGLE,
    Work,
    forward,
    operations_in,
    size_of_model,
    together,
)
from adducir.generators.kinds import LexicalMixture
from adducir.hindsight.losses import READS, TRAINS
from adducir.hindsight.recipe import PhaseRecipe, RetrieverRecipe
from adducir.models.sizes import NetworkSize
from adducir.models.sources import MINILM

_WRITTEN = 2
"""Tokens read that take what one written takes."""
_RANKED = 12
"""Bytes of a passage in a list: its number and its score."""


@dataclass(frozen=True)
class Amounts:
    """The work of a study's steps.

    Attributes:
        recipe: What its file says.
        counts: How much there is.
        size: Of the retriever's network, and of the guide's.
        generator: The size of the generator's; None where it has none.
    """

    recipe: Any
    counts: Counts
    size: NetworkSize
    generator: NetworkSize | None

    @classmethod
    def of(cls, study: Opened) -> "Amounts | None":
        """Those of a study; None where data or models are not here, or of an unknown kind."""
        recipe, counts = study.recipe, study.data.counts
        size = size_of_model(recipe.retriever.base, study.folder)
        if counts is None or size is None:
            return None
        if isinstance(recipe.generator, LexicalMixture):
            return cls(recipe, counts, size, None)
        base = getattr(recipe.generator, "base", "")
        generator = size_of_model(base, study.folder) if base else None
        return None if generator is None else cls(recipe, counts, size, generator)

    @cached_property
    def _length(self) -> float:
        """Tokens of a passage, as the retriever reads them."""
        most: int = self.recipe.retriever.document_length
        return min(most, self.counts.length)

    @property
    def _query_length(self) -> float:
        most: int = self.recipe.retriever.query_length
        return min(most, self.counts.context_bytes / BYTES_PER_TOKEN)

    @property
    def _is_trained(self) -> bool:
        return bool(self.recipe.retriever.network == "trained")

    @property
    def _width(self) -> int:
        return PROJECTED if self.recipe.retriever.vectors == "colbert" else self.size.width

    def _vectors(self, queries: float, passages: float) -> float:
        """Vectors of so many texts."""
        if self.recipe.retriever.vectors == "one":
            return queries + passages
        return queries * self._query_length + passages * self._length

    def _layers(self, queries: float, passages: float) -> float:
        """Operations of the layers that read so many texts."""
        tokens = queries * self._query_length + passages * self._length
        return self.size.operations(tokens, self._length)

    def _adapter(self, queries: float, passages: float) -> float:
        """Operations of the matrix behind them."""
        kind = self.recipe.retriever.adapter
        columns = self._width if kind == "full" else 2 * kind if isinstance(kind, int) else 0
        return 2.0 * self.size.width * columns * self._vectors(queries, passages)

    def _side(self, queries: float, passages: float) -> float:
        """Operations of retriever or guide."""
        layers = self._layers(queries, passages) if self._is_trained else 0.0
        return layers + self._adapter(queries, passages)

    def _pair(self, generator: NetworkSize) -> float:
        """Operations of a target's probability, given an input and a passage."""
        read = self._pair_length
        written = self.recipe.generator.output_length
        done = generator.operations(read, read)
        return done + _WRITTEN * generator.operations(float(written), float(written))

    @property
    def _pair_length(self) -> float:
        """Tokens that the generator's encoder reads."""
        recipe = self.recipe.generator
        return float(recipe.input_length + min(recipe.passage_length, self.counts.length))

    def _weights(self) -> float:
        """Bytes of the three parts."""
        sides = 2 * self.size.bytes if self._is_trained else 0
        return float(sides + (self.generator.bytes if self.generator else 0))

    def _contexts(self, parts: Sequence[str]) -> float:
        return sum(self.counts.contexts[part] for part in parts)

    @property
    def _kept(self) -> float:
        """Bytes of the vectors of all texts, of a network that is not trained."""
        if self._is_trained:
            return 0.0
        return SINGLE * self.size.width * self._vectors(self._queries, self.counts.passages)

    @property
    def _queries(self) -> float:
        return 2 * sum(self.counts.contexts.values())

    def vectors(self) -> Work:
        """All texts are read once by a network that is not trained."""
        amounts = {operations_in("float32"): self._layers(self._queries, self.counts.passages)}
        return Work(("networks",), amounts, self.size.bytes + self._kept, self._kept)

    def closed(self, parts: Sequence[str], *, is_first: bool) -> Work:
        """Passages are encoded by each side, before any training by one for both, and ranked."""
        recipe, contexts = self.recipe.closed, self._contexts(parts)
        scored = needed = self.counts.passages
        if recipe.candidates != "all":
            scored = min(scored, recipe.candidate_depth)
            needed = min(needed, contexts * scored)
        sides = 1 if is_first else 2
        a_pair = 2.0 * self._width * self._vectors(1, 0) * self._vectors(0, 1)
        lists = 3 if self.recipe.guide.add_prior else 2
        products = lists * contexts * scored * a_pair + sides * self._adapter(0, needed)
        amounts = {"products": products}
        if self._is_trained:
            of_queries = {operations_in("float32"): self._layers(2 * contexts, 0)}
            of_passages = {operations_in(recipe.precision): sides * self._layers(0, needed)}
            encoding = together(Work((), of_queries), Work((), of_passages))
            amounts |= encoding.amounts if encoding else {}
        held = sides * SINGLE * self._width * self._vectors(0, min(needed, BLOCK * PART))
        disk = 2 * contexts * min(recipe.depth, scored) * _RANKED
        return Work(("networks",), amounts, self._weights() + self._kept + held, disk)

    def phase(self, phase: PhaseRecipe) -> Work:
        """All epochs, with a validation in each as often as the recipe says, and its measures."""
        how, contexts = phase.training, self.counts.contexts
        validations = how.epochs * how.validations
        operations = scored = 0.0
        for part in READS["elbo"]:
            reads = validations * (part in READS[phase.loss])
            reads += sum(part in of_loss for of_loss in READS.values())
            passes = how.epochs * (3 if part in TRAINS[phase.loss] else 1)
            passes *= part in READS[phase.loss]
            for examples, k, times in (
                (contexts["train"], phase.sample.k, passes),
                (contexts["validation"], phase.validation.k, reads),
            ):
                if part != "generator":
                    operations += times * self._side(examples, examples * k)
                elif self.generator is None:
                    scored += times * examples * k
                else:
                    operations += times * examples * k * self._pair(self.generator)
        amounts = {operations_in(how.precision, "training"): operations}
        if scored:
            amounts["lexical pairs"] = scored
        weights = self._weights()
        memory = weights * COPIES + self._kept + self._states(phase)
        return Work(("training",), amounts, memory, weights)

    def _states(self, phase: PhaseRecipe) -> float:
        """Bytes of what a training step keeps of a piece of its batch."""
        how = phase.training
        pairs = how.batch_size * phase.sample.k / how.gradient_accumulation
        kept = 0.0
        if self._is_trained:
            kept += 2 * self._length * self.size.layers * self.size.width
        if self.generator is not None:
            tokens = self._pair_length + _WRITTEN * self.recipe.generator.output_length
            kept += tokens * self.generator.layers * self.generator.width
        return pairs * kept * ACTIVATIONS

    def scores(self, pairs: float) -> Work:
        """The probabilities of targets, given an input and a passage each."""
        if self.generator is None:
            return Work(("networks",), {"lexical pairs": pairs})
        amounts = {operations_in("float32"): pairs * self._pair(self.generator)}
        return Work(("networks",), amounts, memory=self._weights())

    def likelihoods(self) -> Work:
        """Each test context's target with all passages of its list."""
        depth = min(self.recipe.closed.depth, self.counts.passages)
        pairs = self.counts.contexts["test"] * depth
        return replace(self.scores(pairs), disk=SINGLE * pairs)

    def texts(self) -> Work | None:
        """A beam search for each of the first passages, and what thorough decoding scores.

        None where the lexical mixture writes.
        """
        decode, contexts = self.recipe.decode, self.counts.contexts["test"]
        if self.generator is None:
            return None
        passages = min(decode.passages, self.recipe.closed.depth, self.counts.passages)
        read, most = self._pair_length, decode.max_length
        each = self.generator.operations(read, read)
        each += decode.beams * _WRITTEN * self.generator.operations(most, most)
        amounts = {operations_in("float32"): contexts * passages * each}
        written = Work(("networks",), amounts)
        if not decode.thorough:
            return written
        return together(written, self.scores(contexts * passages * decode.beams * passages))


def ranked_by_words(counts: Counts, queries: float) -> Work:
    """BM25 of all passages for so many queries."""
    amounts = {"memory bytes": counts.bytes, "memory pairs": queries * counts.passages}
    return Work(("memory",), amounts)


def candidates(study: Opened) -> Work | None:
    """What BM25 or MiniLM ranks for each context's two queries; None where sizes are not known."""
    recipe, counts = study.recipe.closed, study.data.counts
    if counts is None:
        return None
    queries = 2 * sum(counts.contexts.values())
    disk = SINGLE * queries * min(recipe.candidate_depth, counts.passages)
    if recipe.candidates == "bm25":
        return replace(ranked_by_words(counts, queries), memory=disk, disk=disk)
    size, retriever = size_of_model(MINILM, study.folder), RetrieverRecipe()
    if size is None:
        return None
    length = min(retriever.document_length, counts.length)
    of_query = min(retriever.query_length, counts.context_bytes / BYTES_PER_TOKEN)
    tokens = counts.passages * length + queries * of_query
    products = Work((), {"products": 2.0 * size.width * queries * counts.passages}, disk, disk)
    return together(forward(size, tokens, length), products)
