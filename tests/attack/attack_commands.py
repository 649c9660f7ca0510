"""Every command that writes, with options that make something else at the same place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command that writes.

    Attributes:
        name: What a test calls it.
        words: The command line; paths are relative to the study.
        other: More words, with which the same command makes other artifacts at the same place.
        before: Command lines that make what it reads.
        is_refused_when_there: Whether it refuses, with code 5, to work where it was before.
    """

    name: str
    words: str
    other: str = ""
    before: tuple[str, ...] = ()
    is_refused_when_there: bool = False

    def argv(self, is_other: bool = False) -> list[str]:
        """The words, with those that make something else at the end.

        With ``--force``: plain files do not say who made them.
        """
        force = ("--force",) if " -o " in self.words else ()
        return [*self.words.split(), *force, *(self.other.split() if is_other else ())]


_TOPICS = "--topics topics.tsv"
_RERANK = f"rerank --run a.trec {_TOPICS} --corpus corpus.jsonl -o out/r.trec --threads 1"
_TRAIN_OTHER = "--set training.epochs=2"
_MAKE = (
    "literary-evidence proxy-make --run pool.trec --corpus corpus.jsonl --spans proxy-spans.jsonl"
)
_RETRIEVE = "literary-evidence retrieve --model models/bert --spans spans.jsonl"

