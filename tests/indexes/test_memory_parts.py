"""A memory index in parts is the index of one piece: the same files of the whole, to the bit."""

import io
import json
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_corpus import TEXTS, ListCorpus

from adducir.core.artifacts import verify
from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.core.sharding.execution import HERE, Execution
from adducir.core.sharding.executors.part import Part
from adducir.core.sharding.gathering import PartMade
from adducir.core.sharding.work import WorkerPlace
from adducir.corpora.documents import Document
from adducir.indexes import IndexSettings, MemoryIndex, build_memory_index, open_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import FEEDBACK, RM3, Rocchio
from adducir.indexes.memory import merging, work
from adducir.indexes.memory.files import DOCNOS, TERMS, TOTALS
from adducir.indexes.memory.packing import unpack
from adducir.indexes.models import BM25, MODELS, QLD

WORDS = [f"word{n}" for n in range(40)]
QUERIES = ["word1", "word1 word1 word30", "word7 word39 unknown", "unknown", "", " ".join(WORDS)]
IN_MEMORY = [name for name, kind in MODELS.kinds().items() if "memory" in kind.engines()]
WHOLE = (TERMS, DOCNOS, *(f"{name}.npy" for name in TOTALS), "documents.jsonl")


def in_parts(
    corpus: ListCorpus, folder: Path, size: int, merge: bool = False, **options: Any
) -> MemoryIndex:
    """An index of shards of so many documents; the jobs of an array make them, the last first."""

    def build(execution: Execution) -> None:
        build_memory_index(
            corpus,
            folder,
            IndexSettings(**options),
            execution=execution,
            shard=size,
            keep_parts=not merge,
        )

    for number in (2, 1):
        with pytest.raises(PartMade):
            build(Execution(part=Part(number, 2)))
    build(Execution(only_finish=True))
    return MemoryIndex(folder)


def in_one(corpus: ListCorpus, folder: Path, **options: Any) -> MemoryIndex:
    build_memory_index(corpus, folder, IndexSettings(**options))
    return MemoryIndex(folder)


def same_files(one: MemoryIndex, merged: MemoryIndex) -> None:
    assert one.manifest.files == merged.manifest.files
    assert one.manifest.counts == merged.manifest.counts


def same_hits(one: MemoryIndex, many: MemoryIndex, queries: Any, model: Any, **options: Any) -> int:
    """Compare rankings to the bit; how many hits there are."""
    wanted, found = (index.search(queries, model, **options) for index in (one, many))
    assert wanted.counts.tolist() == found.counts.tolist()
    assert wanted.docnos.to_list() == found.docnos.to_list()
    assert (wanted.scores.dtype, wanted.scores.tobytes()) == (
        found.scores.dtype,
        found.scores.tobytes(),
    )
    return len(found.scores)


def some_texts(count: int, seed: int) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    return {
        f"D{n}": " ".join(rng.choice(WORDS, int(rng.lognormal(2, 1.2)), p=shares / shares.sum()))
        for n in rng.permutation(count)
    }


@pytest.fixture(scope="module", params=[402, 201, 83])
def both(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryIndex, MemoryIndex]:
    """Of 400 documents, some of them empty: the index of one piece, and the one in parts."""
    folder = tmp_path_factory.mktemp("parts")
    corpus = ListCorpus(some_texts(400, 8) | {"x": "", "y": "the of"})
    return in_one(corpus, folder / "one"), in_parts(corpus, folder / "many", request.param)


@pytest.mark.parametrize("name", IN_MEMORY)
@pytest.mark.parametrize("depth", [1, 7, 100, None])
def test_every_model_ranks_to_the_bit(both: Any, name: str, depth: int | None) -> None:
    assert same_hits(both[0], both[1], QUERIES, MODELS.make(name, {}), depth=depth) > 3


@pytest.mark.parametrize("method", list(FEEDBACK.kinds()))
@pytest.mark.parametrize("model", [BM25(), QLD(), MODELS.make("dph", {})])
def test_every_feedback_expands_to_the_bit(both: Any, method: str, model: Any) -> None:
    one, many = both
    feedback = FEEDBACK.make(method, {"fb_docs": 5})
    assert same_hits(one, many, QUERIES, model, feedback=feedback) > 100
    assert one.expand(QUERIES, model, feedback) == many.expand(QUERIES, model, feedback)


