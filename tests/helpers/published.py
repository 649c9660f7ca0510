"""Popular models by name: built tiny in the layout that their makers publish, and held to peers.

    python tests/helpers/published.py

prints the table of docs/published-models.md. A row is the model's name, its use, how it is built,
and what computes the values to compare with: sentence-transformers with the published prompts, or
transformers with the published pooling; or what the refusal says.
"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tiny import sharpened, tiny_bert, tiny_decoder, tiny_roberta, with_modules

QUERIES = ["cats run fast", "school uniforms for dogs"]
DOCUMENTS = ["the cats run .", "nuclear power is cheap !", "a slow dog " * 12, "the"]
WEB = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_MODES = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "lasttoken")


def changed(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path.parent


def st_files(
    folder: Path,
    pooling: str,
    *,
    normalize: bool = False,
    prompts: dict[str, str] | None = None,
    dense: Sequence[tuple[int, int]] = (),
    **settings: Any,
) -> Path:
    """The files of sentence-transformers of 2022 to 2025 around a network."""
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense

    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    for number, (width, kept) in enumerate(dense, 2):
        torch.manual_seed(number)
        modules.append((f"{number}_Dense", "Dense"))
        (folder / f"{number}_Dense").mkdir()
        identity = torch.nn.Identity()
        Dense(width, kept, False, identity).save(str(folder / f"{number}_Dense"))
    modules += [("9_Normalize", "Normalize")] if normalize else []
    hidden = json.loads((folder / "config.json").read_text())["hidden_size"]
    pool = {f"pooling_mode_{mode}": mode == pooling for mode in _MODES}
    files = {
        "1_Pooling/config": {"word_embedding_dimension": hidden, **pool},
        "config_sentence_transformers": {
            "prompts": prompts or {},
            "default_prompt_name": None,
            **settings,
        },
        "sentence_bert_config": {"max_seq_length": 60, "do_lower_case": False},
    }
    return with_modules(folder, *modules, **files)


def modern_bert(folder: Path, kind: str = "ModernBertModel", **more: Any) -> Path:
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    ids |= {"cls_token_id": 2, "sep_token_id": 3}
    return tiny_bert(folder, kind=kind, **ids, **more)


def nomic(folder: Path) -> Path:
    tiny_bert(folder, kind="NomicBertModel", head_dim=8)
    return changed(folder / "config.json", auto_map={"AutoModel": "nomic--modeling.NomicBertModel"})


def gemma(folder: Path) -> Path:
    return tiny_decoder(folder, kind="Gemma3TextModel", use_bidirectional_attention=True)


def coded(folder: Path, title: str = "NewModel") -> Path:
    """A model whose architecture is Python code of its own."""
    tiny_bert(folder)
    classes = {"AutoConfig": "modeling.NewConfig", "AutoModel": f"modeling.{title}"}
    path = folder / "config.json"
    return changed(path, model_type="new", architectures=[title], auto_map=classes)


def gte_qwen2(folder: Path) -> Path:
    tiny_decoder(folder, kind="Qwen2Model")
    return changed(folder / "config.json", auto_map={"AutoModel": "modeling_qwen.Qwen2Model"})


def vectors_of_st(folder: Path, texts: Sequence[str], prompt: str) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return model.encode(list(texts), prompt=prompt or None, normalize_embeddings=True)


def vectors_of_tokens(
    folder: Path,
    texts: Sequence[str],
    prompt: str,
    *,
    pooling: str,
    cosine: bool = False,
    length: int | None = None,
    **config: Any,
) -> Any:
    """Each text alone through transformers' network, pooled by hand."""
    import torch
    import transformers

    stated = transformers.AutoConfig.from_pretrained(folder)
    for key, value in config.items():
        setattr(stated, key, value)
    network = transformers.AutoModel.from_pretrained(folder, config=stated).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for text in texts:
        with torch.inference_mode():
            cut = {"truncation": length is not None, "max_length": length}
            read = tokenizer(prompt + text, return_tensors="pt", **cut)
            states = network(**read).last_hidden_state[0]
        vector = {"first": states[0], "mean": states.mean(0), "last": states[-1]}[pooling]
        found.append(vector / vector.norm() if cosine else vector)
    return torch.stack(found).numpy()


