"""The files of a tuning.

``grid.csv`` has a line for each setting, fold and part: the mean over the fold's training topics
(``train``: what the choice was made by) and over its own (``test``: to look at; nothing was chosen
by it); with several topic sets for each of them as well. Where topic sets share qids, each has its
own ``held-out.SET.trec.gz``.
"""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.artifacts import publishing_results
from adducir.core.csv_files import CsvWriter
from adducir.core.files import writing_text
from adducir.experiments.tuning.grid import plain
from adducir.experiments.tuning.tune import Tuning, mean
from adducir.runs.write import write_run
from adducir.version import __version__

TIES = (
    "means are compared to 12 decimals; of equal ones the first setting in the grid is chosen: "
    "smallest values first, the parameter named first deciding first"
)


def write_report(tuning: Tuning, folder: Path, *, with_runs: bool = True) -> dict[str, Path]:
    """Write all files, all of them at once or none; returns them by name."""
    members = tuning.folds.members(tuning.pool.ids)
    folds = [f"  {json.dumps(name)}: {json.dumps(ids)}" for name, ids in members.items()]
    texts = {
        "grid.csv": _csv(_grid_lines(tuning)),
        "held-out.csv": _csv(_topic_lines(tuning)),
        "tuning.json": json.dumps(facts(tuning), indent=2, ensure_ascii=False) + "\n",
        "folds.json": "{\n" + ",\n".join(folds) + "\n}\n",
    }
    with publishing_results(folder) as hidden:
        for name, text in texts.items():
            with writing_text(hidden / name) as handle:
                handle.write(text)
        names = [*texts]
        about, pool = {"method": {"tuning": facts(tuning)}}, tuning.pool
        if with_runs and pool.has_own_qids:
            names.append("held-out.trec.gz")
            write_run(tuning.run, hidden / names[-1], about, topics=pool.ids)
        elif with_runs:
            for number, each in enumerate(pool.sets):
                names.append(f"held-out.{each.name.replace(' ', '_')}.trec.gz")
                run, qids = pool.of_set(tuning.run, each.name), pool.names_of(number)[0]
                write_run(run, hidden / names[-1], about, topics=qids)
    return {name: folder / name for name in names}


def facts(tuning: Tuning) -> dict[str, Any]:
    pool, folds = tuning.pool, tuning.folds
    return {
        "adducir": __version__,
        "system": tuning.system,
        "grid": {each.name: list(each.values) for each in tuning.grid.parameters},
        "settings": len(tuning.grid),
        "objective": str(tuning.objective),
        "negative grades": tuning.negative,
        "ties": TIES,
        "topic sets": {
            each.name: {"topics": each.topics.source, "qrels": each.qrels.source}
            for each in pool.sets
        },
        "rule of folds": folds.rule,
        "folds": [
            {
                "fold": name,
                "training topics": len(folds.train(fold)),
                "test topics": len(folds.test(fold)),
                "chosen": tuning.setting(fold),
                "training mean": float(tuning.training[fold, tuning.chosen[fold]]),
                "test mean": float(tuning.test[fold, tuning.chosen[fold]]),
                "settings with the best training mean": len(tuning.best(fold)),
            }
            for fold, name in enumerate(folds.names)
        ],
        "held-out mean": tuning.result,
        "topics": len(pool),
        "warnings": tuning.warnings(),
    }


def _grid_lines(tuning: Tuning) -> Iterator[list[Any]]:
    pool, folds = tuning.pool, tuning.folds
    yield [
        *(*tuning.grid.names, "fold", "part", "topic set", "topics"),
        *(f"mean {tuning.objective}", "chosen"),
    ]
    groups: list[tuple[int, str, str, Any]] = []
    for fold in range(len(folds)):
        for part, rows in (("train", folds.train(fold)), ("test", folds.test(fold))):
            sets = np.unique(pool.set_of[rows])
            if len(sets) > 1:
                groups.append((fold, part, "all", rows))
            for number in sets:
                own = rows[pool.set_of[rows] == number]
                groups.append((fold, part, pool.sets[number].name, own))
    for number in range(len(tuning.grid)):
        setting = [plain(value) for value in tuning.grid.setting(number).values()]
        for fold, part, name, rows in groups:
            value = mean(tuning.values[number][rows])
            chosen = int(tuning.chosen[fold] == number)
            yield [*setting, folds.names[fold], part, name, len(rows), value, chosen]


def _topic_lines(tuning: Tuning) -> Iterator[list[Any]]:
    pool = tuning.pool
    yield ["topic set", "qid", "fold", *tuning.grid.names, str(tuning.objective)]
    for row, qid in enumerate(pool.qids):
        fold = int(tuning.folds.of[row])
        setting = [plain(value) for value in tuning.setting(fold).values()]
        value = float(tuning.held_out[row])
        yield [pool.sets[pool.set_of[row]].name, qid, tuning.folds.names[fold], *setting, value]


def _csv(lines: Iterator[list[Any]]) -> str:
    buffer = io.StringIO()
    CsvWriter(buffer).rows(lines)
    return buffer.getvalue()
