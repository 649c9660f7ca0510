"""The file of a study of ranks: ``experiments/NAME.yaml`` with ``kind: ranks``.

A masked span has one true candidate, so there are no qrels, and no runs are kept: what a system
leaves is the rank of each truth among all candidates.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from adducir.corpora.spans.splitting import DEFAULT_SHARES, check_shares
from adducir.encoders.settings import LengthPart, Some
from adducir.experiments.evaluation.ranks import CUTOFFS, Ties
from adducir.experiments.recipe import ComparisonRecipe, Name, TableRecipe, file_name
from adducir.models.machine import Precision
from adducir.study.errors import UsageError
from adducir.study.recipe import Recipe
from adducir.training.recipe import Several, listed

KIND = "ranks"
ContextName = Annotated[str, Field(pattern=r"^[\w.+/][\w .+/-]*$", max_length=40)]
"""As the papers write them: ``L+R``, ``4/4``."""
Part = Literal["train", "validation", "test"]


class DataRecipe(Recipe):
    """Contexts, and what is ranked for them; one of the first three.

    Attributes:
        spans: Files of masked spans: all of them are candidates for every context.
        relic: A file in RELiC's form: the passages of a quotation's book and length.
        pools: A folder of queries with pools, as BIRCO has them.
        candidates: Files of spans that are candidates only, beside ``spans``.
        part: The part whose contexts are ranked; all groups stay candidates. None for all.
        shares: The shares of the groups, as an encoder's recipe divides them.
        seed: Of that division.
        groups: The books or questions whose contexts are ranked; none for all.
        sentences: The lengths of the spans whose contexts are ranked; none for all.
    """

    spans: Several = ()
    relic: str = ""
    pools: str = ""
    candidates: Several = ()
    part: Part | None = None
    shares: dict[Part, float] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    groups: tuple[str, ...] = ()
    sentences: tuple[Annotated[int, Field(ge=1)], ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> "DataRecipe":
        if sum(map(bool, (listed(self.spans), self.relic, self.pools))) != 1:
            raise ValueError("one of `spans`, `relic` and `pools` is needed")
        if listed(self.candidates) and not listed(self.spans):
            raise ValueError("`candidates` stand beside `spans` only")
        if self.pools and (self.part or self.groups):
            raise ValueError("the books of `pools` are not known: leave out `part` and `groups`")
        if self.shares and not self.part:
            raise ValueError("`shares` need `part`")
        try:
            check_shares(self.divided)
        except UsageError as error:
            raise ValueError(error.what.rstrip(".")) from error
        return self

    @property
    def divided(self) -> dict[str, float]:
        """The shares, default or not."""
        return {f"{name}": share for name, share in (self.shares or DEFAULT_SHARES).items()}


class ContextRecipe(Recipe):
    """What systems read of a context; see :class:`adducir.encoders.settings.ContextPart`.

    Attributes:
        left: Sentences on the left of the mask.
        right: Sentences on the right.
        words: Words of each side.
        tokens: Tokens of each side, as the system counts them: a network's pieces, BM25's words.
    """

    left: Some = None
    right: Some = None
    words: Some = None
    tokens: Some = None


class LexicalPart(Recipe):
    """BM25 as rank_bm25's BM25Okapi, over each set of candidates by itself.

    Attributes:
        k1: Saturation of term frequency.
        b: Weight of length.
        epsilon: The floor of the idf, a share of the mean idf.
        analysis: ``split``: lower case, cut at white space, as with rank_bm25; ``lucene``:
            Anserini's analysis, with stemming and stop words.
    """

    k1: Annotated[float, Field(ge=0)] = 1.5
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    epsilon: float = 0.25
    analysis: Literal["split", "lucene"] = "split"


class SystemRecipe(Recipe):
    """A system; one of ``bm25``, ``encoder``, ``train``, ``colbert`` and ``maxsim``.

    Attributes:
        bm25: BM25.
        encoder: An encoder by name, as it is.
        train: The recipe of an encoder to be trained, for each context anew; with several, each
            goes on from the one before.
        colbert: A ColBERT by name: every candidate is scored by late interaction.
        maxsim: Late interaction of any encoder's token vectors.
        set: Changes of the recipes, as ``--set`` has them.
        contexts: The contexts that it is ranked with; none for all.
        lengths: Tokens that are read; not of ``bm25`` and ``train``.
        pooling: Of ``encoder``: how token vectors become one; by default as its folder says.
    """

    bm25: LexicalPart | None = None
    encoder: str = ""
    train: Several = ()
    colbert: str = ""
    maxsim: str = ""
    set: tuple[str, ...] = ()
    contexts: tuple[ContextName, ...] = ()
    lengths: LengthPart = LengthPart()
    pooling: Literal["first", "mean", "pooler"] | None = None

    @model_validator(mode="after")
    def _fits(self) -> "SystemRecipe":
        said = (self.bm25, self.encoder, listed(self.train), self.colbert, self.maxsim)
        if sum(map(bool, said)) != 1:
            raise ValueError(
                "one of `bm25`, `encoder`, `train`, `colbert` and `maxsim` is needed "
                "(`bm25: {}` for its defaults)"
            )
        if self.set and not listed(self.train):
            raise ValueError("`set` changes what `train` names")
        if self.lengths != LengthPart() and (self.bm25 or listed(self.train)):
            raise ValueError("`lengths` mean nothing to `bm25`; those of `train` are its recipe's")
        if self.pooling and not self.encoder:
            raise ValueError("`pooling` means nothing without `encoder`")
        return self

    @property
    def late(self) -> str:
        """The model of late interaction; empty for other systems."""
        return self.colbert or self.maxsim


class RanksStudy(Recipe):
    """A whole file; see docs/ranks.md for its keys.

    Attributes:
        description: For readers.
        kind: Tells this file from other experiments.
        data: What is ranked: a table each.
        contexts: What is read of contexts: a section of the tables each.
        systems: What is compared.
        random: Whether the exact expectation of a random ranking stands in the tables.
        cutoffs: The k of R@k.
        ties: How candidates count that score as the truth does.
        rouge: Whether ROUGE-L of what is ranked first, with the gold text, is a column.
        by: Tables of the contexts' groups by these keys as well: ``length``, ``group``.
        precision: What networks compute in when candidates are ranked.
        comparison: Which differences are tested, within a context; baselines are systems.
        table: How the tables look.
    """

    description: str = ""
    kind: Literal["ranks"]
    data: Annotated[dict[Name, DataRecipe], Field(min_length=1)]
    contexts: Annotated[dict[ContextName, ContextRecipe], Field(min_length=1)]
    systems: Annotated[dict[Name, SystemRecipe], Field(min_length=1)]
    random: bool = True
    cutoffs: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = CUTOFFS
    ties: Ties = "pessimistic"
    rouge: bool = False
    by: tuple[Literal["length", "group"], ...] = ()
    precision: Precision = "float32"
    comparison: ComparisonRecipe | None = None
    table: TableRecipe = TableRecipe()

    @model_validator(mode="after")
    def _fits(self) -> "RanksStudy":
        for names in (self.data, self.contexts, self.systems):
            if len({folder_name(name) for name in names}) < len(names):
                raise ValueError(f"two of {', '.join(names)} would have one folder")
        for name, system in self.systems.items():
            unknown = set(system.contexts) - set(self.contexts)
            if unknown:
                raise ValueError(f"the system {name!r} names no context {min(unknown)!r}")
        baselines: tuple[Any, ...] = self.comparison.baselines if self.comparison else ()
        unknown = set(baselines) - set(self.systems)
        if unknown:
            raise ValueError(f"the baseline {min(unknown)!r} is no system")
        if self.random and "random" in self.systems:
            raise ValueError("a system is called 'random', as the row of `random: true` is")
        return self

    def contexts_of(self, system: str) -> tuple[str, ...]:
        """The contexts that a system is ranked with, in the file's order."""
        asked = self.systems[system].contexts
        return tuple(name for name in self.contexts if not asked or name in asked)


def folder_name(name: str) -> str:
    """A name as that of a folder."""
    return file_name(name).replace("/", "_")
