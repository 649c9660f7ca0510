"""Nuggets: created, weighed, assigned and scored; the files of nuggetizer and AutoJudge."""

import csv
import json
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from fake_llm import Server, model, said

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.evaluation.score_files import read_scores
from adducir.judges.answers import AnswerCache, converse
from adducir.judges.by_hand import page_for
from adducir.judges.nugget_files import (
    read_assigned,
    read_banks,
    read_responses,
    write_assigned,
    write_banks,
)
from adducir.judges.nugget_samples import corrected_scores, nugget_pairs
from adducir.judges.nuggets import (
    ASSIGNMENTS,
    FAILED,
    PROMPTS,
    SCORES,
    Assigned,
    Bank,
    Nugget,
    NuggetWriter,
    assigning,
    nugget_scores,
    of_documents,
    parsed_nuggets,
    scored,
)
from adducir.judges.prompting import Prompt, open_prompt
from adducir.judges.sampling import draw_documents
from adducir.judges.sheets import Design

TOPICS = {"q1": {"query": "cats"}, "q2": {"query": "dogs", "narrative": "not puppies"}}


def judge(body):
    """Lists each document's words as nuggets; purring is vital; texts support what they contain."""
    text = body["messages"][-1]["content"]
    inside = text[text.find("<document>") : text.rfind("</document>")]
    if "as a JSON array:" in text:
        so_far = json.loads(text.split("as a JSON array:\n")[1].split("\n")[0])
        words = [word for word in inside.split() if word.startswith("fact")]
        return said("sorry!" if "unreadable" in inside else json.dumps([*so_far, *words]))
    if "must contain (vital)" in text:
        return said("maybe" if "fact9" in text else "vital" if "fact1" in text else "okay")
    fact = text.split("Fact: ")[1].split("\n")[0]
    both = fact in inside, fact.upper() in inside
    answer = "support" if both[0] else "partial_support" if both[1] else "not_support"
    return said("It does." if fact == "fact9" else answer)


def test_nuggets_are_listed_window_by_window_and_weighed(cache):
    server = Server(judge)
    texts = {
        "q1": ["fact1 fact2", "</document> fact3", "unreadable", "fact9", "fact1"],
        "q2": ["unreadable"],
    }
    writer, statuses = NuggetWriter(model(retries=0), window=2), Counter()

    def create(cache, **asking):
        talks = [writer.talk(qid, TOPICS[qid], some, statuses) for qid, some in texts.items()]
        return converse(writer.model, talks, cache, **asking)

    banks, asked = create(cache, transport=server.transport)
    assert banks[0] == Bank(
        "q1", "cats", (Nugget("fact1", "vital"), Nugget("fact2", "okay"), Nugget("fact3", "okay"))
    )
    # The window with fact9 is unreadable, so that the list stays as it was.
    assert banks[1].nuggets == ()
    assert statuses == Counter(ok=2 + 3, unparsed=2)
    assert asked.sent == 7
    told = [body["messages"][-1]["content"] for body in server.bodies]
    assert all(text.count("<document>") == text.count("</document>") for text in told)
    assert "not puppies" in " ".join(told)
    with closing(AnswerCache(cache.path, writes=False)) as kept:
        assert create(kept)[0] == banks
    assert len(writer.bound(TOPICS["q1"], texts["q1"])) == 3 + 30


@pytest.mark.parametrize(
    ("answer", "nuggets"),
    [
        ('["a", " b  c ", "a", ""]', ["a", "b c"]),
        ("[]", []),
        ("['a']", None),
        ('Here: ["a"]', None),
        ('{"a": 1}', None),
        ('["a", 2]', None),
        ("", None),
    ],
)
def test_only_an_array_of_texts_is_a_list_of_nuggets(answer, nuggets):
    assert parsed_nuggets(answer, 9) == nuggets
    assert parsed_nuggets('["a", "b", "c"]', 2) == ["a", "b"]


def test_assignments_are_asked_for_one_by_one_and_failures_are_counted(cache):
    bank = tuple(Nugget(f"fact{n}", "vital") for n in (1, 2, 3, 9))
    item, statuses = Assigned("q1", "cats", "fact1 and FACT2", bank, "a"), Counter()
    prompt = open_prompt("assign.yaml", Prompt, PROMPTS)
    talk = assigning(item, model(), prompt, statuses)
    (item,), _ = converse(model(), [talk], cache, transport=Server(judge).transport)
    said = [nugget.assignment for nugget in item.nuggets]
    assert said == ["support", "partial_support", "not_support", "failed"]
    assert statuses == Counter(ok=3, unparsed=1)


