"""Qrels: their shapes, their errors, and several files taken together."""

import pytest

from adducir.core.errors import InputError
from adducir.corpora.qrels import load_qrels

NAME = "q.txt"


def problem(*paths):
    with pytest.raises(InputError) as caught:
        load_qrels(paths if len(paths) > 1 else paths[0])
    return caught.value


THOUSAND = "".join(f"1 0 d{i} 1\n" for i in range(999))


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("1 0 a 1\n1 0 b 1.5\n", 2, "1.5"),
        ("1 0 a 1\n1 0 b yes\n", 2, "yes"),
        ("1 0 a 1_0\n", 1, "1_0"),
        *((f"1 0 a {grade}\n", 1, "too large") for grade in (2**53, 2**53 + 1, 10**20 - 1)),
        ("1 0 a 1e400\n", 1, "not an integer"),
        (THOUSAND + "1 0 x\ty 1\n", 1000, "has 5,"),
        ("1 0 a 1\n1 0 b\n", 2, "has 3,"),
        ("1 0 a 1\n\n1 0 b c 1\n", 3, "has 5,"),
        ("1 Q0 a 1 2.5 tag\n", 1, "run"),
        ("1 0 a 1\n\n2 0 a 1\n1 0 a 1\n\n", 4, "line 1"),
        ("1 0 a 1\n1 0 caf\u00e9 1\n".encode("latin-1"), 2, "0xe9"),
        ("", None, "empty"),
        ("qid,docno,label\n1,a,x\n", 2, "'x'"),
        ("qid,label\n1,1\n", 1, "needs a column"),
        ("1\ta\t1\n1\tb\n", 2, "has 2,"),
        ('{"1": 2}', 1, "not qrels"),
        ("qid,docno,label\n1,a,nan\n", 2, "'nan'"),
        ('{"1": {"a": [1]}}', None, "'[1]'"),
        ('{"1": {"a": 1}, "1": {"b": 1}}', 1, "repeated"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, text, line, word):
    error = problem(write(text))
    assert (error.line, error.path.name) == (line, "q.txt")
    assert word in error.what


def test_several_files(write):
    one, two = write("1 0 a 1\n", "one"), write("2 0 a 1\n\n1 0 b 0\n", "two")
    qrels = load_qrels([one, two])
    assert qrels.frame.rows() == [("1", "a", 1), ("2", "a", 1), ("1", "b", 0)]
    assert qrels.source == f"{one} + {two}"
    for grade in (0, 1):
        three = write(f"5 0 x 1\n1 0 b {grade}\n", "three")
        error = problem(one, two, three)
        assert (error.path, error.line) == (three, 2)
        assert f"{two}:3" in error.what
    assert (problem(one, one).path, problem(one, one).line) == (one, 1)
    assert "folder" in problem(one.parent).what
    with pytest.raises(InputError, match="qrels are missing"):
        load_qrels([])
