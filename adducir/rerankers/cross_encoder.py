"""Cross-encoders: a query and a text in one input, a score from a classifier's logits.

Every token of the query attends to every token of the text, which makes the score exact and dear:
nothing of a document can be computed before the query is known. Any model of transformers for
sequence classification is taken: those of sentence-transformers (Reimers and Gurevych, EMNLP 2019),
and those that ``adducir train`` makes. Of a model with one label the score is the raw logit.
sentence-transformers shows its sigmoid by default, which orders alike until it rounds to 1.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from adducir.core.errors import InputError
from adducir.models.batches import padded
from adducir.models.loading import load_model, load_tokenizer, longest_input
from adducir.models.machine import seed_of
from adducir.models.sources import ModelSource
from adducir.rerankers.checkpoints import config_of, has_architecture
from adducir.rerankers.examples_recipe import ExamplesPart, HeldOutPart
from adducir.rerankers.inputs import Encoded, PairReader
from adducir.rerankers.recipe import Length, RerankerRecipe
from adducir.rerankers.scoring import Joint, Pair
from adducir.training.recipe import ModelRecipe

if TYPE_CHECKING:
    import torch

_KIND = "AutoModelForSequenceClassification"


class CrossEncoderRecipe(RerankerRecipe, ModelRecipe):
    """A cross-encoder, as it is or to be trained.

    Attributes:
        length: Tokens of an input; by default as many as the model has positions.
        label: The class whose log-probability is the score; by default the last of two.
        labels: Outputs of a new head, where one is trained.
        examples: What to learn from; a recipe with examples makes a model.
        held_out: What is kept for validation.
        training: How to train.
    """

    classes: ClassVar[tuple[str, ...]] = ("ForSequenceClassification",)
    kind: Literal["cross-encoder"] = "cross-encoder"  # type: ignore[assignment]
    model: Literal["cross-encoder"] = "cross-encoder"
    length: Length | None = None
    label: int | None = None
    labels: Literal[1, 2] = 1
    examples: ExamplesPart | None = None
    held_out: HeldOutPart = HeldOutPart()

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        """See :class:`RerankerRecipe`: every classifier of pairs."""
        return has_architecture(source, "ForSequenceClassification")

    def load(self, source: ModelSource) -> "CrossEncoder":
        """See :meth:`CrossEncoder.load`."""
        return CrossEncoder.load(source, length=self.length, label=self.label)

    def scale(self, source: ModelSource) -> str:
        """See :class:`RerankerRecipe`."""
        # A configuration that does not name its classes has two.
        return scale_of(len(config_of(source).get("id2label") or (0, 1)), self.label)


class CrossEncoder(Joint):
    """A classifier of pairs.

    Args:
        network: A model of transformers for sequence classification.
        length: Tokens of an input, at most.
        label: The class whose log-probability is the score.

    Raises:
        InputError: It has more than two classes, and none of them is named.
    """

    def __init__(
        self, network: Any, tokenizer: Any, *, length: int | None = None, label: int | None = None
    ) -> None:
        self.network = network
        self.tokenizer = tokenizer
        self.length = longest_input(network.config, tokenizer, length)
        self.labels = int(network.config.num_labels)
        if label is None and self.labels > 2:
            names = dict(sorted(network.config.id2label.items()))
            raise InputError(
                f"this model has {self.labels} classes: {names}.",
                hint="Name the one whose probability is the score, with `label:` in a recipe.",
            )
        self.label = label if label is not None else self.labels - 1
        if not 0 <= self.label < self.labels:
            raise InputError(f"there is no class {self.label}: the model has {self.labels}.")
        self._reader = PairReader(tokenizer, self.length)
        self._has_types = int(getattr(network.config, "type_vocab_size", 0) or 0) > 1

    @classmethod
    def load(
        cls,
        source: ModelSource,
        *,
        length: int | None = None,
        label: int | None = None,
    ) -> "CrossEncoder":
        """A trained cross-encoder.

        Raises:
            InputError: The model has no classifier: a new one would give random scores.
            MachineError: It cannot be fetched.
        """
        if not has_architecture(source, "ForSequenceClassification"):
            raise InputError(
                f"{source.name} is no cross-encoder: it has no trained classifier.",
                path=source.folder,
                hint="Train one from it with a recipe, or use it as an encoder: "
                f"maxsim:{source.name}.",
            )
        return cls(
            load_model(source, _KIND),
            load_tokenizer(source),
            length=length,
            label=label,
        )

    @classmethod
    def untrained(
        cls,
        base: ModelSource,
        *,
        labels: int = 1,
        length: int | None = None,
        seed: int = 0,
    ) -> "CrossEncoder":
        """A model as training starts: its own classifier, or a new one on an encoder.

        Raises:
            InputError: The base cannot be loaded, or its classifier has other labels.
        """
        import torch

        torch.manual_seed(seed_of(seed, "head"))
        if has_architecture(base, "ForSequenceClassification"):
            network: Any = load_model(base, _KIND)
            if network.config.num_labels != labels:
                raise InputError(
                    f"the classifier of {base.name} has {network.config.num_labels} outputs, "
                    f"not {labels}.",
                    hint="Set `labels:` to that number (1 or 2).",
                )
        else:
            network = load_model(base, _KIND, new_head=True, num_labels=labels)
        return cls(network, load_tokenizer(base), length=length)

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """Token ids and segments of pairs."""
        return self._reader.read(pairs)

    def logits(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n, labels) in single precision."""
        device = self.network.device
        ids, mask = padded([one.ids for one in batch], self.tokenizer.pad_token_id or 0, device)
        options = {"input_ids": ids, "attention_mask": mask}
        if self._has_types:
            options["token_type_ids"] = padded([one.types for one in batch], 0, device)[0]
        found: torch.Tensor = self.network(**options).logits.float()
        return found

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) the logit, or the log-probability of the class."""
        logits = self.logits(batch)
        return logits[:, 0] if self.labels == 1 else logits.log_softmax(dim=-1)[:, self.label]


def scale_of(labels: int, label: int | None) -> str:
    """What the scores of a classifier with so many outputs are."""
    if labels == 1:
        return "logit"
    return f"log-probability of class {labels - 1 if label is None else label}"
