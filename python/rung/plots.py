"""Figures of one's own sweep: what `rung runs plot` draws, with matplotlib (an optional dependency).

    rung.plot("rung-runs/runs.sqlite", x="size.n", y="accuracy", series="arch", out="sweep.svg")

Which records make a point is decided by the program: seeds of one setting, and nothing else.
"""
from __future__ import annotations

from . import RungError, Table, flags, program

__all__ = ["plot", "points"]


def _figure(store, x, y, series, panel, filters):
    if isinstance(series, (list, tuple)):
        series = ",".join(series)
    return program.document("runs", "plot", *flags({"store": store, "x": x, "y": y, "series": series, "panel": panel, **filters}))


def points(store=None, x=None, y="accuracy", series=None, panel=None, **filters):
    """The points of a sweep as a table: one row a setting, with the spread of its seeds and its ceiling."""
    figure = _figure(store, x, y, series, panel, filters)
    rows = [{**({figure["panel"]: part["name"]} if figure["panel"] else {}), "series": line["name"], figure["x"]: point["x"],
             figure["y"]: point["mean"], "low": point["low"], "high": point["high"], "count": point["count"],
             "ceiling": point["ceiling"], "label": point["label"]}
            for part in figure["panels"] for line in part["lines"] for point in line["points"]]
    return Table(rows, list(rows[0]))


def plot(store=None, x=None, y="accuracy", series=None, panel=None, out=None, **filters):
    """Draws a sweep; `out` names a file (.svg, .pdf, .png). Returns matplotlib's figure. Filters are those of `rung runs list`."""
    figure = _figure(store, x, y, series, panel, filters)
    try:
        import matplotlib
        if out:
            matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise RungError("[plot] matplotlib is not installed; rung runs plot --out draws without it") from None
    panels = figure["panels"]
    drawn, axes = pyplot.subplots(1, len(panels), squeeze=False, sharey=True, figsize=(4.8 * len(panels), 3.6))
    for axis, part in zip(axes[0], panels):
        ceilings = set()
        for line in part["lines"]:
            at = [point["x"] for point in line["points"]]
            mean = [point["mean"] for point in line["points"]]
            spread = [[point["mean"] - point["low"] for point in line["points"]],
                      [point["high"] - point["mean"] for point in line["points"]]]
            axis.errorbar(at, mean, yerr=spread, marker="o", capsize=3, label=line["name"] or figure["y"])
            known = tuple((point["x"], point["ceiling"]) for point in line["points"]
                          if point["ceiling"] is not None and point["ceiling"] < 1)
            if len(known) > 1 and known not in ceilings:  # several lines may have one ceiling
                ceilings.add(known)
                axis.plot(*zip(*known), linestyle="--", color="grey", label="ceiling" if len(ceilings) == 1 else None)
        xs = {point["x"] for line in part["lines"] for point in line["points"]}
        if min(xs) > 0 and max(xs) >= 4 * min(xs):
            axis.set_xscale("log", base=2)
        if part["name"]:
            axis.set_title(f"{figure['panel']} = {part['name']}")
        axis.set_xlabel(figure["x"])
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(figure["y"])
    # One legend where all panels have the same lines.
    alike = len({tuple(line["name"] for line in part["lines"]) for part in panels}) == 1
    for axis in axes[0][-1:] if alike else axes[0]:
        axis.legend()
    drawn.tight_layout()
    if out:
        drawn.savefig(out)
    return drawn