COMMANDS = [
    Command("index-lucene", "index corpus.jsonl -o out/i", "--stemmer none"),
    Command("index-memory", "index corpus.jsonl -o out/i --engine memory", "--stemmer none"),
    Command(
        "index-dense",
        "index corpus.jsonl -o out/i --engine dense --encoder models/bert --threads 1",
        "--fields title",
    ),
    Command("index-weights", "index --weights pairs.jsonl -o out/i"),
    Command("search-memory", f"search -i indexes/memory {_TOPICS} -o out/s.trec.gz", "--k1 2"),
    Command("search-lucene", f"search -i indexes/lucene {_TOPICS} -o out/s.trec", "--k1 2"),
    Command("rerank", f"{_RERANK} --model models/classifier", "--depth 5"),
    Command("rerank-monot5", f"{_RERANK} --model monot5:models/t5 --depth 3", "--depth 2"),
    Command("fuse", "fuse a.trec b.trec -o out/f.trec", "--set k=5"),
    Command(
        "evaluate",
        "evaluate a.trec b.trec --qrels qrels.txt --baseline a -o out/t.html",
        "--set decimals=5",
    ),
    Command(
        "figure",
        "figure report.html differences-0 -o out/f.svg",
        before=("evaluate a.trec b.trec --qrels qrels.txt --baseline a -o report.html",),
    ),
    Command(
        "compare",
        "compare scores.csv --baseline a -o out/c.md",
        "--set decimals=5",
        before=("evaluate a.trec b.trec --qrels qrels.txt --per-topic -o scores.csv",),
    ),
    Command(
        "reproduce",
        "reproduce a.trec b.trec --qrels qrels.txt -o out/x.md",
        "--set decimals=5",
    ),
    Command(
        "tune-fusion",
        f"tune --fuse a.trec --fuse b.trec {_TOPICS} --qrels qrels.txt --grid k=10,60 "
        "--grid weights.a=0.5,1 --folds 3 -o out/tuned",
        "--folds 2",
    ),
    Command(
        "tune-memory",
        f"tune -i indexes/memory {_TOPICS} --qrels qrels.txt --grid k1=0.5,0.9 --grid b=0.2,0.4 "
        "-o out/tuned",
        "--folds 2",
    ),
    Command("experiment", "experiment experiments/table.yaml", "--set measures=[AP,P@5]"),
    Command("experiment-ranks", "experiment experiments/ranks.yaml --threads 1"),
    Command("experiment-sets", "experiment experiments/sets.yaml --threads 1"),
    Command("train-dual", "train encoders/dual.yaml --threads 1", _TRAIN_OTHER),
    Command("train-reranker", "train rerankers/ce.yaml --threads 1", _TRAIN_OTHER),
    Command("train-complementary", "train rerankers/ours.yaml --threads 1", _TRAIN_OTHER),
    Command("train-drn", "train rerankers/drn.yaml --threads 1", _TRAIN_OTHER),
    Command("train-deepct", "train deepct/weights.yaml --threads 1", _TRAIN_OTHER),
    Command(
        "deepct-expand",
        "deepct expand --model deepct/weights --corpus corpus.jsonl -o out/e.jsonl.gz --threads 1",
        "--transform sqrt",
        before=("train deepct/weights.yaml --threads 1",),
    ),
    Command(
        "encode-corpus",
        "encode --model models/bert --corpus corpus.jsonl -o out/v --threads 1",
        "--fields title",
    ),
    Command(
        "encode-spans",
        "encode --model models/bert --spans spans.jsonl --side span -o out/v --threads 1",
    ),
    Command(
        "corpora-examples",
        "exemplification examples books -o out/x.jsonl.gz",
        "--min-words 3",
    ),
    Command("corpora-cloze", "exemplification cloze books -o out/c.jsonl", "--words 8"),
    Command(
        "corpora-quotations",
        "literary-evidence quotations --primary books --secondary works -o out/relic.json "
        "--spans out/w.jsonl --set min_matches=1 --shares .4,.3,.3",
        "--seed 5 --context 1",
    ),
    Command(
        "corpora-hotpotqa",
        "complementary-evidence hotpotqa hotpot.json -o out/h.jsonl --passages 5 --shares .5,.2,.3",
        "--seed 5 --negatives 2",
    ),
    Command(
        "corpora-mnli12",
        "complementary-evidence mnli12 mnli.jsonl -o out/m.jsonl.gz --shares .5,.2,.3",
        "--seed 5 --negatives 2",
    ),
    Command(
        "proxy-make", f"{_MAKE} -o out/task.csv --key out/key.csv", "--seed 7 --num-distractors 4"
    ),
    Command(
        "proxy-score",
        "literary-evidence proxy-score --key key.csv --run pool.trec -o out/p.json",
        "--set decimals=5",
        before=(f"{_MAKE} -o task.csv --key key.csv",),
    ),
    Command("agreement", "exemplification agreement ratings.csv -o out/a.md", "--level interval"),
    Command(
        "ranks",
        "literary-evidence ranks bm25.tsv dense.tsv --baseline bm25 -o out/r.tex",
        "--cutoffs 1,2",
    ),
    Command("retrieve", f"{_RETRIEVE} -o out/r.trec.gz --threads 1", "--depth 3"),
    Command(
        "rouge",
        "exemplification rouge r.trec --spans spans.jsonl -o out/g.md",
        "--stem",
        before=(f"{_RETRIEVE} -o r.trec --threads 1",),
    ),
    Command(
        "corpora-passages",
        "grounded-generation passages pages.jsonl -o out/p.jsonl.gz",
        "--words 3",
    ),
    Command(
        "corpora-kilt",
        "grounded-generation kilt wow.jsonl --passages passages.jsonl -o out/c.jsonl",
        "--turns /",
    ),
    Command(
        "corpora-nlgen",
        "grounded-generation nlgen nlgen.json --corpus passages.jsonl -o out/n.jsonl",
        "--skip 1",
    ),
    Command(
        "generated",
        "grounded-generation generated short.jsonl long.jsonl -r wow.jsonl -b short -o out/g.md",
        "--depth 2",
    ),
    Command(
        "sharpness", "grounded-generation sharpness a.trec b.trec -o out/m.md", "--cutoffs 1,2"
    ),
    Command(
        "sets",
        "complementary-evidence sets chosen.jsonl --questions test.jsonl -o out/s.md",
        "--set decimals=5",
    ),
    Command(
        "select",
        "complementary-evidence select -m rerankers/ours -q test.jsonl -o out/c.jsonl --threads 1",
        "--set size=1",
        before=("train rerankers/ours.yaml --threads 1",),
    ),
    Command(
        "ask",
        "literary-evidence ask books/book0.txt basket -m models/bert --keep out/kept",
    ),
    Command("new", "new out/study", is_refused_when_there=True),
    Command("demo", "demo --folder out/demo"),
]
BY_NAME = {command.name: command for command in COMMANDS}
