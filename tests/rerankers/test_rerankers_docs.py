"""docs/reranking.md names every key of every recipe with its default."""

import re
from pathlib import Path

import pytest
import yaml

from adducir.core.config import load
from adducir.rerankers.registry import RERANKERS, recipe_of

KINDS = RERANKERS.kinds()
PAGE = (Path(__file__).parents[2] / "docs" / "reranking.md").read_text(encoding="utf-8")


def rows():
    """For each key what stands in its rows' second cells."""
    found = {}
    for line in PAGE.split("### Every key")[1].splitlines():
        if line.startswith("| `"):
            key, default, _ = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            found.setdefault(key.strip("`"), []).append(default.strip("`"))
    return found


def fields_of(recipe):
    waiting = [recipe]
    for model in waiting:
        for key, field in model.model_fields.items():
            yield key, field
            kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
            waiting += [kind for kind in kinds if hasattr(kind, "model_fields")]


def test_every_key_has_its_row_and_no_other_has():
    keys = {key for recipe in KINDS.values() for key, _ in fields_of(recipe)}
    assert sorted(keys ^ set(rows())) == []


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_those_of_the_recipes(kind):
    stated = rows()
    for key, field in fields_of(KINDS[kind]):
        default = field.default
        if key == "model" or not isinstance(default, int | float | str):
            continue  # none, or one that is put in words
        message = f"{default:g}" if isinstance(default, float) else str(default)
        if isinstance(default, bool):
            message = message.lower()
        assert message in stated[key], (key, message, stated[key])


@pytest.mark.parametrize("block", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S))
def test_recipes_in_the_document_are_right(block, tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(block, encoding="utf-8")
    message = yaml.safe_load(block)
    assert recipe_of(load(path)).model == message.get("model", message.get("kind"))
