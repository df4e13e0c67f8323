"""Answers as objects: fields by name, a table in a notebook and on a terminal, dicts for everything else."""
import html

__all__ = ["Document", "Table"]


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_cell(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={_cell(item)}" for key, item in value.items())
    return str(value)


class Table:
    """Rows of one kind. `columns` are what is printed; `to_dicts()` has everything (pandas.DataFrame takes it)."""

    def __init__(self, rows, columns):
        self._rows = list(rows)
        self.columns = [name for name in columns if any(name in row for row in self._rows)] or list(columns)

    def __iter__(self):
        return iter(self._rows)

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, index):
        return self._rows[index]

    def to_dicts(self):
        return [row.to_dict() if isinstance(row, Document) else dict(row) for row in self._rows]

    def _cells(self):
        return [[_cell(row.get(name)) for name in self.columns] for row in self._rows]

    def __repr__(self):
        lines = [self.columns] + self._cells()
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
                       for line in self._cells())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Document:
    """A JSON object with its fields as attributes. Objects inside are documents too."""

    columns = ()  # of its own table; empty: all fields

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return _wrap(self._data[name])
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self._data)}") from None

    def __dir__(self):
        return [*super().__dir__(), *self._data]

    def __getitem__(self, name):
        return _wrap(self._data[name])

    def __contains__(self, name):
        return name in self._data

    def __eq__(self, other):
        return isinstance(other, Document) and self._data == other._data

    __hash__ = None

    def get(self, name, default=None):
        return _wrap(self._data.get(name, default))

    def keys(self):
        return self._data.keys()

    def to_dict(self):
        return self._data

    def table(self):
        names = self.columns or [name for name, value in self._data.items() if not isinstance(value, (dict, list))]
        return Table([{"field": name, "value": self._data.get(name)} for name in names], ("field", "value"))

    def __repr__(self):
        return repr(self.table())

    def _repr_html_(self):
        return self.table()._repr_html_()


def _wrap(value):
    if isinstance(value, dict):
        return Document(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


class Listing(Document):
    """A document whose list `rows_field` is what a person wants to see."""

    rows_field = "rows"
    row_columns = ()

    @property
    def rows(self):
        return Table([Document(row) for row in self._data.get(self.rows_field, [])], self.row_columns)

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def table(self):
        return self.rows


class Bound(Listing):
    """What `rung bound` says: one verdict a task."""
    rows_field = "verdicts"
    row_columns = ("task", "verdict", "theorem", "status", "source", "left", "right", "unit", "horizon", "assumes")


class Comparison(Listing):
    """What `rung compare` says: one row a model."""
    rows_field = "models"
    row_columns = ("name", "layers", "pattern", "parameters", "state_bytes", "cache_bytes", "total_bytes", "depth")


class Design(Listing):
    """What `rung design` says: the Pareto front."""
    rows_field = "front"
    row_columns = ("layers", "cost", "needs")


class Ceiling(Listing):
    """What `rung ceiling` says: one row a size."""
    rows_field = "rows"
    row_columns = ("state_bits", "n", "table_bits", "ceiling")


class Capacity(Listing):
    """What `rung capacity` says: one row a cut."""
    rows_field = "cuts"
    row_columns = ("position", "classes", "bits", "lg_classes", "exact")


class Shape(Listing):
    """What `rung show` says: one row a layer."""
    rows_field = "layers"
    row_columns = ("index", "text", "letters", "state_elements", "state_bits", "cache_bits_per_token", "parameters")
