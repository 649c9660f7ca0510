"""Selection in shards: what workers get, and questions from files, from several, and from pipes."""

import os
import threading
from pathlib import Path

import pytest
from some_questions import some_questions

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.studies.complementary_evidence.record_files import questions_in, write_questions
from adducir.studies.complementary_evidence.selectors.bm25 import BM25Selection
from adducir.studies.complementary_evidence.selectors.work import SelectionWork, selected_by_shards


def work_of(*paths):
    return SelectionWork(None, questions_in(paths), BM25Selection(analysis="split"), size=2)


def test_a_question_of_two_files_is_refused(tmp_path):
    for name, count in (("a", 3), ("b", 1)):
        write_questions(some_questions(count), tmp_path / name)
    work = work_of(tmp_path / "a", tmp_path / "b")
    with pytest.raises(InputError, match=r"'q0-0' comes twice"), selected_by_shards(work):
        pass
    with (tmp_path / "b").open("w") as file:
        file.write('\n{"id": 1}\n')
    with pytest.raises(InputError, match="has no 'question'") as found, selected_by_shards(work):
        pass
    assert (found.value.path, found.value.line) == (tmp_path / "b", 2)


def test_questions_may_come_through_a_pipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_questions(some_questions(70), Path("file.jsonl"))
    os.mkfifo("pipe")
    words = [
        "complementary-evidence",
        "select",
        "--model",
        "bm25",
        "--set",
        "analysis=split",
        "--questions",
    ]
    writer = threading.Thread(
        target=lambda: Path("pipe").write_bytes(Path("file.jsonl").read_bytes())
    )
    writer.start()
    assert main([*words, "pipe", "-o", "from-pipe.jsonl"]) == 0
    writer.join()
    assert main([*words, "file.jsonl", "-o", "from-file.jsonl"]) == 0
    assert Path("from-pipe.jsonl").read_bytes() == Path("from-file.jsonl").read_bytes()
