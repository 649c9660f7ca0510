"""What the tests of term weighting share: a tiny model, a tiny corpus."""

from pathlib import Path

import pytest
from json_files import jsonl

TOPICS = [
    ("School uniforms", "School uniforms should be banned", "uniforms and energy in a school"),
    ("Nuclear energy", "Nuclear energy is clean", "nuclear power plants, cheap and clean energy"),
    ("Cats", "Cats run fast", "a slow dog and a fast cat: the cats' run"),
    ("Dogs", "Dogs are not cats", "dogs, dogs! e-mail dogs don't run"),
]


@pytest.fixture
def study(tmp_path: Path, tiny: Path) -> Path:
    """A study with twelve documents, one of them without words, and a recipe."""
    (tmp_path / "deepct").mkdir()
    records = []
    for number in range(12):
        topic, conclusion, premise = TOPICS[number % 4]
        premise = f"{premise} " * (1 + number)
        record = {"docno": f"d{number}", "topic": topic, "conclusion": conclusion}
        records.append(record | {"premise": "" if number == 7 else premise})
    jsonl(tmp_path / "corpus.jsonl", records)
    (tmp_path / "deepct" / "tiny.yaml").write_text(
        f"""kind: deepct
corpus: {{source: corpus.jsonl}}
text: premise
reference: conclusion
base: {tiny}
passages: {{length: 20}}
held_out: {{share: 0.25}}
training: {{epochs: 3, batch_size: 4, learning_rate: 0.01, patience: null}}
""",
        encoding="utf-8",
    )
    return tmp_path
