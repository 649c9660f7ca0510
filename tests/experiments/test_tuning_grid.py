"""Values are exact, grids are in order, slips are refused."""

import pytest

from adducir.core.errors import UsageError
from adducir.experiments.tuning.grid import Grid, Hyperparameter, from_recipe, from_text, plain

HYPERPARAMETERS = {
    "k1": Hyperparameter(low=0),
    "b": Hyperparameter(low=0, high=1),
    "fb_terms": Hyperparameter(whole=True, low=1),
}


def floats(values):
    return [float(value) for value in values]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.2:1.0:0.2", [0.2, 0.4, 0.6, 0.8, 1.0]),
        ("0.1:0.3:0.1", [0.1, 0.2, 0.3]),
        ("4:14:2", [4, 6, 8, 10, 12, 14]),
        ("0.2,0.4", [0.2, 0.4]),
        ("7", [7]),
        ("3:3:1", [3]),
        ("0.9, 1:2:0.5", [0.9, 1.0, 1.5, 2.0]),
        ("-1:1:1", [-1, 0, 1]),
        ("1e3:3e3:1e3", [1000, 2000, 3000]),
    ],
)
def test_values_are_those_a_person_would_write(text, values):
    assert floats(from_text(text)) == values


def test_a_range_of_a_recipe_has_no_dust():
    values = from_recipe({"from": 0.2, "to": 1.0, "step": 0.2})
    assert [str(value) for value in values] == ["0.2", "0.4", "0.6", "0.8", "1.0"]
    assert floats(from_recipe([4, 0.5])) == [4, 0.5]
    assert floats(from_recipe(3)) == [3]
    assert 0.2 + 0.2 + 0.2 != 0.6  # what adding floats would give


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5:2.4:0.5", "do not end on 2.4. End on 2 or 2.5"),
        ("1:2:0", "greater than 0"),
        ("1:2:-1", "greater than 0"),
        ("2:1:1", "goes upwards"),
        ("1:2", "first:last:step"),
        ("a", "not a number"),
        ("", "not a number"),
        ("nan", "finite"),
        ("1:inf:1", "finite"),
        ("0:1:0.0000001", "more than 100,000 values"),
    ],
)
def test_odd_ranges_are_refused(text, message):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        from_text(text)


def test_a_range_of_a_recipe_needs_all_its_keys():
    with pytest.raises(UsageError, match="step is missing"):
        from_recipe({"from": 1, "to": 2})


def test_settings_go_up_and_the_last_parameter_varies_fastest():
    grid = Grid.of({"k1": [1.2, 0.9], "fb_terms": [10, 5, 20]}, HYPERPARAMETERS)
    assert len(grid) == 6
    assert list(grid.settings()) == [
        {"k1": k1, "fb_terms": terms} for k1 in (0.9, 1.2) for terms in (5, 10, 20)
    ]
    assert [grid.setting(number) for number in range(6)] == list(grid.settings())
    assert isinstance(grid.setting(0)["fb_terms"], int)
    assert isinstance(Grid.of({"k1": [1]}, HYPERPARAMETERS).setting(0)["k1"], float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "nothing to tune"),
        ({"k2": [1]}, "did you mean `k1`"),
        ({"k1": []}, "no values"),
        ({"k1": from_text("0.4,0.40")}, "0.4 twice"),
        ({"fb_terms": [2.5]}, "whole numbers, not 2.5"),
        ({"b": [0.5, 1.5]}, "from 0 to 1, not 1.5"),
        ({"k1": [-1]}, "from 0 up, not -1"),
    ],
)
def test_odd_grids_are_refused(values, message):
    with pytest.raises(UsageError, match=message):
        Grid.of(values, HYPERPARAMETERS)


def test_an_edge_is_where_more_could_be_tried():
    k1, b, terms = Grid.of(
        {"k1": [0, 1, 2], "b": [0.5, 1], "fb_terms": [5]}, HYPERPARAMETERS
    ).parameters
    assert [k1.is_edge(value) for value in k1.values] == [False, False, True]  # k1 ends at 0
    assert [b.is_edge(value) for value in b.values] == [True, False]  # b ends at 1
    assert not terms.is_edge(5)  # nothing was tuned


def test_values_are_written_as_people_do():
    assert [plain(value) for value in (4.0, 0.4, 1000, 1e-7, 2.50)] == [
        "4",
        "0.4",
        "1000",
        "0.0000001",
        "2.5",
    ]
