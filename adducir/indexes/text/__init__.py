"""English text to index terms, equal to Lucene's analysis, without Java.

Lucene's analysis of English, in Anserini's order:

1. *StandardTokenizer* finds the longest token that starts at each code point, or skips it. Tokens
   follow Unicode's word boundaries (UAX #29) in the version 12.1, which Lucene 9 and 10 share, with
   changes: ideographs and Hiragana are tokens of one sign, runs of Katakana and Hangul have types
   of their own, South-East Asian scripts (line-break class SA) are not cut inside a run, and emoji
   sequences (UTS #51) are tokens. The boundary rules are regular, so an automaton over 29 classes
   of code points decides them all; ``words.txt`` has the smallest one.
2. A token has at most 255 UTF-16 units. The tokeniser never sees more than that: of a longer one it
   takes the longest token within the first 255 units, and starts anew behind it.
3. *EnglishPossessiveFilter*: a final ``'s`` is removed, with any of three apostrophes.
4. *LowerCaseFilter*: Java's ``Character.toLowerCase`` of each code point; it has no special cases
   for final sigma or the dotted capital I, as Python's ``str.lower`` has.
5. *StopFilter*: words of the stop list are removed, 33 by default.
6. *PorterStemFilter*: Porter's own program of his algorithm (1980), with its two departures
   (``-bli`` and ``-logi``). It sees UTF-16 units, and takes all that are not vowels of a to z for
   consonants.

:mod:`.english` analyses a few texts, in plain Python: queries. :mod:`.bulk` analyses collections,
compiled. Both use the tables of ``words.txt`` (:mod:`.tables`), and tests hold both to Lucene.
"""
