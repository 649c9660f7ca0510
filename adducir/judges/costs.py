"""What language models took, per topic: JSON lines beside a run, ``NAME.costs.jsonl``."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from adducir.core.json_lines import read_objects
from adducir.corpora.records import parsed_as, read_records
from adducir.judges.exchange import Answer

if TYPE_CHECKING:
    from adducir.judges.llm import Answerer

Cost = Literal["requests", "tokens", "tokens_in", "tokens_out", "seconds", "cost"]
"""``tokens`` are in and out; ``cost`` is known only if the language model's file states prices."""
_Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


@dataclass
class _TopicCosts:
    qid: str
    requests: _Amount
    tokens_in: _Amount
    tokens_out: _Amount
    seconds: _Amount
    cost: _Amount | None = None

    @property
    def id(self) -> str:
        return self.qid


def cost_row(qid: str, answers: Sequence[Answer], llm: "Answerer | None") -> dict[str, Any]:
    """What a topic's answers took; those at the same time each count their seconds.

    ``llm`` states the price, if tokens are known.
    """
    names = ("tokens_in", "tokens_out", "seconds")
    sums = {name: sum(getattr(answer, name) for answer in answers) for name in names}
    cost = None if llm is None else llm.cost(sums["tokens_in"], sums["tokens_out"])
    row = {"qid": qid, "requests": len(answers), **sums, "seconds": round(sums["seconds"], 3)}
    return row if cost is None else row | {"cost": cost}


def read_costs(path: Path) -> dict[str, dict[str, float]]:
    """Each topic's costs by name; without ``cost`` if there was no price."""
    hint = "adducir rerank --costs writes it; move it away if it is another file."
    costs = dict[str, dict[str, float]]()
    for topic in read_records(path, parsed_as(_TopicCosts), hint, read_objects(path)):
        row = {name: value for name, value in asdict(topic).items() if isinstance(value, float)}
        costs[topic.qid] = row | {"tokens": topic.tokens_in + topic.tokens_out}
    return costs
