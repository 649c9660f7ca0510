"""A language of another package is indexed and searched like our own."""

import sys
from pathlib import Path

import pytest
from plugin_package import install

from adducir.core.errors import MachineError
from adducir.corpora.sources import open_corpus
from adducir.indexes import IndexSettings, MemoryIndex, build_memory_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.languages import LANGUAGES
from adducir.indexes.models import BM25

LIGHT = '''
"""German with a light stemmer, of an author who is not of Adducir."""
from adducir.indexes.languages import AnalyserChain

class LightGerman(AnalyserChain):
    """Normalised, and stemmed by few rules."""
    label = "German, light"
    parts = ("standard", "lowercase", "germanNormalization", "germanMinimalStem")

class Broken(AnalyserChain):
    label = "Broken"
    parts = ("standard", "nonsense")
'''


def test_another_package_brings_a_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {"adducir.languages": {"de-light": "LightGerman", "xx": "Broken"}}
    install(tmp_path / "site", "light_german", LIGHT, points)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(vars(LANGUAGES), "_installed", raising=False)
    lines = '{"docno": "d1", "text": "Häuser"}\n{"docno": "d2", "text": "ein Haus"}\n'
    (tmp_path / "de.jsonl").write_text(lines)
    try:
        analysis = Analysis(language="de-light")
        assert analysis.terms(["die Häuser"]) == [["die", "haus"]]
        assert analysis.settings()["version"] == "1.2"
        with pytest.raises(MachineError, match=r"Broken cannot be analysed here: .*nonsense"):
            Analysis(language="xx").terms(["a"])
        build_memory_index(
            open_corpus(str(tmp_path / "de.jsonl")),
            tmp_path / "index",
            IndexSettings(analysis=analysis),
        )
        assert len(MemoryIndex(tmp_path / "index").search(["Haus"], BM25()).docnos) == 2
    finally:
        vars(LANGUAGES).pop("_installed", None)
        sys.modules.pop("light_german", None)
