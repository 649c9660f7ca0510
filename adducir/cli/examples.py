"""Two examples of each command, which end its help.

A test parses all of them. What they read need not be there.
"""

EXAMPLES = {
    "index": (
        "adducir index bundled:arguments --fields conclusion,premise -o indexes/arguments",
        "adducir index vaswani --engine memory --output indexes/vaswani",
    ),
    "search": (
        "adducir search -i indexes/arguments -t bundled:topics -o runs/bm25.trec.gz",
        "adducir search -i indexes/arguments -t bundled:topics --feedback rm3 --k1 1.2 -o rm3.trec",
    ),
    "rerank": (
        "adducir rerank -r runs/bm25.trec.gz -t bundled:topics -i indexes/arguments "
        "--model maxsim:minilm -o runs/maxsim.trec.gz",
        "adducir rerank -r runs/bm25.trec.gz -t bundled:topics --corpus bundled:arguments "
        "--model rerankers/monot5-3b.yaml --depth 50 -o runs/monot5.trec.gz",
    ),
    "fuse": (
        "adducir fuse runs/bm25.trec.gz runs/rm3.trec.gz -o runs/fused.trec.gz",
        "adducir fuse runs/bm25.trec.gz runs/rm3.trec.gz --method combsum --weights 2,1 "
        "-o runs/sum.trec.gz",
    ),
    "check": (
        "adducir check runs/bm25.trec.gz --qrels bundled:qrels --topics bundled:topics",
        "adducir check runs/bm25.trec.gz --index indexes/arguments --measures 'nDCG@10 R@100'",
    ),
    "evaluate": (
        "adducir evaluate runs/bm25.trec.gz runs/rm3.trec.gz -q bundled:qrels --baseline bm25",
        "adducir evaluate runs/*.trec.gz -q bundled:qrels -m 'nDCG@10 AP' --family pairs "
        "-o table.tex",
    ),
    "figure": (
        "adducir figure experiments/demo/report.html",
        "adducir figure experiments/demo/report.html differences-0 -o figures/differences.pdf",
    ),
    "compare": (
        "adducir compare per-topic.csv --baseline BM25 --correction maxt",
        "adducir compare bm25.trec_eval splade.json -m 'AP nDCG@10' --family pairs -o table.html",
    ),
    "reproduce": (
        "adducir reproduce original.trec.gz ours.trec.gz -q bundled:qrels -m 'AP nDCG@10'",
        "adducir reproduce original.trec ours.trec -q qrels.txt --original-baseline bm25.trec "
        "--new-baseline our-bm25.trec",
    ),
    "tune": (
        "adducir tune -i indexes/arguments -t bundled:topics -q bundled:qrels "
        "--grid k1=0.4:1.6:0.4 --grid b=0.2,0.4,0.6 -o experiments/tuned-bm25",
        "adducir tune --fuse runs/bm25.trec.gz --fuse runs/rm3.trec.gz -t bundled:topics "
        "-q bundled:qrels --grid k=10,60 -o experiments/tuned-fusion",
    ),
    "experiment": (
        "adducir experiment experiments/demo.yaml --dry-run",
        "adducir experiment experiments/demo.yaml --set systems.BM25.k1=1.2 --set depth=100",
    ),
    "train": (
        "adducir train encoders/egret.yaml",
        "adducir train rerankers/touche-small-ce.yaml --set training.seed=1 -o rerankers/ce-1",
    ),
    "encode": (
        "adducir encode --model minilm --corpus corpus.jsonl --output vectors/corpus",
        "adducir encode --model minilm --corpus corpus.jsonl --workers 8 -o vectors/corpus",
    ),
    "deepct evaluate": (
        "adducir deepct evaluate deepct/cacm.yaml",
        "adducir deepct evaluate deepct/cacm.yaml --set training.seed=1",
    ),
    "deepct expand": (
        "adducir deepct expand --model deepct/cacm --corpus cacm.jsonl -o expanded.jsonl.gz",
        "adducir deepct expand --model deepct/cacm --corpus cacm.jsonl --pairs "
        "--transform sqrt -o pairs.jsonl.gz",
    ),
    "deepct show": (
        "adducir deepct show --model deepct/cacm --text 'An algorithm for sorting files.'",
        "adducir deepct show --model deepct/demo --text 'Schools should ban phones.'",
    ),
    "retrieve": (
        "adducir retrieve --model encoders/egret --spans test.jsonl.gz -o runs/egret.trec.gz",
        "adducir retrieve --model encoders/relic --relic RELiC/test.json -o submission.json",
    ),
    "select": (
        "adducir select --model rerankers/evidence-small.yaml --questions test.jsonl.gz "
        "-o selected.jsonl",
        "adducir select --model rerankers/drn-small --questions test.jsonl.gz --size 2 "
        "-o drn.jsonl",
    ),
    "ask": (
        "adducir ask emma.txt 'Emma is ashamed of how she treated Miss Bates'",
        "adducir ask emma.txt 'a walk in the rain' vanity --sentences 1 --top 10",
    ),
    "ranks": (
        "adducir ranks bm25.tsv dense.tsv --baseline bm25 --random",
        "adducir ranks ranks.jsonl.gz --baseline bm25 --by length --cutoffs 1,10,100",
    ),
    "sets": (
        "adducir sets ours.jsonl ranker.jsonl -q test.jsonl.gz --baseline ranker",
        "adducir sets ours.jsonl -q test.jsonl.gz --upper-bound --format latex",
    ),
    "generated": (
        "adducir generated elbo.jsonl marginal.jsonl -r wow-dev.jsonl --train wow-train.jsonl "
        "--depth 5 --baseline marginal",
        "adducir generated predictions.jsonl -r wow-dev-kilt.jsonl --measures kilt",
    ),
    "sharpness": (
        "adducir sharpness runs/retriever.trec.gz runs/guide.trec.gz",
        "adducir sharpness runs/retriever.trec.gz --cutoffs 1,5,10 --temperature 2 -o sharp.csv",
    ),
    "rouge": (
        "adducir rouge runs/egret.trec.gz runs/bm25.trec.gz --spans test.jsonl.gz",
        "adducir rouge runs/egret.trec.gz --spans test.jsonl.gz --candidates train.jsonl.gz",
    ),
    "agreement": (
        "adducir agreement ratings.csv",
        "adducir agreement ratings.csv --level interval --baseline c-REALM -o ratings.md",
    ),
    "proxy make": (
        "adducir proxy make -t queries.jsonl -q qrels.txt --corpus passages.jsonl "
        "--run runs/bm25.trec.gz -o task.csv --key key.csv",
        "adducir proxy make --spans windows.jsonl.gz --corpus passages.jsonl "
        "--run runs/bm25.trec.gz --sample 200 -o task.jsonl --key key.csv",
    ),
    "proxy score": (
        "adducir proxy score anna.csv ben.csv carl.csv --key key.csv",
        "adducir proxy score choices.csv --key key.csv --run runs/dense.trec.gz --by-group",
    ),
    "corpora examples": (
        "adducir corpora examples eli5-train-kilt.jsonl -o eli5.jsonl.gz",
        "adducir corpora examples books/ --words 256 -o books.jsonl.gz",
    ),
    "corpora cloze": (
        "adducir corpora cloze eli5-train-kilt.jsonl --every 5 -o cloze.jsonl.gz",
        "adducir corpora cloze novels/ --every 10 -o cloze.jsonl.gz",
    ),
    "corpora quotations": (
        "adducir corpora quotations --primary novels/ --secondary criticism/ -o relic.json",
        "adducir corpora quotations --primary novels/ --secondary criticism/ -o relic.json "
        "--rules relic --shares .6,.2,.2",
    ),
    "corpora hotpotqa": (
        "adducir corpora hotpotqa hotpot_dev_fullwiki_v1.json -o test.jsonl.gz",
        "adducir corpora hotpotqa hotpot_dev_fullwiki_v1.json --gold found -o test.jsonl.gz",
    ),
    "corpora mnli12": (
        "adducir corpora mnli12 dev.jsonl -o mnli12.jsonl.gz",
        "adducir corpora mnli12 dev.jsonl --shares 0.7,0.1,0.2 -o mnli12.jsonl.gz",
    ),
    "corpora passages": (
        "adducir corpora passages kilt_knowledgesource.json -o passages.jsonl.gz",
        "adducir corpora passages pages.jsonl.gz --words 100 -o passages.jsonl.gz",
    ),
    "corpora kilt": (
        "adducir corpora kilt wow-dev-kilt.jsonl --passages passages.jsonl.gz -o wow-dev.jsonl",
        "adducir corpora kilt wow-train-kilt.jsonl --passages passages.jsonl.gz "
        "--shares .95,.05,0 -o wow.jsonl.gz",
    ),
    "corpora nlgen": (
        "adducir corpora nlgen train_v2.1.json.gz --corpus collection.tsv -o train.jsonl.gz",
        "adducir corpora nlgen dev_v2.1.json.gz --corpus msmarco-passage --first 6233 "
        "-o validation.jsonl",
    ),
    "new": ("adducir new my-study", "adducir new studies/touche"),
    "demo": ("adducir demo", "adducir demo --folder study"),
    "kinds": ("adducir kinds", "adducir kinds fusion feedback"),
    "doctor": ("adducir doctor", "adducir doctor --json"),
}
"""By command, as a user types them."""


def epilog(command: str) -> str:
    """The examples as paragraphs that end the command's help; empty for an unknown command."""
    return "\n\n".join(["Examples:", *EXAMPLES[command]]) if command in EXAMPLES else ""
