"""The choices on the command line are those of the rooms."""

from typing import get_args

from adducir.cli import options
from adducir.cli.evaluate_options import DETAIL_ALIASES, DETAILS
from adducir.experiments.evaluation.judgements import NegativeGrades
from adducir.experiments.evaluation.measures import parse_measures
from adducir.experiments.recipe import DEFAULT_MEASURES
from adducir.experiments.significance.choices import (
    DEFAULT_PERMUTATIONS,
    DEFAULT_SEED,
    FAMILIES,
)
from adducir.experiments.tables.table import DETAILS as TABLE_DETAILS
from adducir.indexes.analysis import STEMMERS
from adducir.indexes.models import BM25, QLD, RM3Settings
from adducir.indexes.named import MODELS


def test_choices_are_those_of_the_rooms():
    assert tuple(options.Family) == FAMILIES
    assert tuple(options.Negative) == get_args(NegativeGrades)
    assert tuple(options.Stemmer) == STEMMERS
    assert tuple(options.Model) == tuple(MODELS)
    assert DETAILS == TABLE_DETAILS
    assert set(DETAIL_ALIASES.values()) <= set(DETAILS)


def test_the_default_measures_are_those_of_an_experiment_file():
    assert parse_measures(options.DEFAULT_MEASURES) == parse_measures(DEFAULT_MEASURES)


def stated_default(command, name):
    from adducir.cli.group import load_command

    param = next(param for param in load_command(command).params if param.name == name)
    return param.show_default


def test_the_defaults_in_the_help_are_those_of_the_rooms():
    assert stated_default("evaluate", "permutations") == str(DEFAULT_PERMUTATIONS)
    assert stated_default("evaluate", "seed") == str(DEFAULT_SEED)
    assert float(stated_default("search", "k1")) == BM25().k1
    assert float(stated_default("search", "b")) == BM25().b
    assert float(stated_default("search", "mu")) == QLD().mu
    assert int(stated_default("search", "fb_terms")) == RM3Settings().fb_terms
    assert int(stated_default("search", "fb_docs")) == RM3Settings().fb_docs
    weight = stated_default("search", "original_query_weight")
    assert float(weight) == RM3Settings().original_query_weight


def test_the_defaults_of_evaluate_are_those_of_compare():
    import inspect

    from adducir.experiments.comparison.compare import compare

    parameters = inspect.signature(compare).parameters
    for name in ("test", "correction", "family", "against"):
        assert stated_default("evaluate", name) == parameters[name].default
    assert float(stated_default("evaluate", "alpha")) == parameters["alpha"].default


def test_items_come_with_commas_or_repeated():
    assert options.listed(["a, b", "c"]) == ["a", "b", "c"]
    assert options.listed(None) == []
    assert options.listed([","]) == []
