"""Small stand-ins for the published models of cacm-expansion.yaml: see docs/studies/cacm.md.

A T5 without pretraining learns titles of abstracts, as doc2query's learned queries of passages.
SPLADE-doc is a SPLADE, linked as models/splade, whose queries' tokens all count 1.
"""

import json
import os
from pathlib import Path

import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding
from tokenizers import Tokenizer
from tokenizers.trainers import WordPieceTrainer
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

import adducir as ad

EPOCHS, BATCH = 8, 32
SIZES = {"d_model": 128, "d_kv": 32, "d_ff": 512, "num_heads": 4, "num_layers": 2}

folder = Path(os.environ["ADDUCIR_COLLECTIONS"], "cacm")
judged = set(ad.load_qrels(folder / "qrels.cacm.padded.txt").frame["docno"])
with (folder / "corpus.jsonl").open() as corpus:
    documents = [json.loads(line) for line in corpus]
pairs = [
    (document["abstract"], document["title"])
    for document in documents
    if document["abstract"] and document["docid"] not in judged
]

of_splade = AutoTokenizer.from_pretrained("models/splade")
words = [f"{title} {abstract}" for abstract, title in pairs]
# The trainer numbers letters inside words in the order of a hash map, and ties follow the numbers:
# with these letters first, the same pieces are learnt in each process.
pieces = Tokenizer.from_str(of_splade.backend_tokenizer.to_str())
letters = sorted({*"".join(map(pieces.normalizer.normalize_str, words))} - {" "})
fixed = sorted(of_splade.all_special_tokens, key=of_splade.convert_tokens_to_ids)
fixed += [f"##{letter}" for letter in letters]
pieces.train_from_iterator(words, WordPieceTrainer(vocab_size=2000, special_tokens=fixed))
tokenizer = type(of_splade)(vocab=pieces.get_vocab(with_added_tokens=False))
end = tokenizer.sep_token_id
torch.manual_seed(0)
special = {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": end}
model = T5ForConditionalGeneration(T5Config(vocab_size=len(tokenizer), **special, **SIZES))
optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
read = {"padding": True, "truncation": True, "return_tensors": "pt"}
for _ in range(EPOCHS):
    order = torch.randperm(len(pairs)).tolist()
    for first in range(0, len(order), BATCH):
        abstracts, titles = zip(*(pairs[n] for n in order[first : first + BATCH]), strict=True)
        texts = tokenizer([*abstracts], max_length=64, **read)
        queries = tokenizer([*titles], max_length=16, add_special_tokens=False, **read)
        labels = torch.nn.functional.pad(queries.input_ids, (0, 1))
        labels[torch.arange(len(labels)), queries.attention_mask.sum(1)] = end
        labels[labels == 0] = -100
        inputs = {"input_ids": texts.input_ids, "attention_mask": texts.attention_mask}
        loss = model(**inputs, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
model.save_pretrained("models/titles")
tokenizer.save_pretrained("models/titles")

splade = SparseEncoder("models/splade", device="cpu")
ones = SparseStaticEmbedding(of_splade, torch.ones(len(of_splade)), frozen=True)
router = Router.for_query_document([ones], list(splade))
SparseEncoder(modules=[router], device="cpu").save("models/splade-doc")
