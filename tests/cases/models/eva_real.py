# Writes eva_real.safetensors: real weights that solve Eva with n = 16 by one full layer, as a trainer would hand them over.
# The query's code (five signs) meets the codes of positions; the value is the token's code; logits compare codes.
# Numbers are no multiples of a power of two, so that quantising has something to round.
import json
import struct
import sys

N, D = 16, 5
SCALE, BETA = 0.37, 5.3


def code(x):
    return [SCALE * (1 if x >> d & 1 else -1) for d in range(D)]


def save(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def rows(count, row):
    return [x for i in range(count) for x in row(i)]


width = 3 * D  # token's code, position's code, answer's code


def select(block, factor):
    return rows(D, lambda r: [factor if c == block * D + r else 0.0 for c in range(width)])


save(sys.argv[1], {
    "embed.token.table": ([N, width], rows(N, lambda v: code(v) + [0.0] * (2 * D))),
    "embed.position.table": ([N + 1, width], rows(N + 1, lambda t: [0.0] * D + code(t) + [0.0] * D)),
    "layers.0.q.weight": ([D, width], select(0, BETA)),
    "layers.0.k.weight": ([D, width], select(1, BETA)),
    "layers.0.v.weight": ([D, width], select(0, 1.7)),
    "layers.0.o.weight": ([width, D], rows(width, lambda c: [0.9 if c == 2 * D + r else 0.0 for r in range(D)])),
    "out.table": ([N, width], rows(N, lambda v: [0.0] * (2 * D) + code(v))),
}, {"format": "rung.weights/1", "architecture": f"full(heads=1,dim={D},vdim={D})", "mode": "real",
    "dimensions": json.dumps({"width": width, "mlp": "none", "vocabulary": N, "context": N + 1, "precision": "fp32"}),
    "fields": json.dumps([{"name": "token", "size": N}]), "output": json.dumps({"kind": "logits", "size": N}),
    "task": json.dumps({"name": "eva", "size": {"n": N}})})
