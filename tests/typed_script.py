"""A user's script, which `make lint` checks with every expression typed."""

from pathlib import Path

import adducir as ad


def main() -> None:
    qrels = ad.Qrels.of({"1": {"a": 1, "b": 0}, "2": {"c": 2}})
    one = ad.Run.of({"1": {"a": 2.0, "b": 1.0}, "2": {"d": 1.0, "c": 0.5}}, tag="one")
    two = ad.Run.of({"1": {"b": 2.0, "a": 1.0}, "2": {"c": 1.0}}, tag="two")
    fused = ad.fuse([one, two], tag="fused")
    scores = [ad.evaluate(run, qrels, "nDCG@3 P@1") for run in (one, two, fused)]
    comparison = ad.compare(scores, baseline="one")
    table = ad.build_table(comparison)
    frames = [table.to_polars(), comparison.to_polars(), fused.to_polars(), scores[0].to_polars()]
    print(sum(frame.height for frame in frames), table.to_pandas().size, fused.to_pandas().size)
    print(
        ad.MemorySettings(stemmer="krovetz", stopwords=["the", "of"]),
        ad.LuceneSettings(fields=("text",), separate=["title"], stopwords=Path("stop.txt")),
        ad.RM3(fb_docs=5),
        ad.BM25(boosts={"title": 2}),
    )
    print(ad.DenseSettings(encoder=Path("encoders/mine"), fields=["title", "text"]))
    print([ad.TokenWeightSettings(weights=place) for place in ("w.jsonl", Path("w.jsonl"))])
    best: str = comparison.best(comparison.measures[0])
    print(table.render("markdown"), best, scores[0].mean("P@1"), len(fused), fused.depth)


def wrong() -> None:
    """Each line is an error that the type checker must find, or the comment would be one."""
    ad.search("pets", {"1": "cats"}, dept=5)  # type: ignore[call-arg]
    ad.search("pets", {"1": "cats"}, depth="5")  # type: ignore[arg-type]
    ad.BM25(k2=1.2)  # type: ignore[call-arg]
    ad.MemorySettings(stemmer=5)  # type: ignore[arg-type]
    ad.LexicalRetriever("pets").serach("cats")  # type: ignore[attr-defined]
    ad.compare([], tests="t")  # type: ignore[call-arg]
    ad.compare([], alpha="high")  # type: ignore[arg-type]
    ad.fuse([], k=[60])  # type: ignore[arg-type]
    ad.Run.of({"1": {"a": "high"}}, tag="one")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