def vectors_of_pairs(folder: Path, texts: Sequence[str], title: str) -> Any:
    """SimLM's: the first token of queries, and of the pairs of a title and a passage."""
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for text in texts:
        both = {"text": title, "text_pair": text} if title else {"text": text}
        with torch.inference_mode():
            state = network(**tokenizer(**both, return_tensors="pt")).last_hidden_state[0, 0]
        found.append(state / state.norm())
    return torch.stack(found).numpy()


@dataclass(frozen=True)
class Row:
    """A published model.

    Attributes:
        name: On the Hub; a pair is comma-separated.
        build: Makes the model in a folder.
        prompts: What its makers let precede queries and documents.
        wanted: Vectors of a folder, texts and prompt; else sentence-transformers', of length 1.
        refused: What the refusal says, if it cannot be read.
        use: ``encoder``, ``sparse`` or ``reranker``.
        kind: The reranker's kind.
        ends: Whether its tokenizer appends an end token.
    """

    name: str
    build: Callable[[Path], Any]
    prompts: tuple[str, str] = ("", "")
    wanted: Callable[..., Any] = vectors_of_st
    refused: str | None = None
    use: str = "encoder"
    kind: str = ""
    ends: bool = False


def _st(network: Callable[..., Any], pooling: str, **settings: Any) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        network(folder)
        return st_files(folder, pooling, **settings)

    return build


def _decoder(**more: Any) -> Callable[[Path], Path]:
    return lambda folder: tiny_decoder(folder, **more)


def _bert(**more: Any) -> Callable[[Path], Path]:
    return lambda folder: tiny_bert(folder, **more)


def _roberta(**more: Any) -> Callable[[Path], Path]:
    return lambda folder: tiny_roberta(folder, **more)


def _coded(title: str) -> Callable[[Path], Path]:
    return lambda folder: coded(folder, title)


def _xlmr(folder: Path) -> Path:
    return tiny_roberta(folder, kind="XLMRobertaModel")


def of_tokens(pooling: str, **more: Any) -> Callable[..., Any]:
    return lambda *given: vectors_of_tokens(*given, pooling=pooling, **more)


