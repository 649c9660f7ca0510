"""ColBERTs as PyLate, Stanford and sentence-transformers save them: the same scores as theirs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pylate_values
import pytest
import torch
from tiny import tiny_bert, tiny_colbert, tiny_decoder, tiny_roberta, with_modules

from adducir.core.errors import InputError
from adducir.rerankers.recipe import open_reranker

QUERIES = ["cats run fast", "nuclear energy and cheap power plants for school uniforms " * 3, ""]
TEXTS = ["the cats run .", "nuclear power , is cheap !", "a slow dog " * 30, "? !", "the"]


def theirs(folder):
    from sentence_transformers import MultiVectorEncoder

    model = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    scores = model.similarity(model.encode_query(QUERIES), model.encode_document(TEXTS))
    return scores.float().cpu().numpy()


def ours(name):
    reranker = open_reranker(str(name))
    return np.array([reranker.score(query, TEXTS) for query in QUERIES])


def agree(folder, atol=1e-4):  # sums of up to 64 maxima
    wanted, found = theirs(folder), ours(folder)
    # A text of punctuation alone has no vectors there; an empty query may have none.
    full = np.isfinite(wanted) & (np.arange(len(TEXTS)) != 3)
    np.testing.assert_allclose(found[full], wanted[full], atol=atol)
    assert np.ptp(wanted[full]) > 0.1 and full.sum() > 6


@pytest.fixture
def bert(tmp_path):
    return bert_with_markers(tmp_path / "bert")


def bert_with_markers(folder, build=tiny_bert, **kind):
    """A network whose vocabulary has the markers of all three programs."""
    build(folder, positions=140, **kind)
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["[Q] ", "[D] ", "[unused0]", "[unused1]"])
    network = transformers.AutoModel.from_pretrained(folder)
    torch.manual_seed(5)
    network.resize_token_embeddings(len(tokenizer))
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def pylate(bert, folder, *, layers=((32, 16),), **settings):
    """A PyLate save: a transformer and dense layers, settings at the top."""
    from sentence_transformers.base.modules.dense import Dense

    shutil.copytree(bert, folder)
    stated = {"model_type": "ColBERT", "query_prefix": "[Q] ", "document_prefix": "[D] "}
    stated |= {"query_length": 20, "document_length": 40, "attend_to_expansion_tokens": False}
    stated |= {"skiplist_words": list(".,!?"), "similarity_fn_name": "MaxSim", **settings}
    modules = [("", "Transformer")]
    for number, (width, kept) in enumerate(layers, 1):
        torch.manual_seed(number)
        dense = Dense(width, kept, bias=False, activation_function=torch.nn.Identity())
        (folder / f"{number}_Dense").mkdir()
        dense.save(str(folder / f"{number}_Dense"))
        path = folder / f"{number}_Dense" / "config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps({k: v for k, v in config.items() if "module_" not in k}))
        modules.append((f"{number}_Dense", "pylate.models.Dense.Dense"))
    files = {
        "config_sentence_transformers": stated,
        "sentence_bert_config": {"max_seq_length": 127},
    }
    return with_modules(folder, *modules, **files)


@pytest.mark.parametrize("name", [*pylate_values.CASES, *pylate_values.TRAINED])
def test_the_scores_of_pylate_itself(name, bert, tmp_path):
    if name in pylate_values.TRAINED:
        folder = pylate_values.trained(tmp_path, name)
    else:
        folder = pylate_values.built(bert, tmp_path / "colbert", name)
    reranker = open_reranker(str(folder))
    found = [reranker.score(query, pylate_values.TEXTS) for query in pylate_values.QUERIES]
    stored = json.loads(Path(pylate_values.__file__).with_suffix(".json").read_text())
    np.testing.assert_allclose(found, stored["scores"][name], atol=1e-4)


def stanford(bert, folder, **stated):
    """A checkpoint of ColBERT's authors."""
    tiny_colbert(bert, folder)
    if stated:
        (folder / "artifact.metadata").write_text(json.dumps(stated))
    return folder


def saved(bert, folder, *, mask=None, more=(), **options):
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    top = {k: options.pop(k) for k in ("prompts", "similarity_fn_name") if k in options}
    torch.manual_seed(7)
    identity = torch.nn.Identity()
    dense = Dense(32, 16, False, identity, module_input_name="token_embeddings")
    ends = [MultiVectorMask(**(mask or {})), Normalize(module_input_name="token_embeddings")]
    modules = [Transformer(str(bert), **options), dense, *more, *ends]
    MultiVectorEncoder(modules=modules, device="cpu", **top).save(str(folder))
    return folder


