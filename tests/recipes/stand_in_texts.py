"""Stand-ins for the papers' data: a few made-up texts in the official files' layouts."""

import bz2
import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tiny import WORDS

_WORDS = [word for word in WORDS if word.isalpha() and len(word) > 1]
_RARE = [a + b + c for a in _WORDS[:20] for b in "rstv" for c in ("ad", "en", "ig", "ov")]
STOPWORDS = "a an and be because for in is not of on should the to"


def text(draw: random.Random, sentences: int = 1, words: int = 9) -> str:
    found = []
    for _ in range(sentences):
        chosen = [draw.choice(_RARE if draw.random() < 0.3 else _WORDS) for _ in range(words)]
        found.append(" ".join(chosen).capitalize())
    return ". ".join(found) + "."


def _dump(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def _lines(path: Path, records: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def _answer(draw: random.Random) -> str:
    return f"{text(draw, 2)} For example, {text(draw, 1, 8).lower()} {text(draw, 2)}"


def exemplification(study: Path) -> None:
    draw = random.Random(1)
    for part, count in (("train", 100), ("dev", 12)):
        records = [
            {"id": f"{part}{n}", "input": text(draw), "output": [{"answer": _answer(draw)}]}
            for n in range(count)
        ]
        _lines(study / f"eli5-{part}-kilt.jsonl", records)
    (study / "books").mkdir()
    for number in range(20):
        book = "\n\n".join(_answer(draw) for _ in range(3))
        (study / f"books/book{number}.txt").write_text(book, encoding="utf-8")


def literary(study: Path) -> None:
    draw = random.Random(2)
    for part, books in (("train", 10), ("val", 2)):
        data = {}
        for book in range(books):
            sentences = [text(draw) for _ in range(40)]
            quotes = {}
            for number in range(8):
                length = number % 3 + 1
                sides = ([text(draw) for _ in range(4)] for _ in "lr")
                left, right = sides
                quotes[f"{part}{book}{number}"] = [left, 4 * number, length, right]
            starts = {f"{n}_sentence": list(range(41 - n)) for n in range(1, 6)}
            data[f"{part} book {book}"] = {
                "quotes": quotes, "sentences": sentences, "candidates": starts,
            }  # fmt: skip
        _dump(study / f"RELiC/{part}.json", data)
    _sim(study / "sim", draw)


def _sim(folder: Path, draw: random.Random) -> None:
    """SIM's checkpoint and word pieces, as its authors' archive has them."""
    import torch
    from sentencepiece import SentencePieceTrainer

    folder.mkdir()
    pieces = folder / "sim.sp.30k"
    SentencePieceTrainer.train(
        sentence_iterator=(text(draw, 2).lower() for _ in range(200)),
        model_prefix=str(pieces),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    names = [line.split("\t")[0] for line in pieces.with_suffix(".30k.vocab").open()]
    rows = {"embedding.weight": torch.randn(len(names), 6, generator=torch.manual_seed(0))}
    vocabulary = {name: number for number, name in enumerate(names)}
    torch.save({"state_dict": rows, "vocab_words": vocabulary}, folder / "sim.pt")


def complementary(study: Path) -> None:
    """HotpotQA's questions, its abstracts of Wikipedia as they unpack, and MultiNLI."""
    draw = random.Random(3)
    titles = [f"{one} {two}".title() for one in _WORDS[:9] for two in _WORDS[9:18]]
    pages = {title: [f"{title} {text(draw)}", f" {text(draw)}"] for title in titles}
    for name, count in (("train_v1.1", 60), ("dev_fullwiki_v1", 12)):
        questions = []
        for number in range(count):
            some = draw.sample(titles, 10)
            questions.append(
                {
                    "_id": f"{name}{number}",
                    "question": f"{some[0]} {text(draw)} {some[1]}?",
                    "answer": "yes",
                    "type": "bridge",
                    "level": "hard",
                    "supporting_facts": [[some[0], 0], [some[1], 1]],
                    "context": [[title, pages[title]] for title in some],
                }
            )
        _dump(study / f"hotpot_{name}.json", questions)
    folder = study / "wikipedia-abstracts/AA"
    folder.mkdir(parents=True)
    abstracts = [
        json.dumps({"id": str(n), "url": "", "title": title, "text": sentences})
        for n, (title, sentences) in enumerate(pages.items())
    ]
    (folder / "wiki_00.bz2").write_bytes(bz2.compress(("\n".join(abstracts) + "\n").encode()))
    labels = ("entailment", "neutral", "contradiction")
    for part, count in (("train", 40), ("dev_matched", 10), ("dev_mismatched", 10)):
        pairs = []
        for number in range(count):
            premise = text(draw, 1, 14)
            for label in labels:
                pairs.append(
                    {
                        "annotator_labels": [label],
                        "genre": "fiction",
                        "gold_label": label,
                        "pairID": f"{part}{number}{label[0]}",
                        "promptID": f"{part}{number}",
                        "sentence1": premise,
                        "sentence2": text(draw, 1, 14),
                    }
                )
        _lines(study / f"multinli_1.0_{part}.jsonl", pairs)


def _kilt(study: Path, task: str, **counts: int) -> None:
    """KILT's knowledge source and a task's files; the test part has no output."""
    draw = random.Random(4)
    folder = study / "data/hindsight"
    pages = []
    for number in range(60):
        title = text(draw, 1, 2)[:-1]
        body = [f"{text(draw, 3)}\n", "Section::::Use.\n", f"{text(draw, 3)}\n"]
        pages.append(
            {
                "_id": str(number),
                "wikipedia_id": str(number),
                "wikipedia_title": title,
                "text": [f"{title}\n", *body],
            }
        )
    _lines(folder / "kilt_knowledgesource.json", pages)
    for part, count in counts.items():
        records = []
        for number in range(count):
            page = draw.choice(pages)
            where = draw.choice([1, 3])
            place = {
                "wikipedia_id": page["wikipedia_id"],
                "title": page["wikipedia_title"],
                "start_paragraph_id": where,
                "start_character": 0,
                "end_paragraph_id": where,
                "end_character": 30,
                "bleu_score": 1.0,
            }
            answer = {"answer": page["text"][where][:40], "provenance": [place]}
            # With these ids some of the few training contexts fall into validation.
            name, input_ = str(number - 15 * 10**17 - 1000 * (part != "train")), text(draw)
            if task == "wow":
                name, input_ = f"turns-{part}{number // 2}_{number % 2}", f"{input_}\n{text(draw)}"
            record = {"id": name, "input": input_, "output": [answer], "meta": {}}
            if part.startswith("test"):
                del record["output"]
            records.append(record)
        _lines(folder / f"{task}-{part}-kilt.jsonl", records)


def hindsight_wow(study: Path) -> None:
    _kilt(study, "wow", train=24, dev=8, test_without_answers=3)


def hindsight_nq(study: Path) -> None:
    _kilt(study, "nq", train=24, dev=8)


def hindsight_nlgen(study: Path) -> None:
    draw = random.Random(5)
    folder = study / "data/hindsight"
    folder.mkdir(parents=True)
    passages = [text(draw, 3) for _ in range(150)]
    collection = "".join(f"{number}\t{one}\n" for number, one in enumerate(passages))
    (folder / "collection.tsv").write_text(collection, encoding="utf-8")
    for part, count in (("train", 24), ("dev", 16)):
        table: dict[str, dict[str, Any]] = {}
        for number in range(count):
            some = draw.sample(passages, 10)
            row = {
                "answers": [some[0][:20]],
                "passages": [
                    {"is_selected": int(n == 0), "url": "http://a", "passage_text": one}
                    for n, one in enumerate(some)
                ],
                "query": text(draw, 1, 5),
                "query_id": number + 1000 * (part == "dev"),
                "query_type": "DESCRIPTION",
                "wellFormedAnswers": [some[0][:50]] if number % 8 else "[]",
            }
            for name, value in row.items():
                table.setdefault(name, {})[str(number)] = value
        data = json.dumps(table).encode()
        (folder / f"{part}_v2.1.json.gz").write_bytes(gzip.compress(data))
    folder = study / ".ir_datasets/dpr-w100"
    folder.mkdir(parents=True)
    rows = ["id\ttext\ttitle", *(f"{n}\t{one}\tA title" for n, one in enumerate(passages))]
    (folder / "docs.tsv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    questions = []
    for _ in range(40):
        some = [{"passage_id": str(n), "score": 1000} for n in draw.sample(range(150), 4)]
        parts = {"positive_ctxs": some[:1], "hard_negative_ctxs": some[1:3]}
        parts["negative_ctxs"] = some[3:]
        questions.append({"question": text(draw, 1, 5), "answers": ["cat"], **parts})
    (folder / "nq-train.json.gz").write_bytes(gzip.compress(json.dumps(questions).encode()))


def cacm(study: Path) -> None:
    """Abstracts with topics and judgements, and documents' token weights."""
    draw, folder = random.Random(7), study / "collections/cacm"
    documents = [
        {"docno": f"{n}", "title": text(draw, 1, 4), "abstract": text(draw, 2)} for n in range(70)
    ]
    _lines(folder / "corpus.jsonl", documents)
    lines = [f"{qid}\t{text(draw, 1, 5)}\n" for qid in range(6)]
    (folder / "topics.tsv").write_text("".join(lines), encoding="utf-8")
    judged = [f"{qid} 0 {qid * 3 + n} 1\n" for qid in range(6) for n in range(3)]
    (folder / "qrels.cacm.padded.txt").write_text("".join(judged))
    weights = [{"id": f"{n}", "vector": {"cat": 1 + n % 3, "dog": 1.5}} for n in range(70)]
    _lines(study / "weights/documents/weights.jsonl", weights)


def touche(study: Path) -> None:
    """args.me and Touché as ir_datasets keeps them, pools, four runs and NLTK's stop words."""
    draw = random.Random(6)
    argsme, judged = study / ".ir_datasets/argsme/2020-04-01", study / ".ir_datasets/touche"
    domains = ("debateorg", "debatepedia", "debatewise", "idebate", "parliamentary")
    docnos: list[str] = []
    for domain, name in zip(
        domains, ("debate.org", *domains[1:4], "canadian-parliament"), strict=True
    ):
        arguments = []
        for number in range(24):
            docnos.append(f"S{domain[:8]}-A{number}")
            context = {
                "sourceId": f"S{domain[:8]}",
                "sourceTitle": "Debate",
                "discussionTitle": text(draw, 1, 4)[:-1],
                "sourceDomain": name,
                "acquisitionTime": "2019-04-18T13:32:05Z",
            }
            premise = {
                "text": text(draw, 5),
                "stance": draw.choice(["PRO", "CON"]),
                "annotations": [],
            }
            arguments.append(
                {
                    "id": docnos[-1],
                    "conclusion": text(draw, 1, 5)[:-1],
                    "premises": [premise],
                    "context": context,
                }
            )
        _dump(argsme / f"{domain}.json", {"arguments": arguments})
    for year, first, files in (
        ("2020", 1, ("qrels",)),
        ("2021", 51, ("qrels-relevance", "qrels-quality")),
    ):
        topics, lines, runs = [], list[str](), dict[str, list[str]]()
        pool = []
        for qid in range(first, first + 6):
            more = "<description>D</description><narrative>N</narrative>" * (year == "2020")
            title = text(draw, 1, 4)[:-1]
            topics.append(f"<topic><number>{qid}</number><title>{title}?</title>{more}</topic>")
            some = draw.sample(docnos, 20)
            lines += [f"{qid} 0 {docno} {n % 3}\n" for n, docno in enumerate(some)]
            pool += [f"{qid}\tQ0\t{docno}\t0\t0\ttrectools\n" for docno in some[:2]]
            for measure in ("ndcg", "bpref"):
                draw.shuffle(some)
                runs.setdefault(measure, []).extend(
                    f"{qid} Q0 {docno} {n} {40 - n}.5 best\n" for n, docno in enumerate(some, 1)
                )
        place = judged / year / "task-1"
        place.mkdir(parents=True)
        (place / "queries.xml").write_text(f"<topics>{''.join(topics)}</topics>", encoding="utf-8")
        for file in files:
            (place / f"{file}.qrels").write_text("".join(lines), encoding="utf-8")
        folder = study / "collections/touche"
        (folder / f"runs/{year}").mkdir(parents=True)
        for measure, found in runs.items():
            (folder / f"runs/{year}/best-{measure}.txt").write_text("".join(found))
        (folder / "pools").mkdir(exist_ok=True)
        (folder / f"pools/pool-50-{year}.txt").write_text("".join(pool))
    words = study / "nltk_data/corpora/stopwords"
    words.mkdir(parents=True)
    (words / "english").write_text("\n".join(STOPWORDS.split()) + "\n", encoding="utf-8")
    msmarco = study / ".ir_datasets/msmarco-passage"
    (msmarco / "train").mkdir(parents=True)
    passages = {str(number): text(draw, 2) for number in range(40)}
    queries = {str(number): text(draw, 1, 4)[:-1] for number in range(30)}
    for path, rows in (("collection.tsv", passages), ("train/queries.tsv", queries)):
        lines = [f"{name}\t{row}\n" for name, row in rows.items()]
        (msmarco / path).write_text("".join(lines), encoding="utf-8")
    (msmarco / "irds_version.txt").write_text("v2")
    (msmarco / "train/qrels").write_text("".join(f"{n} 0 {n} 1\n" for n in range(25)))