def nuggets(*assignments, vital=1):
    return [
        Nugget(str(n), "vital" if n < vital else "okay", assignment)
        for n, assignment in enumerate(assignments)
    ]


def test_scores_are_nuggetizer_s_where_nothing_failed():
    values = nugget_scores(
        nuggets("support", "partial_support", "not_support", "partial_support", vital=2)
    )
    # calculate_nugget_scores of nuggetizer 0.0.6 gives .5, .25, .75 and .5.
    assert list(values.values()) == [0.5, 0.25, 0.75, 0.5, 0.75]
    assert tuple(values) == tuple(SCORES)


def test_what_failed_is_not_0():
    assert nugget_scores(nuggets("support", "failed", "failed"))["all_score"] == 1
    assert nugget_scores(nuggets("failed", "support")) is None
    assert nugget_scores(nuggets("support", vital=0)) is None


def test_of_a_ranking_the_best_document_counts():
    merged = of_documents(
        [
            nuggets("support", "not_support", "failed", "failed"),
            nuggets("failed", "partial_support", "partial_support", "support"),
        ]
    )
    said = [nugget.assignment for nugget in merged]
    assert said == ["support", "partial_support", "failed", "support"]


def test_topics_are_the_same_for_all_systems(tmp_path):
    banks = {qid: nuggets("", "") for qid in ("q1", "q2", "q3")}
    systems = {
        "a": {"q1": nuggets("support", "support"), "q2": nuggets("failed", "support")},
        "b": {"q1": nuggets("not_support", "support"), "q2": nuggets("support", "failed")},
    }
    rows, left_out, failed = scored(systems, banks)
    assert (left_out, failed) == (["q2"], 2)
    assert {row[:2] for row in rows} == {(s, q) for s in "ab" for q in ("q1", "q3")}
    assert [row[3] for row in rows if row[1] == "q3"] == [0.0] * 10
    path = tmp_path / "scores.csv"
    lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_text(f"system,qid,measure,value\n{lines}")
    assert read_scores(path, "x").systems == ("a", "b")
    with pytest.raises(UsageError):
        scored({}, banks)


QUESTION = {"question": "Where?", "answers": {"here": {"answer": "here"}}, "importance": "okay"}
NUGGETIZER = {"query": "cats", "qid": 7, "nuggets": [{"text": "a", "assignment": None}]}
AUTOJUDGE = {
    "query_id": "7",
    "title_query": "cats",
    "format_version": "v3",
    "nugget_bank": {"Where?": {**QUESTION, "sub_nuggets": [{"claim": "inner"}]}},
    "claim_bank": {"It is.": {"claim": "It is.", "query_id": "7"}},
}
RAGTIME = {
    "metadata": {"team_id": "t", "topic_id": "7", "run_id": "r", "run_desc": "d"},
    "nugget_bank": [{**QUESTION, "aggregator_type": "AND"}],
}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (NUGGETIZER, {"a": "vital"}),
        (AUTOJUDGE, {"Where?": "okay", "inner": "vital", "It is.": "vital"}),
        (RAGTIME, {"Where?": "okay"}),
    ],
)
def test_banks_of_others(tmp_path, record, expected):
    path = tmp_path / "bank.jsonl"
    path.write_text(json.dumps(record, indent=1))
    (bank,) = read_banks(path)
    assert bank.qid == "7"
    assert {nugget.text: nugget.importance for nugget in bank.nuggets} == expected
    write_banks([bank], path)
    assert read_banks(path) == [bank]
    assert path.read_text().startswith('{"query": ')


def test_a_folder_of_nugget_documents(tmp_path):
    for qid in ("3", "12"):
        value = {"Why?": ["OR", {"OPEN_ENDED_ANSWER": ["d1"]}]}
        (tmp_path / f"nuggets_{qid}.json").write_text(json.dumps(value))
    assert {bank.qid for bank in read_banks(tmp_path)} == {"3", "12"}
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"none: it does not contain any nuggets"):
        read_banks(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"qid": "1", "nuggets": [{"text": "a"}]}\n{"qid": "1", "nuggets": [{"text": "b"}]}', 2),
        ('{"qid": "1", "nuggets": [{"text": "a", "importance": "essential"}]}', 1),
        ('{"qid": "1", "nuggets": [{"text": null}]}', 1),
        ('{"qid": true, "nuggets": [{"text": "a"}]}', 1),
        ('{"qid": "1", "nuggets": ["a"]}', 1),
        ('{"nuggets": [{"text": "a"}]}', 1),
        ('{"query_id": "1", "nugget_bank": {"a": {}}}', 1),
        ('{"qid": {}, "nuggets": [{"text": "a"}]}', 1),
        ('{"a": 1}', 1),
        ('{"qid": "1", "nuggets": [', 1),
        ("[]", None),
    ],
)
def test_damaged_banks_name_their_line(tmp_path, text, line):
    path = tmp_path / "bank.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_banks(path)
    assert error.value.line == line


