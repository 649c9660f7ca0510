"""Languages besides English: Lucene's analysers, and chains of Lucene's parts."""

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from adducir.indexes.analysis import Language, StopWords, made
from adducir.indexes.kinds import PRETOKENIZED

if TYPE_CHECKING:
    from adducir.indexes.text.analysers import TextAnalyser


class AnalyserChain(Language):
    """A language analysed by Lucene's parts: a tokeniser and filters that see one word at a time.

    ``parts`` are Lucene's registered names, optionally with settings:
    ``"snowballPorter language=German2"``.
    """

    parts: ClassVar[tuple[str, ...]]
    has_stopwords: ClassVar[bool] = False

    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        del stemmer, stopwords
        return made(self.label, "chain", list(self.parts))


class _Analyser(NamedTuple):
    label: str
    home: str
    has_stopwords: bool = True
    is_piecewise: bool = True
    is_pretokenized: bool = False


_TABLE = {
    "ar": _Analyser("Arabic", "ar.ArabicAnalyzer"),
    "bg": _Analyser("Bulgarian", "bg.BulgarianAnalyzer"),
    "bn": _Analyser("Bengali", "bn.BengaliAnalyzer"),
    "ca": _Analyser("Catalan", "ca.CatalanAnalyzer"),
    "ckb": _Analyser("Sorani", "ckb.SoraniAnalyzer"),
    "cs": _Analyser("Czech", "cz.CzechAnalyzer"),
    "da": _Analyser("Danish", "da.DanishAnalyzer"),
    "de": _Analyser("German", "de.GermanAnalyzer"),
    "el": _Analyser("Greek", "el.GreekAnalyzer"),
    "es": _Analyser("Spanish", "es.SpanishAnalyzer"),
    "et": _Analyser("Estonian", "et.EstonianAnalyzer"),
    "eu": _Analyser("Basque", "eu.BasqueAnalyzer"),
    "fa": _Analyser("Persian", "fa.PersianAnalyzer"),
    "fi": _Analyser("Finnish", "fi.FinnishAnalyzer"),
    "fr": _Analyser("French", "fr.FrenchAnalyzer"),
    "ga": _Analyser("Irish", "ga.IrishAnalyzer"),
    "gl": _Analyser("Galician", "gl.GalicianAnalyzer"),
    "ha": _Analyser("Hausa", "core.WhitespaceAnalyzer", has_stopwords=False),
    "hi": _Analyser("Hindi", "hi.HindiAnalyzer"),
    "hu": _Analyser("Hungarian", "hu.HungarianAnalyzer"),
    "hy": _Analyser("Armenian", "hy.ArmenianAnalyzer"),
    "id": _Analyser("Indonesian", "id.IndonesianAnalyzer"),
    "it": _Analyser("Italian", "it.ItalianAnalyzer"),
    "ja": _Analyser("Japanese", "ja.JapaneseAnalyzer", is_piecewise=False),
    "ko": _Analyser("Korean", "cjk.CJKAnalyzer", is_piecewise=False),
    "lt": _Analyser("Lithuanian", "lt.LithuanianAnalyzer"),
    "lv": _Analyser("Latvian", "lv.LatvianAnalyzer"),
    "ne": _Analyser("Nepali", "ne.NepaliAnalyzer"),
    "nl": _Analyser("Dutch", "nl.DutchAnalyzer"),
    "no": _Analyser("Norwegian", "no.NorwegianAnalyzer"),
    "pl": _Analyser("Polish", "morfologik.MorfologikAnalyzer", has_stopwords=False),
    "pt": _Analyser("Portuguese", "pt.PortugueseAnalyzer"),
    "pt-br": _Analyser("Brazilian Portuguese", "br.BrazilianAnalyzer"),
    "ro": _Analyser("Romanian", "ro.RomanianAnalyzer"),
    "ru": _Analyser("Russian", "ru.RussianAnalyzer"),
    "so": _Analyser("Somali", "core.WhitespaceAnalyzer", has_stopwords=False),
    "sr": _Analyser("Serbian", "sr.SerbianAnalyzer"),
    "sv": _Analyser("Swedish", "sv.SwedishAnalyzer"),
    "sw": _Analyser("Swahili", "core.WhitespaceAnalyzer", has_stopwords=False),
    "ta": _Analyser("Tamil", "ta.TamilAnalyzer"),
    "te": _Analyser("Telugu", "te.TeluguAnalyzer"),
    "th": _Analyser("Thai", "th.ThaiAnalyzer", is_piecewise=False),
    "tr": _Analyser("Turkish", "tr.TurkishAnalyzer"),
    "uk": _Analyser("Ukrainian", "uk.UkrainianMorfologikAnalyzer"),
    "yo": _Analyser("Yoruba", "core.WhitespaceAnalyzer", has_stopwords=False),
    "zh": _Analyser("Chinese", "cjk.CJKAnalyzer", is_piecewise=False),
    PRETOKENIZED: _Analyser(
        "Ready tokens", "core.WhitespaceAnalyzer", has_stopwords=False, is_pretokenized=True
    ),
}


class LuceneLanguage(Language):
    home: ClassVar[str]

    def own(self, stemmer: str, stopwords: StopWords) -> "TextAnalyser | None":
        from adducir.indexes.text.analysers import TextAnalyser

        del stemmer, stopwords
        return TextAnalyser() if self.home.endswith(".WhitespaceAnalyzer") else None

    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        del stemmer  # each of these classes has its own
        words = [] if isinstance(stopwords, str) else list(stopwords)
        is_default = stopwords == "lucene" or not self.has_stopwords
        return made(self.label, "lucene", self.home, None if is_default else words)


@cache
def __getattr__(code: str) -> type[LuceneLanguage]:
    if code not in _TABLE:
        raise AttributeError(code)
    row = _TABLE[code]
    return type(
        row.label.replace(" ", ""),
        (LuceneLanguage,),
        {
            "__module__": __name__,
            "__doc__": f"{row.label}, as Lucene's {row.home} analyses it.",
            **row._asdict(),
            "home": f"org.apache.lucene.analysis.{row.home}",
        },
    )
