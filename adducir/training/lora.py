"""LoRA: low-rank changes of a network's matrices are trained, then merged into its weights.

Hu et al. (ICLR 2022), by the library peft. The saved model is like any other: nothing of the
training is needed to load it.
"""

import warnings
from typing import TYPE_CHECKING, Any

from adducir.core.errors import InputError, MachineError
from adducir.core.recipe import as_tuple
from adducir.models.machine import seed_of
from adducir.training.recipe import LoraPart

if TYPE_CHECKING:
    import torch


def adapt(model: "torch.nn.Module", part: LoraPart, seed: int) -> None:
    """Freeze the networks in a model, but for their heads, and add changes to be trained.

    Raises:
        InputError: No layer has a target's name.
        MachineError: peft is not installed.
    """
    import torch
    from transformers import PreTrainedModel

    try:
        import peft
    except ImportError as error:
        message = "peft, which trains LoRA, is not installed."
        raise MachineError(message, hint="Install it: pip install peft") from error

    torch.manual_seed(seed_of(seed, "lora"))
    targets: Any = part.targets
    if targets != "all-linear":  # which is peft's word for all
        targets = [*as_tuple(part.targets)]
    networks = [module for module in model.modules() if isinstance(module, PreTrainedModel)]
    for network in networks:
        if any(network in [*other.modules()][1:] for other in networks):
            continue  # a part of another
        inside = {id(parameter) for parameter in network.base_model.parameters()}
        heads = [p for p in network.parameters() if id(p) not in inside and p.requires_grad]
        settings = peft.LoraConfig(
            r=part.r, lora_alpha=part.alpha, lora_dropout=part.dropout, target_modules=targets
        )
        try:
            with warnings.catch_warnings(action="ignore"):  # of layers that are transposed
                peft.inject_adapter_in_model(settings, network)
        except ValueError as error:
            what = f"`lora.targets` does not name layers of this {type(network).__name__}."
            raise InputError(what, hint=str(error).partition("\n")[0]) from error
        for parameter in heads:
            parameter.requires_grad_(True)


def merge(model: "torch.nn.Module") -> None:
    """Add the changes to the weights, and remove their layers."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for module in [*model.modules()]:
        for name, child in [*module.named_children()]:
            if isinstance(child, BaseTunerLayer):
                layer: Any = child
                layer.merge()
                setattr(module, name, layer.get_base_layer())
        if hasattr(module, "peft_config"):
            del module.peft_config
