"""CACM's ten cut texts are made whole from what the other pages say."""

import json
from pathlib import Path

import pytest

from adducir.core.errors import InputError
from adducir.corpora.sources import open_corpus


def page(number: int, text: str, cut: int | None, *links: tuple[int, int]) -> dict[str, str]:
    table = "\n".join(f"{other}\t{kind}\t{number}" for other, kind in links)
    html = f"{text}\n\n{table}" if cut is None else text[:cut]
    return {"docid": f"CACM-{number:04d}", "contents": text, "html_text": html}


def write(path: Path, *pages: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in pages))
    return path


def test_a_cut_text_gets_its_end_and_its_links(tmp_path: Path) -> None:
    text = "sorting for n <100 items"
    source = write(
        tmp_path / "c.jsonl",
        page(1, "older", None, (1, 5), (1, 5), (1, 5), (2, 5), (1, 6)),
        page(2, text, text.index("<")),
        page(3, "newer", None, (3, 5), (3, 5), (3, 5), (2, 4), (2, 4), (2, 5), (3, 4)),
    )
    documents = {d.docno: d.fields["html_text"] for d in open_corpus(source, format="cacm")}
    lines = documents["CACM-0002"].split("\n")
    assert lines[0] == text
    links = [tuple(map(int, line.split("\t"))) for line in lines[2:]]
    own = [link for link in links if link[0] == 2]
    assert sorted(set(links) - set(own)) == [(1, 5, 2), (3, 4, 2), (3, 5, 2)]
    assert links.count((3, 4, 2)) == 2
    assert sorted(own) == [(2, 4, 2), (2, 5, 2), (2, 5, 2), (2, 5, 2), (2, 6, 2)]
    assert documents["CACM-0001"].startswith("older\n\n1\t5\t1")


def test_another_jsonl_file_is_refused_with_its_line(tmp_path: Path) -> None:
    source = tmp_path / "c.jsonl"
    source.write_text('{"docid": "A", "contents": "x", "html_text": "x"}\n{"docid": "B"}\n')
    with pytest.raises(InputError, match=r"c\.jsonl:2: .*html_text"):
        list(open_corpus(source, format="cacm"))


def test_ten_texts_of_the_real_collection_change(collections: Path) -> None:
    source = collections / "cacm/corpus.jsonl"
    plain = {d.docno: d.fields["html_text"] for d in open_corpus(source)}
    whole = {d.docno: d.fields["html_text"] for d in open_corpus(source, format="cacm")}
    changed = sorted(docno for docno in plain if plain[docno] != whole[docno])
    assert len(plain) == 3204
    assert [int(docno[-4:]) for docno in changed] == [
        717, 1430, 1595, 1634, 2144, 2177, 2189, 2714, 2800, 3098,
    ]  # fmt: skip
    assert all(whole[docno].startswith(plain[docno].rstrip()) for docno in changed)
