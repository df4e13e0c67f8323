"""Figures of one's own sweep, with matplotlib (an optional dependency).

    rung.plot("rung-runs/runs.sqlite", x="size.n", y="accuracy", series="arch", out="sweep.svg")

Seeds of one setting are one point with their spread; records that differ in task, options, variant or size beside x are never
pooled: what differs and is neither x, series nor panel is named in an error.
"""
from __future__ import annotations

import statistics

from . import RungError, flags, program

__all__ = ["plot", "records"]

# Of one setting's records these differ without making them different experiments.
_SEEDS = {"seed", "id", "parent", "created", "finished", "host", "device", "command", "version", "libraries"}
_SETTING = ("task", "arch", "options", "variant", "size", "precision", "mode", "label", "width", "heads", "recipe")


def records(store=None, **filters):
    """The records of a store as dicts, bodies flattened: size.n, accuracy, arch, ..."""
    document = program.document("runs", "list", *flags({"store": store, **filters}))
    return [_flatten(record) for record in document["records"]]


def _flatten(record):
    flat = {name: value for name, value in record.items() if name != "body"}

    def add(prefix, value):
        if isinstance(value, dict):
            for name, inner in value.items():
                add(f"{prefix}.{name}" if prefix else name, inner)
        elif not isinstance(value, list):
            flat[prefix] = value

    add("", record.get("body", {}))
    return flat


def _setting(record, without):
    return tuple(sorted((name, str(value)) for name, value in record.items()
                        if name.split(".")[0] in _SETTING and name not in without))


def gather(rows, x, y, series=None, panel=None):
    """{panel: {series: [(x, mean, low, high, count)]}}: one point a setting, seeds pooled, everything else kept apart."""
    rows = [row for row in rows if isinstance(row.get(x), (int, float)) and isinstance(row.get(y), (int, float))]
    if not rows:
        raise RungError(f"[plot] no record has numbers for both {x} and {y}")
    shown = {name for name in (x, y, series, panel) if name}
    settings = {}
    for row in rows:
        settings.setdefault(_setting(row, shown), []).append(row)
    if len(settings) > 1:
        differ = sorted({name for one in settings for name, value in one
                         if any(dict(other).get(name) != value for other in settings)})
        raise RungError(f"[plot] the records differ in {', '.join(differ)} as well; "
                        "filter them, or make one of these the series or the panel")
    figure = {}
    for row in rows:
        place = figure.setdefault(row.get(panel) if panel else None, {}).setdefault(row.get(series) if series else None, {})
        place.setdefault(row[x], []).append(row[y])
    return {name: {line: [(at, statistics.fmean(values), min(values), max(values), len(values))
                          for at, values in sorted(points.items())] for line, points in lines.items()}
            for name, lines in figure.items()}


def plot(store=None, x="size.n", y="accuracy", series="arch", panel=None, out=None, rows=None, **filters):
    """Draws a sweep; `out` names a file (.svg, .pdf, .png). Returns matplotlib's figure."""
    try:
        import matplotlib
        if out:
            matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise RungError("[plot] matplotlib is not installed; it is needed for figures alone") from None
    data = gather(records(store, **filters) if rows is None else rows, x, y, series, panel)
    figure, axes = pyplot.subplots(1, len(data), squeeze=False, sharey=True, figsize=(4.8 * len(data), 3.6))
    for axis, (name, lines) in zip(axes[0], data.items()):
        for line, points in lines.items():
            at = [point[0] for point in points]
            (drawn,) = axis.plot(at, [point[1] for point in points], marker="o", label=str(line) if line is not None else y)
            axis.fill_between(at, [point[2] for point in points], [point[3] for point in points], alpha=0.2,
                              color=drawn.get_color())
        if name is not None:
            axis.set_title(f"{panel} = {name}")
        axis.set_xlabel(x)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(y)
    axes[0][-1].legend()
    figure.tight_layout()
    if out:
        figure.savefig(out)
    return figure
