"""NumPy's .npy format, read without NumPy where it is not installed."""
import array
import ast
import struct

try:
    import numpy
except ImportError:
    numpy = None

__all__ = ["read_npy"]

_CODES = {"<i4": "i", "<i8": "q"}


class PlainArray:
    """An array without NumPy: `shape`, `values` (array.array, row-major), lists by `tolist()`."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), values

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        size = len(self.values) // self.shape[0]
        row = self.values[(index % self.shape[0]) * size:(index % self.shape[0] + 1) * size]
        return row[0] if len(self.shape) == 1 else PlainArray(self.shape[1:], row)

    def tolist(self):
        return list(self.values) if len(self.shape) == 1 else [row.tolist() for row in self]

    def __repr__(self):
        return f"PlainArray(shape={self.shape})"


def read_npy(data, offset=0):
    """The array that begins at `offset`, and where it ends. NumPy's own where NumPy is installed."""
    if data[offset:offset + 8] != b"\x93NUMPY\x01\x00":
        raise ValueError("no .npy array of version 1.0")
    (length,) = struct.unpack_from("<H", data, offset + 8)
    head = ast.literal_eval(data[offset + 10:offset + 10 + length].decode("latin-1").strip())
    begin = offset + 10 + length
    count = 1
    for size in head["shape"]:
        count *= size
    end = begin + count * int(head["descr"][2])
    if numpy is not None:
        return numpy.frombuffer(data, dtype=head["descr"], count=count, offset=begin).reshape(head["shape"]), end
    values = array.array(_CODES[head["descr"]])
    values.frombytes(data[begin:end])
    return PlainArray(head["shape"], values), end
