"""Settings drawn from the classes that state them: values inside and outside types and bounds."""

import json
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from adducir.core.registry import Family

Fields = Mapping[str, FieldInfo]
Values = tuple[list[Any], list[Any]]  # right ones, and wrong ones
WRONG = "nosuch"  # how texts begin that name nothing


def values_of(hint: Any, marks: Sequence[Any], texts: Sequence[Any]) -> Values:
    """Values of a field's type; ``texts``: what texts are tried, as a type does not say it."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return values_of(inner[0], (*marks, *inner[1:]), texts)
    if families := [mark for mark in marks if isinstance(mark, Family)]:
        return [*families[0]], [WRONG]
    if kind is Literal:
        return [*inner], [WRONG]
    if kind in (Union, UnionType):
        return values_of(next(one for one in inner if one is not NoneType), marks, texts)
    if kind in (list, tuple, Sequence):
        right, wrong = values_of(inner[0], (), texts)
        return [*([one] for one in right), right[:2], right], [[one] for one in wrong]
    if hint is bool:
        return [True, False], ["perhaps"]
    if hint in (int, float):
        return _numbers(hint, marks)
    parts: Values = [], []
    for text in texts:
        parts[str(text).startswith(WRONG)].append(text)
    return parts


def _numbers(kind: type, marks: Sequence[Any]) -> Values:
    names = "ge", "gt", "le", "lt"
    marks = [inner for mark in marks for inner in getattr(mark, "metadata", [mark])]
    bounds = {name: getattr(m, name) for m in marks for name in names if hasattr(m, name)}
    low = bounds.get("ge", bounds.get("gt", 0))
    high = bounds.get("le", bounds.get("lt", low + 16))
    step = 1 if kind is int else (min(high, low + 8) - low) / 8
    right = [low + step, low + 2 * step, *([low] if "ge" in bounds else [])]
    wrong = ["much", "nan", *(["2.5"] if kind is int else [])]
    wrong += [high * 1.1] if "le" in bounds else []
    return right, wrong + ([low - 1] if "ge" in bounds else [low] if "gt" in bounds else [])


@st.composite
def settings_of(
    draw: st.DrawFn,
    fields: Fields,
    families: Mapping[str, tuple[Family[Any], str]],
    others: Fields,
    texts: Mapping[str, Sequence[Any]],
) -> dict[str, Any]:
    """Some of the fields, with at most one fault: a wrong value, another kind's key, a wrong name.

    ``families`` has the fields that name a kind, whose own fields are beside them; with usual ones.
    """
    stated, fields, others = dict[str, Any](), dict(fields), dict(others)
    for key, (family, usual) in families.items():
        name = draw(st.sampled_from(["", *family]))
        stated |= {key: name} if name else {}
        for kind in family.kinds().values():
            others = {**kind.model_fields, **others}
        if name or usual:
            fields = {**family.kind(name or usual).model_fields, **fields}
        del fields[key]
    values = {
        key: values_of(field.annotation, field.metadata, texts.get(key, texts["text"]))
        for key, field in (others | fields).items()
    }
    usable = [key for key in fields if values[key][0]]
    keys = draw(st.lists(st.sampled_from(usable), unique=True, max_size=4))
    stated |= {key: draw(st.sampled_from(values[key][0])) for key in keys}
    fault = draw(st.sampled_from(["", "", "value", "key", "name"]))
    if fault == "value" and (keys := [key for key in keys if values[key][1]]):
        key = draw(st.sampled_from(keys))
        stated[key] = draw(st.sampled_from(values[key][1]))
    elif fault == "key" and (keys := sorted(others.keys() - fields.keys() - stated.keys())):
        key = draw(st.sampled_from(keys))
        stated |= {key: draw(st.sampled_from(values[key][0]))} if values[key][0] else {}
    elif fault == "name":
        stated[f"{draw(st.sampled_from(usable))[:-1]}_s"] = 1
    return stated


def as_text(value: Any) -> str:
    """A value as users of the shell type it."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    if type(value) is int and value >= 0:
        return f" {value:#x}"  # a number is one in any form, as in files
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)
