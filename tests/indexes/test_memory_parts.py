"""A memory index in parts is the index of one piece: the same files of the whole, to the bit."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_corpus import TEXTS, ListCorpus

from adducir.core.artifacts import verify
from adducir.core.errors import ArtifactError, IncompleteError, InputError, UsageError
from adducir.core.sharding.executors.part import Part
from adducir.corpora.documents import Document
from adducir.indexes import IndexSettings, MemoryIndex, build_memory_index, open_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import FEEDBACK, RM3, Rocchio
from adducir.indexes.memory import merging
from adducir.indexes.memory.files import DOCNOS, TERMS, TOTALS
from adducir.indexes.memory.joining import has_memory_parts, join_memory_parts, merge_joined
from adducir.indexes.memory.part import build_memory_part
from adducir.indexes.models import BM25, MODELS, QLD

WORDS = [f"word{n}" for n in range(40)]
QUERIES = ["word1", "word1 word1 word30", "word7 word39 unknown", "unknown", "", " ".join(WORDS)]
IN_MEMORY = [name for name, kind in MODELS.kinds().items() if "memory" in kind.engines()]
WHOLE = (TERMS, DOCNOS, *(f"{name}.npy" for name in TOTALS), "documents.jsonl")
_Item = TypeVar("_Item")


class Division(Part):
    """A part that has given documents of the corpus, by their places."""

    places: frozenset[int] = frozenset()

    def of(self, items: Iterable[_Item]) -> Iterator[_Item]:
        return (item for place, item in enumerate(items) if place in self.places)


def in_parts(
    corpus: ListCorpus, folder: Path, division: list[int], merge: bool = False, **options: Any
) -> MemoryIndex:
    """An index in parts, the last one built first; each document goes to the part named for it."""
    chosen = IndexSettings(**options)
    count = max(division, default=1)
    for number in range(count, 0, -1):
        part = Division(number, count)
        places = frozenset(place for place, one in enumerate(division) if one == number)
        object.__setattr__(part, "places", places)
        build_memory_part(corpus, folder, part, chosen)
    join_memory_parts(folder, merge=merge)
    return MemoryIndex(folder)


def in_one(corpus: ListCorpus, folder: Path, **options: Any) -> MemoryIndex:
    build_memory_index(corpus, folder, IndexSettings(**options))
    return MemoryIndex(folder)


def same_files(one: MemoryIndex, merged: MemoryIndex) -> None:
    """All files, but the texts, which are in the order in which parts were divided."""
    wanted, found = (
        {name: entry for name, entry in index.manifest.files.items() if "documents" not in name}
        for index in (one, merged)
    )
    assert wanted == found
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


@pytest.fixture(scope="module", params=[1, 2, 5])
def both(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryIndex, MemoryIndex]:
    """Of 400 documents, some of them empty: the index of one piece, and the one in parts."""
    folder = tmp_path_factory.mktemp("parts")
    corpus = ListCorpus(some_texts(400, 8) | {"x": "", "y": "the of"})
    for number in range(1, request.param + 1):
        build_memory_part(corpus, folder / "many", Part(number, request.param))
    join_memory_parts(folder / "many")
    return in_one(corpus, folder / "one"), MemoryIndex(folder / "many")


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
DIVIDED = st.lists(st.tuples(TEXT, st.integers(1, 4)), min_size=1, max_size=14)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(DIVIDED, st.randoms(use_true_random=False), st.data())
def test_any_division_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, divided: Any, random: Any, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("any")
    docnos = [f"d{n}" for n in range(len(divided))]
    random.shuffle(docnos)
    texts = dict(zip(docnos, (text for text, _ in divided), strict=True))
    one = in_one(ListCorpus(texts), folder / "one")
    many = in_parts(ListCorpus(texts), folder / "many", [part for _, part in divided])
    queries = data.draw(st.lists(TEXT, min_size=1, max_size=3))
    depth = data.draw(st.sampled_from([1, 3, None]))
    for name in IN_MEMORY:
        same_hits(one, many, queries, MODELS.make(name, {}), depth=depth)
    for method in FEEDBACK.kinds():
        feedback = FEEDBACK.make(method, {"fb_docs": 2, "fb_terms": 3})
        same_hits(one, many, queries, BM25(), depth=depth, feedback=feedback)
        same_hits(one, many, queries, QLD(), depth=depth, feedback=feedback)
    for name in WHOLE[:-1]:  # texts are in the order in which the parts were divided
        assert (one.path / name).read_bytes() == (many.path / name).read_bytes(), name
    division = [part for _, part in divided]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_STRETCH", data.draw(st.sampled_from([1, 7, 1 << 22])))
        same_files(one, in_parts(ListCorpus(texts), folder / "merged", division, merge=True))


DIVISIONS = {
    "empty parts": [2, 2, 2, 2, 2, 5],
    "a part without terms": [1, 1, 1, 2, 1, 1],
    "one document each": [1, 2, 3, 4, 5, 6],
    "terms in one part only": [1, 1, 1, 1, 2, 1],
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_odd_divisions(tmp_path: Path, name: str) -> None:
    one = in_one(ListCorpus(TEXTS), tmp_path / "one")
    many = in_parts(ListCorpus(TEXTS), tmp_path / "many", DIVISIONS[name])
    queries = ["dog owners", "taxes", "leash laws dogs", "nobody"]
    for model in map(MODELS.make, IN_MEMORY, [{}] * len(IN_MEMORY)):
        assert same_hits(one, many, queries, model) > 5
    assert same_hits(one, many, queries, BM25(), feedback=RM3(fb_docs=2)) > 5
    same_files(one, in_parts(ListCorpus(TEXTS), tmp_path / "m", DIVISIONS[name], merge=True))


def test_nothing_to_find(tmp_path: Path) -> None:
    corpus = ListCorpus({"a": "", "b": "the"})
    one, many = in_one(corpus, tmp_path / "one"), in_parts(corpus, tmp_path / "many", [1, 2])
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
    rows["d0"] = {"word1": 3}  # the only whole numbers, alone in a part
    source = tmp_path / "weights.jsonl"
    lines = [json.dumps({"docno": docno, "weights": row}) for docno, row in rows.items()]
    source.write_text("\n".join(lines) + "\n")
    texts = dict.fromkeys([*rows, "without"], "")
    division = [3 if docno == "d0" else 1 + n % 2 for n, docno in enumerate(texts)]
    for analysis, models in (
        (Analysis(language="pretokenized"), ["impact", "bm25", "dph"]),
        (Analysis(), ["bm25", "qld", "inl2", "atire"]),
    ):
        folder = tmp_path / analysis.language
        kept: Any = {"weights": source, "analysis": analysis}
        one = in_one(ListCorpus(texts), folder / "one", **kept)
        many = in_parts(ListCorpus(texts), folder / "many", division, **kept)
        assert one.has_vectors == many.has_vectors == whole
        assert {**one.manifest.counts, "parts": 3} == dict(many.manifest.counts)
        for name in WHOLE[:-1]:
            assert (one.path / name).read_bytes() == (many.path / name).read_bytes(), name
        merged = in_parts(ListCorpus(texts), folder / "merged", division, merge=True, **kept)
        same_files(one, merged)
        for model in models:
            assert same_hits(one, many, QUERIES, MODELS.make(model, {})) > 20


def test_weights_of_a_document_that_the_corpus_lacks(tmp_path: Path) -> None:
    source = tmp_path / "weights.jsonl"
    source.write_text('{"docno": "z", "weights": {"x": 1}}\n')
    settings = IndexSettings(weights=source)
    with pytest.raises(InputError, match="'z', which the corpus does not have"):
        build_memory_part(ListCorpus({"a": ""}), tmp_path / "i", Part(1, 2), settings)


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
    division = [1 + int(part) for part in rng.integers(0, 3, 80)]
    many = in_parts(ListCorpus(documents), tmp_path / "many", division, **kept)
    for fields in ({"title": 3.0, "text": 1.0}, {"title": 1.0}, {"text": 1.25, "title": 2.5}):
        for depth in (3, None):
            assert same_hits(one, many, QUERIES, BM25(), fields=fields, depth=depth) > 5
    assert same_hits(one, many, QUERIES, BM25()) > 5
    same_files(one, in_parts(ListCorpus(documents), tmp_path / "m", division, merge=True, **kept))
    merge_joined(many.path)
    same_files(one, MemoryIndex(many.path))


def test_a_merged_index_is_the_one_that_is_built_at_once(tmp_path: Path) -> None:
    texts = some_texts(300, 2) | {"long": "word1 " * 70_000, "empty": "", "é": "word2"}
    one = in_one(ListCorpus(texts), tmp_path / "one")
    for count in (1, 4):
        path = tmp_path / str(count)
        for number in range(1, count + 1):
            build_memory_part(ListCorpus(texts), path, Part(number, count))
        assert join_memory_parts(path, merge=True).files == one.manifest.files


class TestErrors:
    def test_a_docno_in_two_parts(self, tmp_path: Path) -> None:
        twice = [Document("b", {"text": "cat"}), Document("a", {"text": "dog"})]
        corpus = ListCorpus([*twice, Document("c", {"text": ""}), Document("b", {"text": ""})])
        with pytest.raises(InputError, match=r"docno 'b' is in the parts 1/2 and 2/2"):
            in_parts(corpus, tmp_path / "many", [1, 1, 2, 2])
        assert not (tmp_path / "many").exists()

    def test_a_docno_twice_in_a_part(self, tmp_path: Path) -> None:
        corpus = ListCorpus([Document("a", {"text": "x"})] * 3)
        with pytest.raises(InputError, match="'a' comes twice"):
            build_memory_part(corpus, tmp_path / "many", Part(1, 2))

    def test_no_document_of_any_part_has_a_field(self, tmp_path: Path) -> None:
        wanted = IndexSettings(fields=("text", "title"))
        with pytest.raises(InputError, match="no document has a field 'title'"):
            build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(1, 2), wanted)

    def test_a_field_of_another_part(self, tmp_path: Path) -> None:
        documents = [Document("a", {"text": "x"}), Document("b", {"text": "y", "title": "cat"})]
        wanted: Any = {"fields": ("text", "title")}
        many = in_parts(ListCorpus(documents), tmp_path / "many", [1, 2], **wanted)
        assert many.search(["cat"], BM25()).docnos.to_list() == ["b"]

    def test_no_part(self, tmp_path: Path) -> None:
        for path in (tmp_path / "index", tmp_path / "nowhere" / "index"):
            assert not has_memory_parts(path)
            with pytest.raises(ArtifactError, match=r"no parts of this index.*--part I/N"):
                join_memory_parts(path)

    def test_parts_are_missing(self, tmp_path: Path) -> None:
        for number in (2, 4):
            build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(number, 5))
        assert has_memory_parts(tmp_path / "i")
        with pytest.raises(
            IncompleteError, match=r"the parts 1/5, 3/5, 5/5 are missing.*--part 1/5"
        ):
            join_memory_parts(tmp_path / "i")

    def test_parts_of_other_settings(self, tmp_path: Path) -> None:
        build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(1, 2))
        krovetz = IndexSettings(analysis=Analysis("krovetz"))
        build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(2, 2), krovetz)
        with pytest.raises(ArtifactError, match=r"different settings .* Delete") as unlike:
            join_memory_parts(tmp_path / "i")
        for number, stemmer in ((1, "porter"), (2, "krovetz")):
            (folder,) = tmp_path.glob(f".i.parts-*/{number}-of-2")
            assert re.search(
                rf"{folder.parent.name}/{number}-of-2 (has )?stemmer {stemmer}[,.]",
                str(unlike.value),
            )

    def test_parts_of_other_fields(self, tmp_path: Path) -> None:
        corpus = ListCorpus([Document("a", {"text": "x", "title": "y"})])
        build_memory_part(corpus, tmp_path / "i", Part(1, 2), IndexSettings(fields=("text",)))
        both = IndexSettings(fields=("text", "title"), vectors=False)
        build_memory_part(corpus, tmp_path / "i", Part(2, 2), both)
        with pytest.raises(ArtifactError) as unlike:
            join_memory_parts(tmp_path / "i")
        wanted = (
            r"1-of-2 (has )?the fields text, vectors[,.]",
            r"2-of-2 (has )?the fields text, title, no vectors[,.]",
        )
        assert all(re.search(one, str(unlike.value)) for one in wanted)

    def test_parts_of_other_corpora(self, tmp_path: Path) -> None:
        build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(1, 2))
        build_memory_part(ListCorpus(TEXTS | {"new": "x"}), tmp_path / "i", Part(2, 2))
        with pytest.raises(
            ArtifactError, match=r"corpus memory was changed between part \d/2 and "
        ):
            join_memory_parts(tmp_path / "i")

    def test_parts_of_two_divisions(self, tmp_path: Path) -> None:
        build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(1, 2))
        build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(2, 3))
        with pytest.raises(ArtifactError, match=r"1-of-2 is one of 2, \S*2-of-3 of 3\."):
            join_memory_parts(tmp_path / "i")

    def test_a_damaged_part(self, tmp_path: Path) -> None:
        for number in (1, 2):
            build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(number, 2))
        (damaged,) = tmp_path.glob(".i.parts-*/2-of-2/postings.tfs.npy")
        content = bytearray(damaged.read_bytes())
        content[-1] ^= 1
        damaged.write_bytes(content)
        with pytest.raises(ArtifactError, match=r"postings\.tfs\.npy.*damaged"):
            join_memory_parts(tmp_path / "i")
        build_memory_part(ListCorpus(TEXTS), tmp_path / "i", Part(2, 2))
        assert join_memory_parts(tmp_path / "i").counts["parts"] == 2

    @pytest.mark.parametrize("text", ["0/3", "4/3", "2", "a/b", "1/0", "-1/2", ""])
    def test_no_part_of_anything(self, text: str) -> None:
        with pytest.raises(UsageError, match="i/n, with i from 1 to n"):
            Part.parse(text)


def test_what_is_there_is_not_built_again(tmp_path: Path) -> None:
    corpus, path = ListCorpus(TEXTS), tmp_path / "i"
    first = build_memory_part(corpus, path, Part(1, 2))
    assert build_memory_part(corpus, path, Part(1, 2)) == first
    build_memory_part(corpus, path, Part(2, 2))
    joined = join_memory_parts(path)
    assert not list(tmp_path.glob(".i.parts-*"))
    assert build_memory_part(corpus, path, Part(1, 2)) == joined
    assert build_memory_index(corpus, path) == joined
    assert Part.parse("3/8") == Part(3, 8)
