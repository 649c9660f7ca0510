"""Shards on a Ray cluster of three nodes, one of which is killed hard in the middle."""

import sys
import threading
import time

import pytest
from fake_work import FakeWork, build, digest
from sharded_kinds import KINDS, Models
from tiny import tiny_bert

from adducir.core.artifacts import read_manifest
from adducir.core.chunks import TEMPORARY, Chunking
from adducir.core.errors import MachineError
from adducir.core.executors import Execution
from adducir.corpora.sources import open_corpus
from adducir.encoders.encoding import encode, items_of_corpus
from adducir.encoders.sources import encoder_source

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(monkeypatch):
    """Of one node, to which a test adds others."""
    pytest.importorskip("ray")
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
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
        if not (tmp_path / "x").exists():  # in the middle: what the node had is made by others
            lost.set()

    killer = threading.Thread(target=kill)
    killer.start()
    built = build(tmp_path / "x", work, Execution(ray=cluster.address))
    killer.join()
    assert lost.is_set()
    assert digest(built) == wanted


def test_a_corpus_is_encoded_though_a_node_is_killed(cluster, tmp_path):
    source = encoder_source(str(tiny_bert(tmp_path / "tiny")))
    items = items_of_corpus(open_corpus("bundled:arguments"))
    encode(source, items, tmp_path / "alone", device="cpu", shard=4)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    output, lost = tmp_path / "spread", threading.Event()

    def kill():
        while len(list(tmp_path.glob(".spread.parts-*/0*.json"))) < 6:
            time.sleep(0.02)
        cluster.remove_node(nodes[1], allow_graceful=False)
        if not output.exists():
            lost.set()

    killer = threading.Thread(target=kill)
    killer.start()
    encode(source, items, output, device="cpu", shard=4, execution=Execution(ray=cluster.address))
    killer.join()
    assert lost.is_set()
    manifests = [read_manifest(tmp_path / name) for name in ("alone", "spread")]
    assert manifests[0].files == manifests[1].files
    assert manifests[0].fingerprint == manifests[1].fingerprint


def test_every_kind_gives_the_same(cluster, tmp_path, tmp_path_factory):
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    models = Models(tmp_path_factory.mktemp("models"))
    for name, kind in KINDS.items():
        folder = tmp_path / name
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            made = kind(models, patch, folder)
            how = Execution(ray=cluster.address)
            assert made.make(Chunking(folder / "x.out", how)) == made.make(TEMPORARY), name


def test_a_cluster_that_is_not_there(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(MachineError, match=r"there is no Ray cluster at 127\.0\.0\.1:1"):
        build(tmp_path / "x", FakeWork(), Execution(ray="127.0.0.1:1"))
