"""Every command of the lexical way, which the base package alone must be able to run."""

import gzip
import json
from pathlib import Path

import polars as pl

TEXTS = {
    "d1": "School uniforms limit what students may express.",
    "d2": "Uniforms spare families the cost of clothes; students' marks don't change.",
    "d3": "Dogs need a leash in the park — naïve owners, 東京 and ไทย included.",
}
TOPICS = {"1": "school uniforms", "2": "dogs in the park"}
WEIGHTS = [
    {"id": "d1", "vector": {"school": 3, "uni": 2}},
    {"id": "d2", "vector": {"uni": 4, "cost": 1}},
]
SPARSE_TOPICS = [{"qid": "1", "query": "school", "vector": {"school": 2, "uni": 1}}]

ENGINE = "--engine memory"
SEARCH = "search -i indexes/arguments -t bundled:topics"
EVALUATE = "evaluate bm25.trec.gz qld.trec.gz rm3.trec.gz -q bundled:qrels"

SOURCES = ["docs.jsonl", "docs.jsonl.gz", "docs.json", "docs.csv", "docs.tsv", "docs.parquet"]
SOURCES += ["docs.trec", "texts", "cacm.jsonl --format cacm", "docs.jsonl --passages 5"]

COMMANDS = [
    *(f"index {source} {ENGINE} -o formats/{n}" for n, source in enumerate(SOURCES)),
    *(
        f"index docs.jsonl {ENGINE} -o stemmers/{stemmer} --stemmer {stemmer}"
        for stemmer in ("porter", "none")
    ),
    f"index docs.jsonl {ENGINE} -o exact --set accurate_length=true",
    f"index bundled:arguments --fields conclusion,premise {ENGINE} -o indexes/arguments",
    f"{SEARCH} -o bm25.trec.gz",
    *(f"{SEARCH} --model {model} -o {model}.trec.gz" for model in ("qld", "okapi", "dph")),
    *(f"{SEARCH} --feedback {method} -o {method}.trec.gz" for method in ("rm3", "rocchio")),
    f"{SEARCH} --depth all --threads 1 -o all.trec.gz",
    f"index --weights weights.jsonl {ENGINE} -o weights",
    "search -i weights -t sparse.jsonl -o weights.trec.gz",
    'search indexes/arguments "school uniforms"',
    "fuse bm25.trec.gz qld.trec.gz --method rrf -o fused.trec.gz",
    "tune -i indexes/arguments -t bundled:topics -q bundled:qrels -g k1=0.8,0.9 -g b=0.4 "
    "--folds 2 -o tuned",
    f"{EVALUATE} --baseline bm25 --per-topic --format csv",
    f"{EVALUATE} --baseline bm25 --test randomisation --correction maxt",
    f"{EVALUATE} -m AP --baseline bm25 --correction holm --set topics_for=.1 --set best=set",
    f"{EVALUATE} --topics bundled:topics -o table.html",
    f"{EVALUATE} --baseline bm25 --format latex",
    f"{EVALUATE} --per-topic -o scores.csv",
    "compare scores.csv -m AP",
    "check bm25.trec.gz rm3.trec.gz -q bundled:qrels --index indexes/arguments",
    "show bm25.trec.gz --topic 1",
    "new study",
    "experiment study/experiments/demo.yaml --dry-run",
    "experiment study/experiments/demo.yaml",
    "share study -o study.zip",
    "verify study.zip",
    "demo",
    "kinds",
    "kinds settings",
]

SCRIPT = """
import adducir as ad
ad.build_index(ad.open_corpus("bundled:arguments"), "indexes/python", "memory")
topics, qrels = ad.load_topics("bundled:topics"), ad.load_qrels("bundled:qrels")
bm25 = ad.LexicalRetriever(ad.open_index("indexes/python"), "bm25", k1=0.9, b=0.4)
run = ad.Run.of(bm25(topics), tag="bm25")
print(ad.evaluate(run, qrels, "nDCG@10 AP").mean("nDCG@10"))
print(bm25.search("school uniforms").head(2))
"""


def write_materials(folder: Path) -> None:
    """Write the documents in every format, topics and token weights."""
    rows = [{"docno": docno, "text": text} for docno, text in TEXTS.items()]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "docs.jsonl").write_text(lines)
    (folder / "docs.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "docs.json").write_text(json.dumps(rows))
    (folder / "docs.tsv").write_text("".join(f"{d}\t{text}\n" for d, text in TEXTS.items()))
    pl.DataFrame(rows).write_csv(folder / "docs.csv")
    pl.DataFrame(rows).write_parquet(folder / "docs.parquet")
    trec = "<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>{}</TEXT>\n</DOC>\n"
    (folder / "docs.trec").write_text("".join(trec.format(*item) for item in TEXTS.items()))
    (folder / "texts").mkdir()
    for docno, text in TEXTS.items():
        (folder / "texts" / f"{docno}.txt").write_text(text)
    papers = (
        {"docid": f"CACM-000{n}", "contents": text, "html_text": f"{text}\n\n{n}\t5\t{n}\n"}
        for n, text in enumerate(TEXTS.values(), 1)
    )
    (folder / "cacm.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    for name, values in (("weights", WEIGHTS), ("sparse", SPARSE_TOPICS)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in values))
