"""Work on a Ray cluster; one of its nodes is killed in the middle."""

import ctypes
import signal
import sys
import threading
import time

import pytest
from fake_work import FakeWork, build, digest

from adducir.core.errors import MachineError
from adducir.core.executors import Execution, RayTasks
from adducir.core.processes import keeping_fault_handlers
from adducir.indexes import jvm


@pytest.fixture
def cluster(monkeypatch):
    pytest.importorskip("ray")
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        yield made
    finally:
        with keeping_fault_handlers():
            ray.shutdown()
            made.shutdown()


@pytest.mark.slow
def test_a_node_is_killed_in_the_middle(cluster, tmp_path):
    wanted = digest(build(tmp_path / "here", FakeWork(count=300)))
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    work = FakeWork(count=300, seconds=0.2, folder=tmp_path)
    lost = threading.Event()

    def kill():
        begun = tmp_path / "begun.txt"
        # When all three work.
        while not begun.exists() or len({line.split()[1] for line in begun.open()}) < 3:
            time.sleep(0.05)
        cluster.remove_node(nodes[1], allow_graceful=False)
        if not (tmp_path / "x").exists():  # in the middle: what the node had is made by others
            lost.set()

    killer = threading.Thread(target=kill)
    killer.start()
    built = build(tmp_path / "x", work, Execution(ray=cluster.address))
    killer.join()
    assert lost.is_set()
    assert digest(built) == wanted


def test_handlers_of_faults_stay_those_of_a_java_virtual_machine(cluster, tmp_path):
    def handler():
        action = ctypes.create_string_buffer(256)
        ctypes.CDLL(None).sigaction(signal.SIGSEGV, None, action)
        return action.raw[:8]  # its address

    jvm.java_class("java.lang.System")
    before = handler()
    with RayTasks(cluster.address) as tasks:
        assert handler() == before
        assert tasks.call(str(tmp_path), len, "abc") == 3
    assert handler() == before


def test_a_cluster_that_is_not_there(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(MachineError, match=r"cannot connect to a Ray cluster at 127\.0\.0\.1:1"):
        build(tmp_path / "x", FakeWork(), Execution(ray="127.0.0.1:1"))