def test_feedback_from_given_documents(both: Any) -> None:
    documents = [("D7", 2.5), ("D399", 2.5), ("D0", 0.25)]
    one, many = (index.expand_from("word1 word2", documents, RM3()) for index in both)
    assert one == many
    last = Rocchio(gamma=0.5)
    one, many = (index.expand_from("word1 word2", documents, last) for index in both)
    assert one == many


def test_what_it_says_of_itself(both: Any) -> None:
    one, many = both
    assert many.identity["fingerprint"] == one.identity["fingerprint"]
    parts = many.manifest.counts["parts"]
    assert dict(many.manifest.counts) == {**one.manifest.counts, "parts": parts}
    assert many.docnos.to_list() == one.docnos.to_list()
    assert len(many) == len(one) == sum(bool(text) for text in some_texts(400, 8).values())
    assert many.has_vectors
    assert many.documents.get("y").fields == {"text": "the of"}
    for name in WHOLE:
        assert (one.path / name).read_bytes() == (many.path / name).read_bytes(), name
    assert verify(many.path) == []
    assert isinstance(open_index(many.path), MemoryIndex)


def test_without_numba(both: Any) -> None:
    one, many = (MemoryIndex(index.path, backend="numpy") for index in both)
    assert same_hits(one, many, QUERIES, BM25(), depth=50) > 50
    assert same_hits(one, many, QUERIES, QLD(), depth=50) > 50


def test_exact_lengths(both: Any) -> None:
    for index in both:
        index.accurate_length = True
    assert same_hits(both[0], both[1], QUERIES, BM25(), depth=100) > 100
    for index in both:
        index.accurate_length = False


def test_any_number_of_threads(both: Any) -> None:
    one, many = both
    wanted = one.search(QUERIES * 20, BM25(), threads=1, feedback=RM3())
    found = many.search(QUERIES * 20, BM25(), threads=4, feedback=RM3())
    assert wanted.docnos.to_list() == found.docnos.to_list()
    assert wanted.scores.tobytes() == found.scores.tobytes()


TEXT = st.lists(st.sampled_from([*WORDS[:12], "the", "straße", "東京"]), max_size=8).map(" ".join)
TEXTED = st.lists(TEXT, min_size=1, max_size=14)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(TEXTED, st.integers(1, 14), st.randoms(use_true_random=False), st.data())
def test_any_division_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, texted: Any, size: int, random: Any, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("any")
    docnos = [f"d{n}" for n in range(len(texted))]
    random.shuffle(docnos)
    corpus = ListCorpus(dict(zip(docnos, texted, strict=True)))
    one, many = in_one(corpus, folder / "one"), in_parts(corpus, folder / "many", size)
    queries = data.draw(st.lists(TEXT, min_size=1, max_size=3))
    depth = data.draw(st.sampled_from([1, 3, None]))
    for name in IN_MEMORY:
        same_hits(one, many, queries, MODELS.make(name, {}), depth=depth)
    for method in FEEDBACK.kinds():
        feedback = FEEDBACK.make(method, {"fb_docs": 2, "fb_terms": 3})
        same_hits(one, many, queries, BM25(), depth=depth, feedback=feedback)
        same_hits(one, many, queries, QLD(), depth=depth, feedback=feedback)
    for name in WHOLE:
        assert (one.path / name).read_bytes() == (many.path / name).read_bytes(), name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_STRETCH", data.draw(st.sampled_from([1, 7, 1 << 22])))
        same_files(one, in_parts(corpus, folder / "merged", size, merge=True))


