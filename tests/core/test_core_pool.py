"""Processes that do tasks: what is lost, what fails, and who takes a dead one's place."""

import os
import signal
import time

import pytest

from adducir.core.cores import cores, share_cores, sharing
from adducir.core.errors import InputError
from adducir.core.pool import Retiring, WorkerPool


class Handle:
    def __init__(self, number):
        self.number = number

    def __call__(self, task):
        kind, value = task
        if kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "fail":
            raise InputError("it is wrong.", path="file", line=3)
        if kind == "odd":
            raise OddError(print)
        if kind == "wait":
            time.sleep(value)
        answer = (value, os.getpid())
        return Retiring(answer) if kind == "last" else answer


class OddError(Exception):
    """Has no pickle."""

    def __init__(self, what):
        super().__init__(lambda: what)


def drained(pool, count):
    return [pool.next() for _ in range(count)]


def test_a_lost_task_is_named_and_the_others_are_done():
    tasks = [("do", 1), ("die", 2), ("do", 3), ("die", 4), ("do", 5)]
    with WorkerPool(1, Handle) as pool:
        for task in tasks:
            pool.submit(task)
        found = drained(pool, 5)
        assert [(one.task, one.is_lost) for one in found] == [
            (task, task[0] == "die") for task in tasks
        ]
        assert len({one.result[1] for one in found if one.result}) == 3
        with pytest.raises(ValueError, match="no task to wait for"):
            pool.next()


def test_errors_come_with_their_place_and_a_retiring_process_is_replaced():
    with WorkerPool(1, Handle) as pool:
        for task in [("do", 0), ("fail", 1), ("odd", 2), ("last", 3), ("do", 4)]:
            pool.submit(task)
        first, wrong, odd, last, after = drained(pool, 5)
    assert isinstance(wrong.error, InputError)
    assert wrong.error.paragraph() == "file:3: it is wrong."
    assert "test_core_pool.py" in wrong.error.__notes__[0]
    assert isinstance(odd.error, RuntimeError)
    assert str(odd.error).startswith("OddError: ")
    assert first.result[1] == last.result[1] != after.result[1]


def test_closing_waits_or_kills():
    pool = WorkerPool(2, Handle)
    pool.submit(("wait", 60))
    pool.submit(("do", 1))
    assert pool.next().result[0] == 1
    began = time.monotonic()
    pool.close(kill=True)
    assert time.monotonic() - began < 30


def shared(number):
    share_cores(3)
    return lambda task: (sharing(), os.environ["RAYON_NUM_THREADS"])


def sharing_inside(number):
    """A process that shares the cores with another, and starts three itself."""
    share_cores(2)

    def handle(task):
        with WorkerPool(1, shared) as inside:
            inside.submit(task)
            return inside.next().result

    return handle


@pytest.mark.parametrize("given", [None, 1234])
def test_processes_of_processes_share_what_these_have(monkeypatch, given):
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    if given:
        monkeypatch.setenv("RAYON_NUM_THREADS", str(given))
    with WorkerPool(1, sharing_inside) as pool:
        pool.submit(1)
        assert pool.next().result == (6, str(given or max(1, cores() // 6)))
    assert sharing() == 1
