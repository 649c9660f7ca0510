"""The training of a ColBERT: from a recipe in ``rerankers/`` to a model's folder.

The score of a query and a text is :mod:`late interaction's <adducir.rerankers.colbert>`, for every
query of a batch with every candidate. An encoder gets markers and a projection; a ColBERT keeps
its own. The folder is in PyLate's format, which sentence-transformers' MultiVectorEncoder reads,
too.
"""

import json
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.errors import InputError
from adducir.encoders.reading import Reader
from adducir.models.folders import SENTENCE_SETTINGS, SIDES, Side, look
from adducir.models.loading import load_tokenizer, with_padding
from adducir.models.machine import seed_of
from adducir.models.peers import load_trunk, loadable_network
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, linear_layer
from adducir.rerankers.late_reading import LateReading
from adducir.training.retrievers import RetrieverTraining

if TYPE_CHECKING:
    import torch

_BASES = ("encoder", "transformer", "masked-lm", "causal-lm", "seq2seq")
_ADDED = ("[Q] ", "[D] ")
"""PyLate's markers, for a vocabulary without ColBERT's."""


class ColBERTTraining(RetrieverTraining[ColBERTRecipe]):
    """A ColBERT: a vector per token, compared by MaxSim."""

    recipe_type = ColBERTRecipe
    artifact = "reranker"
    needs_examples = True
    of_use = ("kind", "precision", "batch_tokens")  # read from the current recipe
    card = """A ColBERT (Khattab and Zaharia, 2020): it encodes queries and texts into a vector per
token and scores them by MaxSim.

## Use

```sh
adducir rerank --run RUN --topics TOPICS --index INDEX --reranker {name} --output reranked.trec.gz
```

PyLate and sentence-transformers load it: `pylate.models.ColBERT("{name}")`,
`sentence_transformers.MultiVectorEncoder("{name}")`."""

    @property
    def kept(self) -> Collection[str]:  # type: ignore[override]
        seen = look(self.base)
        if seen.kind not in ("colbert", *_BASES):
            needed = "a ColBERT, an encoder or a network without a head"
            raise seen.no_base("ColBERT", needed, self.base.folder)
        return ("head", "modules", "prompts") if seen.kind == "colbert" else ()

    @cached_property
    def late(self) -> LateInteraction:
        """The network with its layers on each token's vector, as modules that can be trained."""
        import torch

        torch.manual_seed(seed_of(self.recipe.training.seed, "head"))
        late = self._further() if self.kept else self._new()
        with_padding(late.network, late.tokenizer)
        if not late.layers:
            width = int(late.network.config.hidden_size)
            late.layers = [linear_layer(width, self.recipe.dimensions)]
        return late

    def _further(self) -> LateInteraction:
        late = LateInteraction.load(self.base, self.recipe)
        reading, cut = late.reading, late.tokenizer.tokenize
        needs_blank = reading.prompts == (" ", " ") and cut(" a") != cut("a")  # Stanford's
        is_stated = not reading.filler and reading.is_fixed and reading.skips == ("document",)
        if needs_blank or not is_stated:
            raise InputError(
                f"{self.base.name} reads texts as PyLate's format cannot state: {reading.shown()}.",
                path=self.base.folder,
                hint="Start from its base model, or from a ColBERT that PyLate saved.",
            )
        return late

    def _new(self) -> LateInteraction:
        source = loadable_network(self.base)
        network: Any = load_trunk(source, new_head=True)
        tokenizer = load_tokenizer(source)
        markers, vocabulary = self.recipe.markers, tokenizer.get_vocab()
        sample = tokenizer.backend_tokenizer.encode("a")
        if not sample.special_tokens_mask[0]:  # PyLate inserts a marker behind the first token
            if markers is not None:
                message = "this tokenizer begins texts without a special token, which markers need."
                raise InputError(message, path=source.folder, hint="Leave `markers` out.")
            chosen: tuple[str | None, str | None] = (None, None)
        else:
            published = "[unused0]", "[unused1]"
            is_known = all(marker in vocabulary for marker in published)
            chosen = markers or (published if is_known else _ADDED)
            split = [marker for marker in chosen if tokenizer.tokenize(marker) != [marker]]
            tokenizer.add_tokens(split, special_tokens=True)
            if len(tokenizer) > network.get_input_embeddings().num_embeddings:
                network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        reading = replace(self.recipe.changed(LateReading()), markers=chosen)
        return LateInteraction(network, tokenizer, reading)

    def model(self) -> "torch.nn.Module":
        from torch import nn

        layers = nn.ModuleList(self.late.layers)
        return nn.ModuleDict({"network": self.late.network, "layers": layers})

    @property
    def readers(self) -> dict[Side, Reader]:
        return self.late.readers

    def features(self, ids: "torch.Tensor", mask: "torch.Tensor", side: Side) -> dict[str, Any]:
        return self.late.features(ids, mask, side)

    def embed(self, model: "torch.nn.Module", features: dict[str, Any]) -> Any:
        """(n, T, dimensions) vectors, zeros for tokens that do not count."""
        vectors = self.late.vectors(features) * features["counts"][..., None]
        return {"sentence_embedding": vectors}

    def score(self, queries: "torch.Tensor", texts: "torch.Tensor") -> "torch.Tensor":
        from sentence_transformers.util import maxsim

        is_mean = self.late.reading.is_mean
        return maxsim(queries, texts, queries.any(-1), texts.any(-1), length_normalize=is_mean)

    def save(self, model: Any, folder: Path) -> None:
        late: Any = self.late
        late.network.save_pretrained(folder)
        late.tokenizer.save_pretrained(folder)
        modules = [("", "sentence_transformers.models.Transformer")]
        for number, layer in enumerate(late.layers, 1):
            place = folder / f"{number}_Dense"
            place.mkdir()
            layer.save(str(place))
            modules.append((place.name, "pylate.models.Dense.Dense"))
            config = json.loads((place / "config.json").read_text(encoding="utf-8"))
            old = {key: value for key, value in config.items() if not key.startswith("module_")}
            _write(place / "config.json", old)
        listed = [
            {"idx": number, "name": f"{number}", "path": path, "type": kind}
            for number, (path, kind) in enumerate(modules)
        ]
        _write(folder / "modules.json", listed)
        _write(folder / SENTENCE_SETTINGS, self._stated())
        longest = max(reader.longest for reader in late.readers.values())
        settings = {"max_seq_length": longest, "do_lower_case": False}
        _write(folder / "sentence_bert_config.json", settings)
        self.recipe.save(folder)

    def _stated(self) -> dict[str, Any]:
        """The settings that PyLate reads from a model's folder."""
        reading, readers = self.late.reading, self.late.readers
        return {
            "model_type": "ColBERT",
            "prompts": dict(zip(SIDES, reading.prompts, strict=True)),
            "default_prompt_name": None,
            "similarity_fn_name": "meanmaxsim" if reading.is_mean else "MaxSim",
            "query_prefix": reading.markers[0] or "",
            "document_prefix": reading.markers[1] or "",
            "query_length": readers["query"].longest,
            "document_length": readers["document"].longest,
            "attend_to_expansion_tokens": reading.attend,
            "skiplist_words": [*self.late.skipped],
            "do_query_expansion": reading.expanded is not None,
        }


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
