"""The choices on the command line are those of the packages."""

from typing import get_args

from adducir.cli import options
from adducir.cli.evaluate_options import DETAIL_ALIASES, DETAILS
from adducir.cli.group import load_command
from adducir.evaluation.judgements import NegativeGrades
from adducir.evaluation.measures import parse_measures
from adducir.experiments.retrieval.study import DEFAULT_MEASURES
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25, QLD
from adducir.statistics.choices import DEFAULT_PERMUTATIONS, DEFAULT_SEED, FAMILIES
from adducir.tables.table import DETAILS as TABLE_DETAILS


def choices_of(command, name):
    param = next(param for param in load_command(command).params if param.name == name)
    return tuple(param.type_descriptor.annotation.__args__)


def test_choices_are_those_of_the_packages():
    for command, name, choices in (
        ("evaluate", "family", FAMILIES),
        ("evaluate", "negative_grades", get_args(NegativeGrades)),
    ):
        assert choices_of(command, name) == choices
    assert DETAILS == TABLE_DETAILS
    assert set(DETAIL_ALIASES.values()) <= set(DETAILS)


def test_the_default_measures_are_those_of_an_experiment_file():
    assert parse_measures(options.DEFAULT_MEASURES) == parse_measures(DEFAULT_MEASURES)


def stated_default(command, name):
    param = next(param for param in load_command(command).params if param.name == name)
    return param.show_default


def test_the_defaults_in_the_help_are_those_of_the_packages():
    assert stated_default("evaluate", "permutations") == str(DEFAULT_PERMUTATIONS)
    assert stated_default("evaluate", "seed") == str(DEFAULT_SEED)
    for name, kind in (("k1", BM25), ("b", BM25), ("mu", QLD), ("fb_terms", RM3), ("fb_docs", RM3)):
        first = stated_default("search", name).split(";")[0]
        assert float(first) == kind.model_fields[name].default
    assert stated_default("search", "k1") == "0.9; of okapi, bm25l, bm25+ 1.5"


def test_the_defaults_of_evaluate_are_those_of_compare():
    import inspect

    from adducir.statistics.comparison.comparison import compare
    from adducir.statistics.presets import preset_of

    parameters = inspect.signature(compare).parameters
    for name in ("family", "against"):
        assert stated_default("evaluate", name) == parameters[name].default
    both = preset_of(None, parameters["test"].default, parameters["correction"].default)
    assert (stated_default("evaluate", "test"), stated_default("evaluate", "correction")) == both
    assert float(stated_default("evaluate", "alpha")) == parameters["alpha"].default


def test_items_come_with_commas_or_repeated():
    assert options.listed(["a, b", "c"]) == ["a", "b", "c"]
    assert options.listed(None) == []
    assert options.listed([","]) == []
