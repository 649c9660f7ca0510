"""Shards on a Ray cluster of three nodes, one of which is killed hard in the middle."""

import sys
import threading
import time
from pathlib import Path

import pytest
from fake_work import FakeWork, build, digest

from adducir.core.errors import IncompleteError, MachineError
from adducir.core.sharding.execution import Execution

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(monkeypatch):
    pytest.importorskip("ray")
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", ":".join([str(Path(__file__).parent), *sys.path]))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


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
        lost.set()

    killer = threading.Thread(target=kill)
    killer.start()
    made = build(tmp_path / "x", work, Execution(ray=cluster.address))
    killer.join()
    assert lost.is_set()
    assert digest(made) == wanted
    begun = (tmp_path / "begun.txt").read_text().splitlines()
    assert len(begun) > 75  # what the node had was begun again


def test_bad_data_and_killed_workers_are_as_anywhere(cluster, tmp_path):
    work = FakeWork(trouble={"d9": "data", "d17": "kill", "d1": "kill once"}, folder=tmp_path)
    with pytest.raises(IncompleteError, match="2 of 6 shards could not be made") as caught:
        build(tmp_path / "x", work, Execution(ray=cluster.address))
    assert "shard 2 (d8, d9, d10, d11): d9 cannot be done." in str(caught.value)
    assert "shard 4 (d16, d17, d18, d19): its worker died, 3 times" in str(caught.value)
    with pytest.raises(MachineError, match="there is no model"):
        build(tmp_path / "y", FakeWork(fails_to_load=True), Execution(ray=cluster.address))


def test_a_cluster_that_is_not_there(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(MachineError, match=r"there is no Ray cluster at 127\.0\.0\.1:1"):
        build(tmp_path / "x", FakeWork(), Execution(ray="127.0.0.1:1"))
