"""Examples on the disk: what is read is what was written, and damage is reported."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import ArtifactError
from adducir.training.store import Store, StoreWriter, packed, unpacked


@given(st.lists(st.tuples(st.lists(st.integers(-5, 5)), st.text()), max_size=12))
def test_what_is_read_is_what_was_written(tmp_path_factory, message):
    folder = tmp_path_factory.mktemp("store")
    with StoreWriter(folder) as writer:
        for number, (values, text) in enumerate(message):
            array = np.array(values, dtype=np.int32)
            place = writer.add(values=array, text=packed(text), weight=np.float32(number / 2))
            assert place == number
    with Store(folder) as store:
        assert len(store) == len(message)
        for number in reversed(range(len(message))):
            found = store.get(number)
            assert found["values"].tolist() == message[number][0]
            assert unpacked(found["text"]) == message[number][1]
            assert found["weight"] == np.float32(number / 2)
        if message:
            assert store.lengths("values").tolist() == [len(values) for values, _ in message]
            assert store.column("weight").tolist() == [n / 2 for n in range(len(message))]


def written(folder, count=4):
    with StoreWriter(folder) as writer:
        for number in range(count):
            writer.add(ids=np.arange(number + 1, dtype=np.int32), label=number)
    return folder


@pytest.mark.parametrize("name", ["ids.values", "ids.offsets", "label.values", "columns.json"])
def test_damage_is_reported(tmp_path, name):
    path = written(tmp_path) / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ArtifactError, match="these training examples cannot be read"):
        Store(tmp_path)
    path.unlink()
    with pytest.raises(ArtifactError, match="these training examples cannot be read"):
        Store(tmp_path)


def test_examples_of_other_columns_are_refused(tmp_path):
    with StoreWriter(tmp_path) as writer:
        writer.add(ids=np.zeros(2, dtype=np.int32))
        for wrong in ({"ids": np.zeros(2)}, {"id": np.zeros(2, dtype=np.int32)}, {}):
            with pytest.raises(ValueError, match="ids"):
                writer.add(**wrong)
    with Store(tmp_path) as store, pytest.raises(IndexError):
        store.get(1)