def stanfords_roberta(_, folder, **stated):
    base = bert_with_markers(folder.with_name("base"), tiny_roberta, kind="RobertaModel")
    return stanford(base, folder, **stated)


BOTH_SIDES = {"skiplist_words": ["the", "."], "skiplist_tasks": ["query", "document"]}
FIXED = {"strategy": "fixed", "attend": False, "length": 24}


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (pylate, {}),
        (pylate, {"attend_to_expansion_tokens": True}),
        (pylate, {"do_query_expansion": False}),
        (pylate, {"skiplist_words": []}),
        (pylate, {"layers": ((32, 24), (24, 8))}),
        (pylate, {"query_prefix": "query : ", "document_prefix": "a dog "}),
        (pylate, {"prompts": {"query": "for example ", "document": ""}}),
        (stanford, {}),
        (stanford, {"doc_maxlen": 30, "query_token_id": "[Q] ", "doc_token_id": "[D] "}),
        (stanford, {"query_token_id": "[unused0] ", "doc_token_id": "dog", "dim": 16}),
        (stanford, {"query_token_id": "", "mask_punctuation": False}),
        (stanford, {"query_maxlen": 50, "attend_to_mask_tokens": True, "doc_maxlen": 90}),
        (stanfords_roberta, {"query_token_id": "[Q] ", "doc_maxlen": 30}),
        (saved, {}),
        (saved, {"query_expansion": FIXED, "document_length": 30}),
        (saved, {"query_expansion": FIXED | {"strategy": "min", "token": "[SEP]", "attend": True}}),
        (saved, {"query_expansion": FIXED | {"strategy": "min"}, "query_length": 30}),
        (saved, {"query_length": 9, "prompts": {"query": "[Q] ", "document": "the "}}),
        (saved, {"mask": BOTH_SIDES}),
        (saved, {"query_expansion": FIXED, "similarity_fn_name": "meanmaxsim"}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_scores_are_those_of_sentence_transformers(build, options, bert, tmp_path):
    agree(build(bert, tmp_path / "colbert", **options))


def test_several_layers_with_activation_bias_and_residual(bert, tmp_path):
    from sentence_transformers.base.modules.dense import Dense

    torch.manual_seed(9)
    name = {"module_input_name": "token_embeddings"}
    more = [Dense(16, 16, True, torch.nn.GELU(), use_residual=True, **name), Dense(16, 8, **name)]
    agree(saved(bert, tmp_path / "edge", more=more, query_expansion=FIXED))


def test_a_decoder_pads_with_its_end_token(tmp_path):
    decoder = tiny_decoder(tmp_path / "qwen")
    agree(saved(decoder, tmp_path / "colqwen", query_expansion=FIXED))


def test_what_would_not_be_computed_is_refused(bert, tmp_path):
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

    folder = saved(bert, tmp_path / "pooled", more=[HierarchicalTokenPooling(2)])
    with pytest.raises(InputError, match="HierarchicalTokenPooling"):
        ours(folder)
    folder = saved(bert, tmp_path / "images", mask={"keep_only_token_ids": [3]})
    with pytest.raises(InputError, match="images"):
        ours(folder)


@pytest.mark.parametrize("kind", ["colbert", "maxsim"])
@pytest.mark.parametrize("file", ["tokenizer_config.json", "tokenizer.json"])
def test_the_side_on_which_texts_are_cut_is_part_of_the_identity(bert, tmp_path, kind, file):
    folder = stanford(bert, tmp_path / "colbert") if kind == "colbert" else bert
    read = open_reranker(f"{kind}:{folder}").identity.get("read", "")
    pylate_values.cut_on_the_left(folder, file)
    reranker = open_reranker(f"{kind}:{folder}")
    assert "left" not in read
    assert reranker.identity["read"].startswith(read) and "on the left" in reranker.statement


def test_a_recipe_s_keys_precede_the_files(bert, tmp_path):
    folder = pylate(bert, tmp_path / "colbert")
    (tmp_path / "rerankers").mkdir()
    recipe = tmp_path / "rerankers" / "mine.yaml"
    recipe.write_text(f"model: colbert\nbase: {folder}\nexpand_queries: false\nquery_length: 6\n")
    model = open_reranker(recipe).model
    assert len(model.queries([QUERIES[1]])[0]) == 6
    assert len(model.queries(["the"])[0]) == 4
    assert "PyLate" in model.reading.shown()
