"""Distributions of annotated labels and lengths of units, by hand."""

import csv
from pathlib import Path

import pytest

from adducir.cli.app import main

FILE = """item,rater,dataset,valid,type,personal,anchor,example
1,a,ELI5,yes,real,no,some fish,Flounder. And cod.
1,b,ELI5,yes,hypothetical,no,fish,Flounder
2,a,ELI5,no,,,,
3,a,ELI5,yes,real,yes,points,a b c d
4,a,NQ,yes,real,no,one two three,one
5,a,NQ,yes,,no,,one two
"""


def table(tmp_path: Path, *options: str) -> dict[tuple[str, str, str], float]:
    path = tmp_path / "a.csv"
    path.write_text(FILE)
    out = tmp_path / "table.csv"
    assert main(["annotations", "distributions", str(path), *options, "-o", str(out)]) == 0
    rows = csv.DictReader(out.open(newline=""))
    return {(row["system"], row["group"], row["measure"]): float(row["mean"]) for row in rows}


def test_tables_2_and_3_and_figure_1_of_the_paper(tmp_path: Path) -> None:
    labels = ["--labels", "type,personal", "--texts", "anchor,example"]
    found = table(tmp_path, *labels, "--group", "dataset", "--valid", "valid")
    names = ["ELI5", "NQ", "all", "type: hypothetical", "type: real", "personal: no"]
    assert [*dict.fromkeys(row for row, _, _ in found)] == [*names, "personal: yes"]
    assert [found["ELI5", "", name] for name in ("Items", "Valid")] == [3, 2]
    assert found["all", "", "Valid share"] == pytest.approx(4 / 5)
    # Item 1 is half real, half hypothetical; item 5 has no type.
    assert found["ELI5", "type", "real"] == pytest.approx(1.5 / 2)
    assert found["all", "type", "hypothetical"] == pytest.approx(0.5 / 3)
    assert found["all", "personal", "yes"] == pytest.approx(1 / 4)
    assert found["type: real", "", "Items"] == 3
    # Words 3 and 1 of item 1's example, 4 of item 3's; sentences 2 and 1, and 1.
    assert found["ELI5", "example", "Words"] == pytest.approx((2 + 4) / 2)
    assert found["ELI5", "example", "Sentences"] == pytest.approx((1.5 + 1) / 2)
    assert found["NQ", "anchor", "Words"] == 3  # of the one item that has an anchor
    assert found["personal: yes", "example", "Words"] == 4


def test_an_item_counts_once_without_groups(tmp_path: Path) -> None:
    found = table(tmp_path, "--labels", "type")
    assert {row for row, _, _ in found} == {"all", "type: hypothetical", "type: real"}
    assert found["all", "", "Items"] == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--labels", "kind"], "'kind' is missing"),
        (["--texts", "anchor", "--valid", "type"], "type is 'real', not yes or no"),
        ([], "give --labels or --texts"),
    ],
)
def test_wrong_columns_are_refused(tmp_path: Path, capsys, options, words) -> None:
    path = tmp_path / "a.csv"
    path.write_text(FILE)
    assert main(["annotations", "distributions", str(path), *options]) != 0
    assert words in " ".join(capsys.readouterr().err.split())
