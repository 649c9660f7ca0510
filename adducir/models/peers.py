"""Models that sentence-transformers saved, loaded complete, and the networks inside models."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.errors import InputError
from adducir.models.folders import (
    OURS,
    SIDES,
    Attention,
    Side,
    look,
    modules_of,
    network_of,
    network_settings,
    object_in,
)
from adducir.models.loading import explaining, load_config, load_model, load_tokenizer, with_padding
from adducir.models.sources import ModelSource

if TYPE_CHECKING:
    import torch

_OF_TASKS = {
    "fill-mask": "AutoModelForMaskedLM",
    "sequence-classification": "AutoModelForSequenceClassification",
    "text-generation": "AutoModelForCausalLM",
}


def folder_of(source: ModelSource) -> Path:
    """A model's folder, downloaded if necessary; its weights may be in a module's folder."""
    folder = source.folder
    return folder if folder and modules_of(folder) else source.local()


def loadable_network(source: ModelSource) -> ModelSource:
    """A model's only network, downloaded if necessary."""
    folder_of(source)
    return network_of(source)


def check_modules(folder: Path, *, messages: bool = False) -> None:
    """Refuse modules that would not be computed as their makers do.

    Args:
        messages: Whether texts may be read through a chat template.
    """
    for kind, place in [module for side in SIDES for module in modules_of(folder, side)]:
        if not kind.startswith(OURS):
            message = f"its module {kind} is custom code, which would not be run."
            raise InputError(message, path=folder / "modules.json")
        activation = object_in(place / "config.json").get("activation_function")
        if kind.endswith("Dense") and not str(activation or "torch.").startswith("torch."):
            message = f"its dense layer's activation {activation} is not one of torch."
            raise InputError(message, path=place / "config.json")
        if not messages and "message" in network_settings(place).get("modality_config", {}):
            message = "its texts are read through a chat template, which is not supported here."
            raise InputError(message, path=place)


def networks_of(source: ModelSource) -> list[tuple[Side, int, ModelSource]]:
    """Each side's networks and their places among its modules; refuses code and missing weights."""
    folder, plain = folder_of(source), "Transformer"
    networks = [
        (side, number, replace(source, folder=place))
        for side in SIDES
        for number, (name, place) in enumerate(modules_of(folder, side) or [(plain, folder)])
        if name.endswith(plain)
    ]
    for *_, network in networks:
        (network.adapted or network).local()
    return networks


def load_peer(
    source: ModelSource, kind: str, *, messages: bool = False, attention: Attention | None = None
) -> Any:
    """A model of a class of sentence-transformers on the CPU, with all its weights, or refused."""
    import sentence_transformers
    from sentence_transformers.base.modules import Transformer

    folder, done, options = folder_of(source), set[Any](), source.peer_options()
    if look(source).kind == "masked-lm":  # of BertForPreTraining, too, they pool the logits
        options["config_kwargs"] = {"architectures": ["ForMaskedLM"]}
    with explaining("model", folder):
        check_modules(folder, messages=messages)
        networks = networks_of(source)
        load = getattr(sentence_transformers, kind)
        model = load(str(folder), device="cpu", **options)
        for side, number, network in networks:
            module = tower(model, side)[number]
            if isinstance(module, Transformer) and module not in done:
                done.add(module)
                _load_anew(module, network, attention)
    return model


def _load_anew(module: Any, source: ModelSource, attention: Attention | None) -> None:
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as Normalizers

    longest = module.max_seq_length
    kind = _OF_TASKS.get(module.transformer_task) or encoder_class(source)
    padding = getattr(module.processor, "padding_side", "right")
    module.model = load_model(source, kind, attention=attention)
    module.processor = load_tokenizer(source)
    module.max_seq_length, module.processor.padding_side = longest, padding
    with_padding(module.model, module.processor)
    if module.do_lower_case:
        backend = module.processor.backend_tokenizer
        backend.normalizer = Normalizers([Lowercase(), *filter(None, [backend.normalizer])])


def as_module(source: ModelSource, network: Any, output: str) -> Any:
    """A network as a module of sentence-transformers that gives one of its outputs per token."""
    from sentence_transformers.base.modules import Transformer

    named: Any = {}
    if source.tokenizer is not None:
        named = {"tokenizer_name_or_path": str(source.local_tokenizer())}
    code = source.code_options()
    module = Transformer(
        str((source.adapted or source).local()),
        modality_config={"text": {"method": "forward", "method_output_name": output}},
        module_output_name="token_embeddings",
        model_kwargs=code,
        processor_kwargs=code,
        config_kwargs=code,
        **named,
    )
    module.model, module.processor = network, load_tokenizer(source)
    with_padding(network, module.processor)
    return module


def tower(model: "torch.nn.Module", side: Side) -> list[Any]:
    """The modules that a side's texts pass through."""
    first, *others = model.children()
    return [*getattr(first, "sub_modules", {side: [first]})[side], *others]


T5_ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}
"""Classes of the encoder alone, by its model's type."""


def encoder_class(source: ModelSource) -> str:
    """The transformers class of a checkpoint's encoder, where AutoModel would load more."""
    config = load_config(source)
    dpr = str((config.architectures or ["DPRQuestionEncoder"])[0])
    return {**T5_ENCODERS, "dpr": dpr}.get(config.model_type, "AutoModel")


def outputs_of(source: ModelSource, kind: str) -> int:
    """The outputs of a model's head of a class (AutoModelFor...), if there may be such a head."""
    import transformers

    config, ending = load_config(source), kind.removeprefix("AutoModel")
    if type(config) not in getattr(transformers, kind)._model_mapping and not source.runs_code:
        message = f"transformers has no class {ending} of the architecture {config.model_type}."
        hint = "Set `base` to a model of another architecture."
        raise InputError(message, path=source.folder, hint=hint)
    has_head = any(name.endswith(ending) for name in source.architectures)
    return int(config.num_labels or 0) if has_head else 0


def load_trunk(source: ModelSource, **how: Any) -> Any:
    """The network that gives a state per token, as :func:`load_model`; of DPR's, its BERT."""
    network = load_model(source, encoder_class(source), **how)
    return bert_of_dpr(network) if network.config.model_type == "dpr" else network


def bert_of_dpr(dpr: Any) -> Any:
    """DPR's BERT with a BERT's configuration, so that other programs read it where it is saved."""
    from transformers import BertConfig

    network = getattr(dpr, dpr.base_model_prefix).bert_model
    stated = network.config.to_dict()
    for key in ("model_type", "architectures", "projection_dim"):
        stated.pop(key, None)
    implementation = network.config._attn_implementation
    network.config = BertConfig.from_dict(stated)
    network.config._attn_implementation = implementation
    return network
