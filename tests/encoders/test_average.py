"""Averaged word vectors: against their definition and sentence-transformers, in every door."""

import gzip
import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.kinds import encoder_source
from adducir.encoders.ranking import DualVectors
from adducir.encoders.reading import ContextPart
from adducir.models.running import PLAIN

WORDS = {"the": [1, 0, 0], "cat": [0, 2, 0], "Cat": [0, 0, 3], "runs": [1, 1, 1], ".": [0, 1, 0]}


def unit(*rows):
    mean = np.mean(rows, axis=0)
    return mean / np.linalg.norm(mean)


def vectors_of(name, texts, folder=None):
    return encoder_source(name, folder).texts.encode(texts, "query")


@pytest.mark.parametrize("header", ["", "5 3\n"])
def test_files_of_word_vectors(tmp_path, header):
    lines = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in WORDS.items())
    with gzip.open(tmp_path / "glove.vec.gz", "wt") as file:
        file.write(header + lines + "the 9 9 9\n")
    found = vectors_of("average:glove.vec.gz", ["The Cat cat.", "dogs", "the"], tmp_path)
    the, cat, upper, stop = (WORDS[name] for name in ("the", "cat", "Cat", "."))
    wanted = [unit(the, upper, cat, stop), [0, 0, 0], the]
    assert found == pytest.approx(np.array(wanted), abs=1e-6)


def test_static_embeddings_are_those_of_sentence_transformers(tmp_path):
    names = ["[UNK]", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.normalizer = normalizers.Lowercase()
    weights = np.random.default_rng(1).normal(size=(len(names), 4)).astype(np.float32)
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)])
    model.save(str(tmp_path / "static"))
    texts = ["The cat runs.", "dogs", "the the Cat"]
    wanted = model.encode(texts, normalize_embeddings=True)
    found = vectors_of("average:static", texts, tmp_path)
    assert found == pytest.approx(wanted, abs=1e-6)


def test_pieces_as_sims(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "sim").mkdir()
    words = ["the", "cat", "runs", ",", "don", "'t", "do", "n't", "a", "dog", "ran", "."]
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{' '.join(words[n:] + words[:n])}\n" for n in range(len(words))) * 9)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "sim/sim.sp"),
        vocab_size=32,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "sim/sim.sp.vocab").unlink()
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "sim/sim.sp.model"))
    held = [pieces.id_to_piece(n) for n in range(4, pieces.get_piece_size())]
    drawn = np.random.default_rng(2).normal(size=(len(held), 5)).round(3)
    rows = dict(zip(held, drawn.tolist(), strict=True))
    lines = (f"{piece} {' '.join(map(str, row))}\n" for piece, row in rows.items())
    (tmp_path / "sim/vectors.txt").write_text("".join(lines))
    cut = pieces.encode("the cat do n't run .", out_type=str)  # lower case, Treebank's words
    wanted = unit(*(rows[piece] for piece in cut if piece in rows))
    (found,) = vectors_of("average:sim", ["The cat don't run."], tmp_path)
    assert found == pytest.approx(wanted, abs=1e-6)


@pytest.fixture
def glove(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in WORDS.items())
    (tmp_path / "v.txt").write_text("".join(lines))
    return tmp_path


def test_contexts_are_cut_to_sentences_and_words(glove):
    span = MaskedSpan("s", "g", ("the", "cat the"), ("masked",), ("runs", "."), "d")
    source = encoder_source("average:v.txt")
    for part, words in (
        (ContextPart(mask=False), ["the", "cat", "the", "runs", "."]),
        (ContextPart(left=1, right=0), ["cat", "the"]),
        (ContextPart(left=1, right=2, tokens=1), ["the", "runs"]),
    ):
        _, contexts = DualVectors(source, {"context": part}).load(None, PLAIN)
        (((found,),)) = contexts([span])
        assert found == pytest.approx(unit(*(WORDS[word] for word in words)), abs=1e-6)


def test_a_changed_file_is_another_encoder(glove):
    source = encoder_source("average:v.txt")
    first, before = source.identity(), source.texts.encode(["the"], "query")
    assert encoder_source("average:v.txt", glove).identity() == first
    assert encoder_source(f"average:{glove}/v.txt").identity() == first
    (glove / "v.txt").write_text("the 0 1 0\n")
    assert source.identity() != first
    assert not np.array_equal(source.texts.encode(["the"], "query"), before)


def test_indexes_and_runs_of_averages(glove, capsys):
    documents = [{"docno": "a", "text": "the cat"}, {"docno": "b", "text": "runs ."}]
    (glove / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (glove / "t.tsv").write_text("1\tthe\n")
    made = ["index", "c.jsonl", "--engine", "dense", "--encoder", "average:v.txt"]
    assert main([*made, "-o", "indexes/v"]) == 0
    assert main(["search", "-i", "indexes/v", "-t", "t.tsv", "-o", "run.trec"]) == 0
    first, _ = (line.split() for line in (glove / "run.trec").read_text().splitlines())
    assert (first[2], float(first[4])) == ("a", pytest.approx(unit([1, 0, 0], [0, 2, 0])[0]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the 1 2\ncat 1\n", "not a word and 2 numbers"),
        ("the 1 2\ncat 1 x\n", "not a word and 2 numbers"),
        ("the 1 nan\n", "not a word and 2 numbers"),
        ("2 3\n", "no vectors"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, words):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        vectors_of("average:v.txt", ["the"], tmp_path)
    assert caught.value.path == tmp_path / "v.txt"
    with pytest.raises(InputError, match="does not hold word vectors"):
        encoder_source("average:.", tmp_path).identity()
    with pytest.raises(InputError, match="no such file"):
        encoder_source("average:none.txt", tmp_path).identity()
