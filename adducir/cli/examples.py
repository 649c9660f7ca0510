"""Two examples of each command, which end its help.

A test parses all of them. What they read need not be there.
"""

EXAMPLES = {
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
}
"""By command, as a user types them."""
