"""Fingerprints: equal for equal values, different for others, the same everywhere."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from adducir.core.fingerprint import canonical, fingerprint

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def shuffled(value):
    """The same value with every mapping's keys in reverse order, lists as tuples."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return tuple(shuffled(item) for item in value)
    return value


@given(VALUES)
def test_order_of_keys_does_not_matter_and_nothing_is_lost(value) -> None:
    assert canonical(shuffled(value)) == canonical(value)
    assert json.loads(canonical(value)) == value
    assert canonical(json.loads(canonical(value))) == canonical(value)


def test_the_form_is_fixed() -> None:
    value = {"b": [1, 1.0, 1e-5, 0.1], "a": {"é": None, "Z": True}, "p": Path("x/y")}
    text = '{"a":{"Z":true,"\\u00e9":null},"b":[1,1.0,1e-05,0.1],"p":"x/y"}'
    assert canonical(value) == text
    digest = "8ba644d2cad297a78002965388b37e915adca8a7a6239e1cf54ae31eac84d044"
    assert fingerprint(value) == digest
