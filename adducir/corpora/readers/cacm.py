r"""CACM (3,204 titles and abstracts) as JSONL, with ten texts made whole.

In a copy as JSON lines (fields docid, title, abstract, contents, html_text), ``html_text`` is the
page's text as an HTML parser gave it, and that parser took a "<" within an abstract for the
beginning of a tag: ten texts end there. The rest of the abstract is in ``contents``; the table of
citation links that follows it on the page is lost, but every link stands on the other paper's page
as well. With it, the texts are those that Anserini indexes: 14,363 distinct terms, 320,968 tokens,
against 14,333 and 320,090 in the file as it is.

A line of the table is ``other <tab> type <tab> paper``; the pages whose tables are whole show
these rules. Type 4 joins papers that cite the same work, type 6 papers that are cited together,
type 5 papers of which one cites the other. A paper's links to itself: three of type 5; and for
each of its type-5 links to another paper one of type 4 (it cites that one) or of type 6 (it is
cited). Which of the two is not on record, and is taken from the papers' numbers, which are in
order of time: this is a guess, and it affects at most which of two numerals a page repeats.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.texts import whole_number
from adducir.corpora.documents import Document
from adducir.corpora.readers.format import CorpusFormat
from adducir.corpora.readers.jsonl import read_jsonl

_LINK = re.compile(r"^([0-9]{1,9})\t([0-9]{1,9})\t([0-9]{1,9})$", re.MULTILINE)
_CITES, _DIRECT, _CITED = 4, 5, 6
_OWN_DIRECT = 3


class CACM(CorpusFormat):
    """The collection CACM as JSON lines, with ten texts made whole."""

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        """Yield each document with its 1-based line, ``html_text`` made whole.

        Raises:
            InputError: The file is not such a JSONL file.
        """
        del folder
        documents = list(read_jsonl(path, docno_field))
        for line, document in documents:
            if not {"contents", "html_text"} <= document.fields.keys():
                raise InputError(
                    "a document of the format cacm has the fields contents and html_text.",
                    path=path,
                    line=line,
                    hint="Read any other JSONL file without the format.",
                )
        links = _links_by_paper(document for _, document in documents)
        for line, document in documents:
            fields = document.fields
            # The parser stopped at this sign; a page without one is whole.
            if "<" in fields["contents"] and "<" not in fields["html_text"]:
                table = "\n".join(_table(_number(document.docno), links))
                fields = fields | {"html_text": f"{fields['contents']}\n\n{table}"}
            yield line, Document(document.docno, fields)


def _number(docno: str) -> int:
    """The number of a paper: 46 for CACM-0046."""
    digits = docno[len(docno.rstrip("0123456789")) :]
    return whole_number(digits) or 0


def _links_by_paper(documents: Iterator[Document]) -> Mapping[int, Sequence[tuple[int, int]]]:
    """For each paper, the (paper, type) pairs of the pages that link to it."""
    links: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for document in documents:
        page = _number(document.docno)
        for other, kind, _ in _LINK.findall(document.fields["html_text"]):
            if int(other) != page:
                links[int(other)].append((page, int(kind)))
    return links


def _table(paper: int, links: Mapping[int, Sequence[tuple[int, int]]]) -> Iterator[str]:
    """The lines of a paper's table, made of what other pages say."""
    own = [_DIRECT] * _OWN_DIRECT
    for other, kind in links.get(paper, ()):
        yield f"{other}\t{kind}\t{paper}"
        if kind == _DIRECT:
            own.append(_CITES if other < paper else _CITED)
    for kind in own:
        yield f"{paper}\t{kind}\t{paper}"
