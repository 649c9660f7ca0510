"""What commands refuse: the exit code and the sentence that a person reads, before any output."""

import json
import shlex
from pathlib import Path

import pytest

from adducir.cli.app import main

DEMO = Path(__file__).parents[2] / "deepct" / "demo.yaml"
OURS = "--team t --goal g --repository r"
SCORES = "system,measure,topic,value\n"
FILES = {
    "a.trec": "1 Q0 d1 1 9 a\n1 Q0 d2 2 8 a\n2 Q0 d3 1 7 a\n",
    "b.trec": "1 Q0 d2 1 3.5 b\n1 Q0 d4 2 1 b\n",
    "other.trec": "7 Q0 d2 1 3.5 b\n8 Q0 d4 2 1 b\n",
    "second.trec": "2 Q0 d3 1 7 a\n",
    "large.trec": "".join(f"{n % 3} Q0 d{n} {n} {-n} a\n" for n in range(12)),
    "q.txt": "1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n",
    "pets.jsonl": '{"id": "d1", "text": "cats purr"}\n',
    "topics.tsv": "1\tcats\n2\tdogs\n",
    "loss.csv": f"{SCORES}A,val_loss,1,2\nA,val_loss,2,3\n",
    "speed.csv": f"{SCORES}A,speed,1,2\nA,speed,2,3\n",
    "same.csv": f"{SCORES}A,nDCG@5,1,2\nA,ndcg_cut_5,1,3\n",
    "list.json": "[1]",
    "no.json": "[]",
    "control.yaml": "a: \b",
    "list.jsonl": "[1]\n",
    "void.jsonl": "",
    "merge.yaml": "systems:\n  <<: 3\n",
    "ratings.csv": "item,system,rater,rating\n1,A,x,2\n1,A,y,2\n",
    "neither.csv": "item,system,rater,words\n1,A,x,2\n",
    "blank.csv": "item,system,rater,rating\n1,A,x,\n",
    "empty/.keep": "",
    "q.parquet": "PAR1 but not Parquet",
    "wide.csv": 'qid,docno,score\n1,d1,2\n1,d1,"3\n',
    "twice.csv": "qid,docno,score\n1,d1,2\n1,d1,3\n",
    "double.csv": "qid,docno,Score,score\n1,d1,2,3\n",
    "nan.csv": "qid,docno,score\n1,d1,2\n1,d2,nan\n",
    "nameless.csv": "qid,text,score\n1,d1,2\n",
    "head.csv": "qid,docno,score\n",
    "three.txt": "1 d1 0\n1 d2 1\n",
    "twice.json": '{"1": {"d1": 2, "d1": 3}}',
    "a.seed1.trec": "1 Q0 d1 1 9 a\n",
    "a.seed2.trec": "1 Q0 d2 1 9 a\n",
    "x.ir-metadata.yml": "a: 1\n",
    "none.yaml": "task:\n",
    "odd.json": json.dumps({"1": ["d1"]}),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("compare speed.csv --higher-is-better speed --lower-is-better speed", 2, "is in both"),
        ("compare loss.csv", 2, "higher or lower values of val_loss"),
        ("compare speed.csv --lower-is-better sped", 2, "values of sped are missing"),
        ("compare list.json", 3, "neither {qid: {measure: value}} nor"),
        ("experiment merge.yaml", 3, "'<<' takes a mapping or a list"),
        ("experiment control.yaml", 3, "this is not YAML"),
        (
            "encode -c pets.jsonl -m minilm -o v --set ray=a --set slurm=b",
            2,
            "combined with --set slurm",
        ),
        ("complementary-evidence hotpotqa no.json -o q.jsonl", 2, "does not contain any"),
        ("verify empty", 3, "this is not a study's archive"),
        ("compare same.csv", 3, "nDCG@5, ndcg_cut_5 are the same measure"),
        ("evaluate a.trec -q q.txt --topics list.jsonl -o x.html", 3, "list.jsonl:1: this is not"),
        ("evaluate a.trec -q q.txt --show equivalence_p", 2, "has no effect without"),
        ("evaluate a.trec -q q.txt --show ci", 2, "has no effect without"),
        ("evaluate a.trec -q q.txt --alpha .01", 2, "or --set best=set"),
        ("evaluate a.trec b.trec -q q.txt --names a=b", 2, "two systems are named 'b'"),
        ("evaluate a.trec -q q.txt --names a=", 2, "'a' is given no name"),
        ("evaluate . -q q.txt", 3, "this is a folder"),
        ("evaluate a.trec -q q.txt --per-topic --format latex", 2, "--format csv"),
        ("evaluate a.trec -q q.txt -m nDCG(dcg=2)@5", 2, "one of log2, exp-log2, not 2"),
        ("evaluate a.trec -q q.txt -m P(rel=high)@5", 2, "an integer, not 'high'"),
        ("evaluate q.parquet -q q.txt", 3, "this Parquet file cannot be read"),
        ("evaluate double.csv -q q.txt", 3, "double.csv:1: the column 'score' is repeated"),
        ("search -i i q --mu 3", 2, "no such option: --mu. Set keys"),
        ("search -i i q --helpp", 2, "did you mean `--help`?"),
        ("evaluate wide.csv -q q.txt", 3, "wide.csv:3: this is not CSV"),
        ("evaluate twice.csv -q q.txt", 3, "document d1 of topic 1 is repeated"),
        ("evaluate nan.csv -q q.txt", 3, "the score of row 2 is not a finite number"),
        ("evaluate nameless.csv -q q.txt", 3, "needs a column docno"),
        ("evaluate odd.json -q q.txt", 3, "{query: {document: score}}"),
        ("evaluate head.csv -q q.txt", 3, "the run file is empty"),
        ("evaluate three.txt -q q.txt", 3, "ranks from 0 on, or scores"),
        ("evaluate twice.json -q q.txt", 3, "the key 'd1' is repeated"),
        ("evaluate a.trec a.seed1.trec a.seed2.trec -q q.txt --set pool_seeds=1", 2, "a is not"),
        ("check x.ir-metadata.yml", 2, "these are metadata, not runs"),
        ("experiment none.yaml", 3, "unknown task 'None'"),
        ("search no cats --tag x", 2, "without --output"),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1 --set topics.filed=a -o t", 2, "filed"),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1 --set system.tune= -o t", 2, "no effect"),
        ("tune -i no -t topics.tsv -q q.txt -g kk=1 -o t", 2, "--grid kk: unknown"),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1 --folds 1 -o t", 2, "--folds: should be at"),
        ("evaluate other.trec -q q.txt", 3, "None of the run's topics"),
        ("reproduce b.trec second.trec -q q.txt", 3, "do not share any topics"),
        ("reproduce a.trec b.trec -q q.txt --persistence 1.5", 2, "--persistence"),
        ("show a.trec b.trec other.trec --topic 1", 2, "at most two runs"),
        ("index -o i --engine memory", 2, "name a SOURCE"),
        ("index pets.jsonl -o i --engine dense", 2, "--encoder"),
        ("index pets.jsonl -o i --engine memory --encoder minilm", 2, "--engine memory"),
        ("index --weights no.jsonl -o i --engine memory", 3, "no.jsonl: no such file"),
        ("index --weights void.jsonl -o i --engine memory", 3, "it contains no documents"),
        ("index empty -o i --engine memory", 3, "none of the 0 files in this folder"),
        ("search -i no cats -t topics.tsv -o r.trec", 2, "'cats' has no effect with --topics"),
        ("rerank -r a.trec -t topics.tsv -m overlap -o r.trec", 2, "--index or --corpus"),
        ("rerank -r a.trec -t topics.tsv -m no -c pets.jsonl -o r", 2, "unknown reranker"),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1,2 -g k1=3 -o t", 2, "once per name"),
        ("tune -i no -t topics.tsv -t a -q q.txt -q b -q c -g k1=1 -o t", 2, "as many --qrels"),
        ("tune -i no -t topics.tsv -q q.txt -g k1 -o t", 2, "NAME=VALUES"),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1 -m nDCG@9 --depth 5 -o t", 2, "more documents"),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1 --set folds=[ -o t", 2, "--set folds=["),
        ("tune -i no -t topics.tsv -q q.txt -g k1=1 --set system.index=j -o t", 2, "no effect"),
        (f"submit a.trec -o s --layout longeval {OURS}", 2, "SNAPSHOT=RUN"),
        (f"submit a.trec -o s {OURS}", 3, "10 or more documents"),
        (f"submit large.trec -o s {OURS} --set a=[", 2, "--set a=["),
        ("verify pets.jsonl", 3, "this is not a complete ZIP file"),
        ("new my-Ümlaut --plugin", 2, "cannot be a package's name"),
        (
            "encode -m minilm --spans pets.jsonl --sparse -o v",
            2,
            "--spans has no effect with --sparse",
        ),
        ("deepct expand -m no -c pets.jsonl -o -", 2, "--weights"),
        (f"deepct evaluate {DEMO} --set held_out.test=0 --set held_out.share=0", 2, "not hold out"),
        ("annotations agreement neither.csv", 3, "neither.csv:1: the columns rating and rank"),
        ("annotations agreement blank.csv", 3, "neither ratings nor ranks"),
        ("annotations agreement ratings.csv --mean-ranks", 2, "without ranks"),
        ("annotations agreement ratings.csv --unigrams --level interval", 2, "nominal"),
        ("known-item retrieve -m minilm -o r.trec", 2, "--spans or --contexts"),
        ("known-item retrieve -m x --contexts relic r --depth 7 -o s.json", 2, "submission has"),
        ("known-item retrieve -m x --contexts pools r -o s.json", 2, "no form of a submission"),
        ("known-item retrieve -m x --contexts relics r -o r.trec", 2, "did you mean `relic`?"),
        ("literary-evidence retrieve -m minilm --relic r --depth 7 -o s.json", 2, "submission has"),
        ("literary-evidence retrieve -m minilm --relic=r --depth 7 -o s.json", 2, "submission has"),
        ("annotations proxy-score --key pets.jsonl", 2, "choices to score are missing"),
        ("complementary-evidence mnli12 q.txt --shares 1,2 --output q.jsonl", 2, "comma-separated"),
        ("complementary-evidence mnli12 q.txt --shares .5,.9,0 --output q.jsonl", 2, "--shares"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_writes_nothing(line, code, told, capsys):
    before = sorted(Path().rglob("*"))
    assert (main(shlex.split(line)), told) == (code, told), capsys.readouterr().err
    shown = " ".join(capsys.readouterr().err.split())
    assert told in shown, shown
    assert sorted(Path().rglob("*")) == before