ORDERS = {
    "one document each": (1, [1, 2, 3, 4, 5, 6]),
    "a part without terms": (2, [1, 2, 4, 3, 5, 6]),
    "the last part is small": (4, [6, 5, 4, 3, 2, 1]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_odd_divisions(tmp_path: Path, name: str) -> None:
    size, order = ORDERS[name]
    corpus = ListCorpus({f"D{n}": "the" if n == 3 else TEXTS[f"D{n}"] for n in order})
    one = in_one(corpus, tmp_path / "one")
    many = in_parts(corpus, tmp_path / "many", size)
    queries = ["dog owners", "taxes", "leash laws dogs", "nobody"]
    for model in map(MODELS.make, IN_MEMORY, [{}] * len(IN_MEMORY)):
        assert same_hits(one, many, queries, model) > 4
    assert same_hits(one, many, queries, BM25(), feedback=RM3(fb_docs=2)) > 4
    same_files(one, in_parts(corpus, tmp_path / "m", size, merge=True))


def test_no_documents(tmp_path: Path) -> None:
    corpus = ListCorpus({})
    at_once = build_memory_index(corpus, tmp_path / "one")
    by_shards = build_memory_index(corpus, tmp_path / "many", execution=Execution(workers=2))
    assert by_shards.counts == at_once.counts
    assert by_shards.files == at_once.files


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
def test_nothing_is_unpacked_outside(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "shard", "w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(ArtifactError, match="is no file of an index"):
        unpack(tmp_path / "shard", tmp_path / "folder", lambda *_: False)


def test_links_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    with tarfile.open(tmp_path / "shard", "w") as archive:
        link = tarfile.TarInfo("terms.txt")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        archive.addfile(link)
    with pytest.raises(ArtifactError, match="is no file of an index"):
        unpack(tmp_path / "shard", tmp_path / "folder", lambda *_: False)


def test_nothing_to_find(tmp_path: Path) -> None:
    corpus = ListCorpus({"a": "", "b": "the"})
    one, many = in_one(corpus, tmp_path / "one"), in_parts(corpus, tmp_path / "many", 1)
    assert same_hits(one, many, ["dog"], BM25(), feedback=RM3()) == 0
    assert many.expand(["dog"], BM25(), RM3()) == [{"dog": 0.5}]


@pytest.mark.parametrize("whole", [True, False])
def test_weights(tmp_path: Path, whole: bool) -> None:
    rng = np.random.default_rng(4)
    scale = 1 if whole else 0.037
    rows = {
        f"d{n}": {
            word: round(float(rng.gamma(1, 9))) * scale + 1
            for word in rng.choice(WORDS, rng.integers(0, 9), replace=False)
        }
        for n in rng.permutation(60)
    }
    rows = {"d0": {"word1": 3}, "d1": {}, **rows}  # the only whole numbers, in a part of its own
    source = tmp_path / "weights.jsonl"
    lines = [json.dumps({"docno": docno, "weights": row}) for docno, row in rows.items()]
    source.write_text("\n".join(lines) + "\n")
    texts = dict.fromkeys([*reversed(rows), "without"], "")
    for analysis, models in (
        (Analysis(language="pretokenized"), ["impact", "bm25", "dph"]),
        (Analysis(), ["bm25", "qld", "inl2", "atire"]),
    ):
        folder = tmp_path / analysis.language
        kept: Any = {"weights": source, "analysis": analysis}
        one = in_one(ListCorpus(texts), folder / "one", **kept)
        many = in_parts(ListCorpus(texts), folder / "many", 2, **kept)
        assert one.has_vectors == many.has_vectors == whole
        assert {**one.manifest.counts, "parts": 30} == dict(many.manifest.counts)
        for name in WHOLE:
            assert (one.path / name).read_bytes() == (many.path / name).read_bytes(), name
        merged = in_parts(ListCorpus(texts), folder / "merged", 20, merge=True, **kept)
        same_files(one, merged)
        for model in models:
            assert same_hits(one, many, QUERIES, MODELS.make(model, {})) > 20


def test_weights_of_a_document_that_the_corpus_lacks(tmp_path: Path) -> None:
    source = tmp_path / "weights.jsonl"
    source.write_text('{"docno": "z", "weights": {"x": 1}}\n')
    settings = IndexSettings(weights=source)
    for execution in (HERE, Execution(part=Part(1, 2))):
        with pytest.raises(InputError, match="'z', which the corpus does not have"):
            build_memory_index(ListCorpus({"a": ""}), tmp_path / "i", settings, execution=execution)


def test_separate_fields(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    documents = [
        Document(
            f"d{n}",
            {
                "title": " ".join(rng.choice(WORDS, rng.integers(0, 3))),
                "text": " ".join(rng.choice(WORDS, rng.integers(0, 12))),
            },
        )
        for n in rng.permutation(80)
    ]
    kept: Any = {"fields": ("title", "text"), "separate_fields": True}
    one = in_one(ListCorpus(documents), tmp_path / "one", **kept)
    many = in_parts(ListCorpus(documents), tmp_path / "many", 27, **kept)
    for fields in ({"title": 3.0, "text": 1.0}, {"title": 1.0}, {"text": 1.25, "title": 2.5}):
        for depth in (3, None):
            assert same_hits(one, many, QUERIES, BM25(), fields=fields, depth=depth) > 5
    assert same_hits(one, many, QUERIES, BM25()) > 5
    same_files(one, in_parts(ListCorpus(documents), tmp_path / "m", 30, merge=True, **kept))


def test_a_merged_index_is_the_one_that_is_built_at_once(tmp_path: Path) -> None:
    texts = some_texts(300, 2) | {"long": "word1 " * 70_000, "empty": "", "é": "word2"}
    one = in_one(ListCorpus(texts), tmp_path / "one")
    for size in (1000, 80):
        merged = in_parts(ListCorpus(texts), tmp_path / str(size), size, merge=True)
        same_files(one, merged)
        assert merged.identity["fingerprint"] == one.identity["fingerprint"]


class TestErrors:
    def build(self, corpus: ListCorpus, folder: Path, **options: Any) -> None:
        in_parts(corpus, folder / "many", 2, **options)

    def test_a_docno_in_two_parts(self, tmp_path: Path) -> None:
        twice = [Document("b", {"text": "cat"}), Document("a", {"text": "dog"})]
        corpus = ListCorpus([*twice, Document("c", {"text": ""}), Document("b", {"text": ""})])
        with pytest.raises(InputError, match="'b' comes twice"):
            self.build(corpus, tmp_path)
        assert not (tmp_path / "many").exists()

    def test_no_document_of_any_part_has_a_field(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no document has a field 'title'"):
            self.build(ListCorpus(TEXTS), tmp_path, fields=("text", "title"))

    def test_a_field_of_another_part(self, tmp_path: Path) -> None:
        documents = [Document("a", {"text": "x"}), Document("b", {"text": "y", "title": "cat"})]
        many = in_parts(ListCorpus(documents), tmp_path / "many", 1, fields=("text", "title"))
        assert many.search(["cat"], BM25()).docnos.to_list() == ["b"]

    def test_a_text_that_is_no_unicode(self, tmp_path: Path) -> None:
        corpus = ListCorpus({"a": "x", "b": "\ud800"})
        for execution in (HERE, Execution(part=Part(1, 2))):
            with pytest.raises(InputError, match="the document 'b' cannot be kept"):
                build_memory_index(corpus, tmp_path / "i", execution=execution)

    @pytest.mark.parametrize("text", ["0/3", "4/3", "2", "a/b", "1/0", "-1/2", ""])
    def test_no_part_of_anything(self, text: str) -> None:
        with pytest.raises(UsageError, match="i/n, with i from 1 to n"):
            Part.parse(text)


def test_one_process_goes_on_with_shards_that_were_begun(tmp_path: Path) -> None:
    corpus, path = ListCorpus(TEXTS), tmp_path / "i"
    with pytest.raises(PartMade):
        build_memory_index(corpus, path, execution=Execution(part=Part(1, 2)), shard=2)
    (folder,) = tmp_path.glob(".i.parts-*")
    made = {file.name for file in folder.glob("00000[02]-*")}
    kept: list[set[str]] = []
    whole = work.join

    def join(*given: Any) -> Any:
        kept.append({file.name for file in given[1].files})
        return whole(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "join", join)
        joined = build_memory_index(corpus, path, shard=2)
    assert len(made) == 2 and made < kept[0]
    assert joined.files == build_memory_index(corpus, tmp_path / "one").files
    assert not list(tmp_path.glob(".i.parts-*"))
    assert build_memory_index(corpus, path, keep_parts=True) == joined


def test_a_shard_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    built = work.work_of(ListCorpus(TEXTS), IndexSettings(fields=("text",)), 1).builder(
        WorkerPlace()
    )
    items = list(ListCorpus(TEXTS))
    for name in ("a", "b"):
        built.make(items, tmp_path / name)
        time.sleep(1.1)  # a time in the file would be another one
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
