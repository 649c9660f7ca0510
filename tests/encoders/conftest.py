"""What the tests of encoders share: tiny models, a few spans."""

from pathlib import Path

import pytest
from some_spans import some_spans

from adducir.corpora.spans import write_spans


@pytest.fixture
def study(tmp_path: Path, tiny: Path) -> Path:
    (tmp_path / "encoders").mkdir()
    write_spans(some_spans(40), tmp_path / "spans.jsonl")
    write_spans(some_spans(12, groups=1), tmp_path / "other.jsonl")
    (tmp_path / "encoders" / "tiny.yaml").write_text(
        f"""kind: dual-encoder
base: {tiny}
data: {{train: spans.jsonl, shares: {{train: 0.5, validation: 0.5}}}}
batches: {{by: group}}
training: {{epochs: 3, batch_size: 5, learning_rate: 0.001, patience: null}}
""",
        encoding="utf-8",
    )
    return tmp_path
