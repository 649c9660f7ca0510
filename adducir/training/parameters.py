"""Which parameters are trained, at which rate, and which layers are computed twice."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from adducir.core.errors import InputError
from adducir.training.recipe import GroupPart, TrainingRecipe, listed

if TYPE_CHECKING:
    import torch


def freeze(model: "torch.nn.Module", patterns: Sequence[str]) -> None:
    named = dict(model.named_parameters())
    for pattern in patterns:
        for name in _fitting(pattern, named, "freeze"):
            named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        raise InputError(
            "every parameter is frozen, so there is nothing to train.",
            hint="Take a pattern out of `training.freeze`.",
        )


def adamw(model: "torch.nn.Module", recipe: TrainingRecipe) -> "torch.optim.AdamW":
    """AdamW over what is trained; biases and layer norms (one dimension) are not decayed."""
    import torch

    named = dict(model.named_parameters())
    rest = {name: one for name, one in named.items() if one.requires_grad}
    groups = list[dict[str, Any]]()
    for part in (*recipe.parameter_groups, GroupPart(match="*")):
        fitting = {
            name
            for pattern in listed(part.match)
            for name in _fitting(pattern, named, "parameter_groups")
        }
        chosen = [rest.pop(name) for name in [*rest] if name in fitting]
        rate = recipe.learning_rate if part.learning_rate is None else part.learning_rate
        decay = recipe.weight_decay if part.weight_decay is None else part.weight_decay
        for is_flat in (False, True):
            parameters = [one for one in chosen if (one.ndim <= 1) == is_flat]
            if parameters:
                own = {"weight_decay": 0.0 if is_flat else decay, "lr": rate}
                groups.append({"params": parameters, **own})
    return torch.optim.AdamW(groups, lr=recipe.learning_rate)


def _fitting(pattern: str, names: Any, key: str) -> list[str]:
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        some = ", ".join([*names][:3])
        raise InputError(
            f"no parameter of this model matches {pattern!r} (`training.{key}`).",
            hint=f"Its {len(names)} parameters are called {some} and so on.",
        )
    return found


def checkpoint_layers(model: "torch.nn.Module") -> None:
    """Have a model's layers keep only their input, and compute the rest again backwards."""
    from transformers import PreTrainedModel

    networks = (one for one in model.modules() if isinstance(one, PreTrainedModel))
    able: list[Any] = [one for one in networks if one.supports_gradient_checkpointing]
    if not able:
        raise InputError(
            f"a {type(model).__name__} does not support gradient checkpointing.",
            hint="Leave `training.gradient_checkpointing` out.",
        )
    for one in able:
        one.gradient_checkpointing_enable({"use_reentrant": False})