CLS, MEAN, LAST = "cls_token", "mean_tokens", "lasttoken"
_OPENSEARCH = "opensearch-project/opensearch-neural-sparse-encoding"
S2P = WEB.replace("query\n", "query.\n") + " "
BGE = "Represent this sentence for searching relevant passages: "
_CODE = "allow_code=True"
NOMIC = "search_query: ", "search_document: "
ENCODERS = [
    Row("intfloat/e5-base-v2", _st(tiny_bert, MEAN, normalize=True), ("query: ", "passage: ")),
    Row(
        "intfloat/multilingual-e5-large", _st(_xlmr, MEAN, normalize=True), ("query: ", "passage: ")
    ),
    Row(
        "intfloat/e5-mistral-7b-instruct",
        _st(
            _decoder(kind="MistralModel"),
            LAST,
            normalize=True,
            prompts={"web_search_query": f"{WEB} ", "sts_query": "Instruct: Retrieve\nQuery: "},
        ),
        (f"{WEB} ", ""),
        ends=True,
    ),
    Row("BAAI/bge-base-en-v1.5", _st(tiny_bert, CLS, normalize=True), (BGE, "")),
    Row("BAAI/bge-m3", _st(_xlmr, CLS, normalize=True)),
    Row("Alibaba-NLP/gte-modernbert-base", _st(modern_bert, CLS)),
    Row("ibm-granite/granite-embedding-english-r2", _st(modern_bert, CLS)),
    Row("ibm-granite/granite-embedding-125m-english", _st(_roberta(kind="RobertaModel"), CLS)),
    Row("nomic-ai/modernbert-embed-base", _st(modern_bert, MEAN, normalize=True), NOMIC),
    Row("nomic-ai/nomic-embed-text-v1.5", _st(nomic, MEAN), NOMIC),
    Row(
        "Snowflake/snowflake-arctic-embed-m",
        _st(tiny_bert, CLS, normalize=True, prompts={"query": BGE}),
        (BGE, ""),
    ),
    Row(
        "Snowflake/snowflake-arctic-embed-l-v2.0",
        _st(_xlmr, CLS, normalize=True, prompts={"query": "query: "}),
        ("query: ", ""),
    ),
    Row(
        "mixedbread-ai/mxbai-embed-large-v1", _st(tiny_bert, CLS, prompts={"query": BGE}), (BGE, "")
    ),
    Row(
        "Qwen/Qwen3-Embedding-0.6B",
        _st(
            _decoder(kind="Qwen3ForCausalLM"),
            LAST,
            normalize=True,
            prompts={"query": WEB, "document": ""},
            similarity_fn_name="cosine",
        ),
        (WEB, ""),
        ends=True,
    ),
    Row(
        "google/embeddinggemma-300m",
        _st(
            gemma,
            MEAN,
            normalize=True,
            dense=((32, 48), (48, 32)),
            prompts={"query": "task: search result | query: ", "document": "title: none | text: "},
        ),
        ("task: search result | query: ", "title: none | text: "),
    ),
    Row(
        "NovaSearch/stella_en_1.5B_v5",
        _st(
            _decoder(kind="Qwen2Model"),
            MEAN,
            dense=((32, 16),),
            prompts={"s2p_query": S2P, "s2s_query": "Instruct: Same\nQuery: "},
        ),
        (S2P, ""),
    ),
    Row("moka-ai/m3e-base", _st(tiny_bert, MEAN)),
    Row("sentence-transformers/all-MiniLM-L6-v2", _st(tiny_bert, MEAN, normalize=True)),
    Row("sentence-transformers/paraphrase-MiniLM-L6-v2", _st(tiny_bert, MEAN)),
    Row(
        "Alibaba-NLP/gte-Qwen2-1.5B-instruct",
        _st(gte_qwen2, LAST, prompts={"query": f"{WEB} "}),
        (f"{WEB} ", ""),
        of_tokens("last", cosine=True, length=60, is_causal=False),
    ),
    Row("facebook/contriever-msmarco", _bert(), wanted=of_tokens("mean")),
    Row(
        "facebook/dragon-plus-query-encoder,facebook/dragon-plus-context-encoder",
        _bert(),
        wanted=of_tokens("first"),
    ),
    Row("OpenMatch/cocodr-base-msmarco", _bert(), wanted=of_tokens("first")),
    Row("Luyu/co-condenser-marco-retriever", _bert(), wanted=of_tokens("first")),
    Row("Shitao/RetroMAE_MSMARCO", _bert(kind="BertForMaskedLM"), wanted=of_tokens("first")),
    Row("intfloat/simlm-base-msmarco-finetuned", _bert(), ("", "-"), vectors_of_pairs),
    Row("Alibaba-NLP/gte-multilingual-base", _st(coded, CLS), refused=_CODE),
    Row("NovaSearch/stella_en_400M_v5", _st(coded, MEAN), refused=_CODE),
    Row("jinaai/jina-embeddings-v2-base-en", _st(coded, MEAN), refused=_CODE),
    Row("Snowflake/snowflake-arctic-embed-m-long", _st(coded, CLS), refused=_CODE),
]
SPARSE = [
    Row(name, build, refused=refused, use="sparse")
    for name, build, refused in (
        ("naver/splade-v3", _bert(kind="BertForMaskedLM"), None),
        ("ibm-granite/granite-embedding-30m-sparse", _roberta(kind="RobertaForMaskedLM"), None),
        (f"{_OPENSEARCH}-doc-v3-gte", _coded("NewForMaskedLM"), _CODE),
    )
]


def _one_score(network: Callable[..., Any], kind: str) -> Callable[[Path], Path]:
    return lambda folder: sharpened(network(folder, kind=kind, num_labels=1))


RERANKERS = [
    Row(
        name,
        _one_score(network, f"{kind}ForSequenceClassification"),
        use="reranker",
        kind="cross-encoder",
    )
    for name, network, kind in (
        ("cross-encoder/ms-marco-MiniLM-L6-v2", tiny_bert, "Bert"),
        ("BAAI/bge-reranker-v2-m3", tiny_roberta, "XLMRoberta"),
        ("Alibaba-NLP/gte-reranker-modernbert-base", modern_bert, "ModernBert"),
        ("mixedbread-ai/mxbai-rerank-base-v1", tiny_bert, "DebertaV2"),
    )
]
RERANKERS += [
    Row(name, build, refused=refused, use="reranker", kind=kind)
    for name, build, refused, kind in (
        (
            "jinaai/jina-reranker-v2-base-multilingual",
            _coded("XLMRobertaForSequenceClassification"),
            _CODE,
            "cross-encoder",
        ),
        ("jinaai/jina-colbert-v2", _coded("HF_ColBERT"), _CODE, "colbert"),
        (
            "castorini/rank_zephyr_7b_v1_full",
            _decoder(kind="MistralForCausalLM"),
            "template",
            "yes-no",
        ),
    )
]
ROWS = [*ENCODERS, *SPARSE, *RERANKERS]