def test_a_topic_without_nuggets_is_left_out(tmp_path, capsys):
    banks = [Bank("1", "cats", (Nugget("a", "vital"),)), Bank("2", "dogs", ())]
    path, answers = tmp_path / "bank.jsonl", tmp_path / "answers.jsonl"
    write_banks(banks, path)  # as `create` does where a model lists none
    assert read_banks(path) == banks[:1]
    answers.write_text("".join(json.dumps({"qid": q, "answer": "x"}) + "\n" for q in "12"))
    (tmp_path / "llm.yaml").write_text("kind: llm\nendpoint: http://localhost:1/v1\nname: m\n")
    words = ["assign", answers, "-n", path, "-l", tmp_path / "llm.yaml", "-o", tmp_path / "a.jsonl"]
    assert main(["nuggets", *map(str, words), "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "1 topic; 1 topic without nuggets left out" in said
    assert "1 response to topics without nuggets left out" in said


def report(**more):
    meta = {"team_id": "t", "run_id": "r1", "narrative_id": 5}
    return {"metadata": meta, "references": ["d1"], **more}


def test_responses_of_others(tmp_path):
    path = tmp_path / "responses.jsonl"
    sentences = [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": {"d": 0.5}}]
    lines = [
        report(responses=sentences),
        {"metadata": {"run_id": "r2", "request_id": "5"}, "answer": sentences},
        {"topic_id": "5", "answer": sentences},
        {"qid": "6", "answer": "One. Two."},
        {"id": "7", "input": "?", "output": [{"provenance": []}, {"answer": "Two."}]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_responses({path: "mine"}) == [
        ("r1", "5", "One. Two."),
        ("r2", "5", "One. Two."),
        ("mine", "5", "One. Two."),
        ("mine", "6", "One. Two."),
        ("mine", "7", "Two."),
    ]
    out = tmp_path / "reports.jsonl"
    lines[-1]["output"][1]["provenance"] = [{"wikipedia_id": "d9"}]
    lines += [
        {"topic_id": "8", "responses": sentences, "references": ["d0"]},
        {"qid": "9", "answer": [{"text": "A.", "citations": {"d1": 0.1, "d2": 0.9}}]},
        {"qid": "10", "answer": [{"text": "A.", "citations": [-1, 0, 7]}], "references": ["d0"]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    before = read_responses({path: "responses"})
    assert main(["nuggets", "responses", str(path), "--team", "t2", "-o", str(out)]) == 0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert read_responses({out: "x"}) == before
    assert [one["metadata"].get("team_id") for one in written][1:3] == ["t2", "t2"]
    cited = [[part["citations"] for part in one["responses"]] for one in written]
    assert cited == [
        [["d1"], ["d"]],
        *[[["0"], ["d"]]] * 2,
        [[]],
        [["d9"]],
        [["d0"], ["d"]],
        [["d2", "d1"]],
        [["d0"]],
    ]
    assert written[5]["references"] == ["d0", "d"]
    again = tmp_path / "again.jsonl"
    assert main(["nuggets", "responses", str(out), "-o", str(again)]) == 0
    assert again.read_text() == out.read_text()
    assert main(["nuggets", "responses", str(out), str(again), "-o", f"{path}l.jsonl"]) == 3
    for wrong in (
        report(),
        {"answer": "x"},
        report(answer=[{"words": "x"}]),
        report(answer=3),
        {"metadata": "r", "answer": "x"},
    ):
        path.write_text(json.dumps(lines[0]) + "\n" + json.dumps(wrong))
        with pytest.raises(InputError) as error:
            read_responses({path: "mine"})
        assert error.value.line == 2
    path.write_text("\n".join([json.dumps(lines[0])] * 2))
    with pytest.raises(InputError, match="repeated"):
        read_responses({path: "mine"})


def test_assignments_come_back(tmp_path):
    path = tmp_path / "assigned.jsonl"
    items = [
        Assigned("q", "cats", "a text", tuple(nuggets("support", "failed")), "run"),
        Assigned("q", "cats", "a text", tuple(nuggets("support", "not_support")), docno="d1"),
    ]
    write_assigned(items, path)
    assert read_assigned({path: "x"})[0] == items
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["run_id"], first["response_length"], second["docid"]) == ("run", 2, "d1")
    path.write_text(path.read_text().replace("not_support", "unsupported"))
    with pytest.raises(InputError, match="'unsupported'") as error:
        read_assigned({path: "x"})
    assert error.value.line == 2


FACTS = [("f1", "vital", "support"), ("f2", "okay", "not_support")]


def assigned(*facts, qid="1", run="x", **more):
    names = ("text", "importance", "assignment")
    listed = [dict(zip(names, fact, strict=True)) for fact in facts or FACTS]
    return json.dumps({"qid": qid, "run_id": run, "nuggets": listed, **more}) + "\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (assigned() + assigned(), ":2: topic 1 of x is repeated"),
        (assigned(FACTS[0]), "a.jsonl:1: the nuggets of topic 1 for x"),
        (assigned(FACTS[0], FACTS[0], FACTS[1]), "are not those of the bank"),
        (assigned(("f9", "vital", "support"), FACTS[1]), "such as 'f1'"),
        (assigned(("f1", "okay", "support"), FACTS[1]), "such as 'f1'"),
        (assigned(("f1", "essential", "support"), FACTS[1]), "not 'essential'"),
        (assigned(("f1", "vital", "much"), FACTS[1]), "at `nuggets.0.assignment`: should be"),
        (assigned(qid="7"), "a.jsonl:1: topic 7 has no nuggets in"),
        (assigned((None, "vital", "support"), FACTS[1]), "a.jsonl:1: at `nuggets.0.text`"),
    ],
)
def test_assignments_of_other_nuggets_are_refused(tmp_path, capsys, lines, message):
    bank = [{"text": text, "importance": importance} for text, importance, _ in FACTS]
    (tmp_path / "bank.jsonl").write_text(json.dumps({"qid": "1", "nuggets": bank}) + "\n")
    (tmp_path / "a.jsonl").write_text(lines)
    parts = ["nuggets", "score", tmp_path / "a.jsonl", "-n", tmp_path / "bank.jsonl"]
    assert main([*map(str, parts), "-o", str(tmp_path / "s.csv")]) == 3
    assert message in " ".join(capsys.readouterr().err.split())


def test_nuggets_are_given_once_in_any_order(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text(assigned() + assigned(*FACTS[::-1], run="y"))
    output, paths = tmp_path / "s.csv", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    paths[1].write_text(assigned())
    assert main(["nuggets", "score", *map(str, paths), "-o", str(output)]) == 3
    assert "b.jsonl:1: topic 1 of x is repeated" in capsys.readouterr().err
    paths[1].write_text("")  # a file that is cut off, or another system that failed
    assert main(["nuggets", "score", *map(str, paths), "-o", str(output)]) == 3
    assert "b.jsonl: it does not contain" in capsys.readouterr().err
    assert main(["nuggets", "score", str(paths[0]), "-o", str(output)]) == 0
    values = output.read_text().replace("\ny,", "\nx,").splitlines()[1:]
    assert values[:5] == values[5:]


def many_assignments(seed, topics=30, facts=8, bias=0.5):
    """What people think of two systems' answers, and a model that favours the first."""
    rng, truth, items = np.random.default_rng(seed), {}, []
    for qid in map(str, range(topics)):
        importance = rng.permutation([1] * 3 + [0] * (facts - 3))
        for system, chance in (("a", 0.35), ("b", rng.uniform(0.2, 0.7))):
            people = rng.choice(3, facts, p=[1 - chance, chance / 2, chance / 2])
            truth[qid, system] = people
            model = np.where(rng.random(facts) < bias * (system == "a"), 2, people)
            model[rng.random(facts) < 0.02] = -1
            listed = [
                Nugget(f"f{n}", ("okay", "vital")[v], (*ASSIGNMENTS, FAILED)[m])
                for n, (v, m) in enumerate(zip(importance, model, strict=True))
            ]
            items.append(Assigned(qid, "cats", "text", tuple(listed), system))
    return truth, items


def judged_by_people(truth, pairs, design):
    drawn = pairs.filter(design.pairs["drawn"])
    grades = [
        int(truth[row["qid"], row["system"]][int(row["fact"][1:])])
        for row in drawn.iter_rows(named=True)
    ]
    return drawn.select("qid", "docno").with_columns(grade=pl.Series(grades, dtype=pl.Int64))


def values_of(rows, measure):
    """(systems, topics) of a measure."""
    by = {(system, qid): value for system, qid, name, value in rows if name == measure}
    return [np.array([v for (name, _), v in by.items() if name == system]) for system in "ab"]


def test_corrected_scores_cover_where_a_biased_model_does_not():
    """The mean difference of systems, over topics and samples: b is better by .1, say people."""
    covered, alone, draws = Counter(), Counter(), 80
    for seed in range(draws):
        truth, items = many_assignments(seed)
        banks = {item.qid: item.nuggets for item in items}
        pairs = nugget_pairs(items)
        design = Design(draw_documents(pairs.select("qid", "docno"), 120, seed), seed)
        rows, _ = corrected_scores(items, banks, design, judged_by_people(truth, pairs, design))
        systems = {
            name: {item.qid: item.nuggets for item in items if item.system == name} for name in "ab"
        }
        for measure, true in (("strict_vital_score", 0.05), ("vital_score", 0.075)):
            for values, counter in ((rows, covered), (scored(systems, banks)[0], alone)):
                first, second = values_of(values, measure)
                gap = second - first
                reach = 2.045 * gap.std(ddof=1) / np.sqrt(len(gap))
                counter[measure] += abs(gap.mean() - true) <= reach
    assert min(covered.values()) >= 0.9 * draws
    assert max(alone.values()) <= 0.2 * draws


def test_with_all_nuggets_judged_corrected_scores_are_people_s(tmp_path, capsys):
    truth, items = many_assignments(3, topics=4, facts=5)
    items.append(Assigned("0", "cats", " ", items[0].nuggets, "silent"))
    truth["0", "silent"] = np.zeros(5, dtype=int)
    write_assigned(items, tmp_path / "a.jsonl")
    sheet, out = tmp_path / "people.csv", tmp_path / "s.csv"
    words = ["nuggets", "sample", tmp_path / "a.jsonl", "-n", "40", "-o", sheet]
    assert main([str(word) for word in words]) == 0
    pairs = nugget_pairs(items)
    by_id = {
        (row["qid"], row["docno"]): truth[row["qid"], row["system"]][int(row["fact"][1:])]
        for row in pairs.iter_rows(named=True)
    }
    with sheet.open() as file:
        asked = list(csv.DictReader(file))
    assert len(asked) == 40 and {row["description"] for row in asked} == {"cats"}
    page = page_for(sheet, None, None, "t")
    assert page.choices == ((0, "not"), (1, "in part"), (2, "in full"))
    assert page.items[0].heading == asked[0]["fact"] and page.items[0].text == "text"
    for row in asked:
        row["grade"] = by_id[row["qid"], row["docno"]]
    with sheet.open("w") as file:
        writer = csv.DictWriter(file, asked[0])
        writer.writeheader()
        writer.writerows(asked)
    words = ["nuggets", "score", tmp_path / "a.jsonl", "--set", f"people={sheet}", "-o", out]
    assert main([str(word) for word in words]) == 0
    assert "corrected by 40 nuggets that people judged" in capsys.readouterr().err
    said = {
        name: {
            item.qid: [
                replace(nugget, assignment=ASSIGNMENTS[grade])
                for nugget, grade in zip(item.nuggets, truth[item.qid, name], strict=True)
            ]
            for item in items
            if item.system == name
        }
        for name in ("a", "b", "silent")
    }
    rows, _, _ = scored(said, {item.qid: item.nuggets for item in items})
    with out.open() as file:
        ours = {
            (r["system"], r["qid"], r["measure"]): float(r["value"]) for r in csv.DictReader(file)
        }
    assert ours == pytest.approx({row[:3]: row[3] for row in rows})
    for wrong, message in (
        (sheet.read_text().replace(",2\n", ",3\n"), "is 3, not 0, 1 or 2"),
        (sheet.read_text(), "drawn from other assignments"),
    ):
        sheet.write_text(wrong)
        assert main([str(word) for word in [*words, "--force"]]) == 3
        assert message in " ".join(capsys.readouterr().err.split())
        sheet.write_text(sheet.read_text().replace(",3\n", ",2\n"))
        write_assigned(items[:-2], tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match="its scores are not sums"):
        nugget_pairs([Assigned("0", "cats", "text", items[0].nuggets, docno="d")])