def built(row: Row, place: Path) -> str:
    """The name of a row's model, built under ``place`` as OWNER/NAME."""
    names = []
    for name in row.name.split(","):
        folder = place / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
        row.build(folder)
        if row.ends:
            _end(folder)
        names.append(str(folder))
    return ",".join(names)


def _end(folder: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    token = "<|im_end|>"
    number = tokenizer.token_to_id(token)
    tokenizer.post_processor = TemplateProcessing(
        single=f"$A {token}", pair=f"$A {token} $B {token}", special_tokens=[(token, number)]
    )
    tokenizer.save(path)


def difference(row: Row, place: Path) -> float:
    """The largest difference from the peer's values, relative to their size."""
    name = built(row, place)
    comparisons = {"encoder": _encoder, "sparse": _sparse, "reranker": _reranker}[row.use](
        row, name
    )
    largest = 0.0
    for found, wanted in comparisons:
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert np.ptp(wanted) > 1e-3
        largest = max(largest, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    return largest


def _encoder(row: Row, name: str) -> list[tuple[Any, Any]]:
    from adducir.encoders.kinds import encoder_source
    from adducir.encoders.model import DualEncoder

    encoder = DualEncoder.load(encoder_source(name))
    query, document = (name.split(",") * 2)[:2] if "," not in name else name.split(",")
    return [
        (encoder.encode_queries(QUERIES), row.wanted(Path(query), QUERIES, row.prompts[0])),
        (
            encoder.encode_documents(DOCUMENTS),
            row.wanted(Path(document), DOCUMENTS, row.prompts[1]),
        ),
    ]


def _sparse(_: Row, name: str) -> list[tuple[Any, Any]]:
    from sentence_transformers import SparseEncoder

    from adducir.encoders.sparse import load_sparse_encoder, pool_early
    from adducir.models.sources import model_source

    how: Any = {"convert_to_sparse_tensor": False}
    ours = load_sparse_encoder(model_source(name))
    pool_early(ours)
    found: Any = ours.encode_document(DOCUMENTS, **how)
    return [(found, SparseEncoder(name, device="cpu").encode_document(DOCUMENTS, **how))]


def _reranker(row: Row, name: str) -> list[tuple[Any, Any]]:
    import torch
    from sentence_transformers import CrossEncoder

    from adducir.rerankers.recipe import open_reranker

    reranker = open_reranker(f"{row.kind}:{name}")
    found = [score for query in QUERIES for score in reranker.score(query, DOCUMENTS)]
    peer = CrossEncoder(name, device="cpu", local_files_only=True)
    pairs = [(query, text) for query in QUERIES for text in DOCUMENTS]
    return [(found, peer.predict(pairs, activation_fn=torch.nn.Identity()))]


def statement(row: Row, place: Path) -> str:
    """How a row's model is read, as Adducir prints it."""
    from adducir.encoders.kinds import described, encoder_source
    from adducir.rerankers.recipe import open_reranker

    name = ",".join(str(place / part) for part in row.name.split(","))
    if row.use == "encoder":
        return described(encoder_source(name))
    if row.use == "sparse":
        return "SPLADE's maximum of log(1 + ReLU)"
    reranker = open_reranker(f"{row.kind}:{name}")
    return f"{row.kind}, {reranker.scale}"


def table(place: Path) -> str:
    """The rows as Markdown."""
    from adducir.core.errors import AdducirError

    lines = ["| Model | Use | Read as its makers publish it | How |", "| --- | --- | --- | --- |"]
    for row in ROWS:
        try:
            right = "yes" if difference(row, place) < 1e-5 else "NO"
            how = statement(row, place)
        except AdducirError as error:
            right, how = "refused", error.what
        parts = [part for part in how.split("; ") if not re.match(r"queries of \d+ tokens", part)]
        how = re.sub(r", (?:queries|documents) of \d+ tokens", "", "; ".join(parts))
        how = re.sub(r"\(known for [^:]+: ", "(known: ", how).removesuffix(", which is not run.")
        how = how.replace("|", "\\|").replace("\n", "\\n")
        lines.append(f"| {row.name.replace(',', ', ')} | {row.use} | {right} | {how} |")
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(table(Path(scratch)) + "\n")
