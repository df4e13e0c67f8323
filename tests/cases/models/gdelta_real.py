# Writes gdelta_real.safetensors: real weights drawn at random, one gated delta layer (one head, 2 by 2) with RMS norms and a SiLU MLP
# for Eva with n = 8, as an untrained network would be handed over.
import json
import random
import struct
import sys

N, W, D, HIDDEN = 8, 4, 2, 6
draw = random.Random(7)


def tensor(shape, spread=1.0, centre=0.0):
    count = 1
    for extent in shape:
        count *= extent
    return shape, [centre + spread * draw.gauss(0, 1) for _ in range(count)]


tensors = {"embed.token.table": tensor([N, W]), "embed.position.table": tensor([N + 1, W])}
for name in ("norm1.gain", "norm2.gain"):
    tensors["layers.0." + name] = tensor([W], 0.2, 1)
for name, rows in (("q", D), ("k", D), ("v", D), ("beta", 1), ("gate", 1)):
    tensors[f"layers.0.{name}.weight"] = tensor([rows, W], W ** -0.5)
tensors["layers.0.gate.bias"] = tensor([1], 0.2, -2)
tensors["layers.0.o.weight"] = tensor([W, D], 0.7)
for name, rows, cols in (("mlp.0", HIDDEN, W), ("mlp.1", W, HIDDEN)):
    tensors[f"layers.0.{name}.weight"] = tensor([rows, cols], cols ** -0.5)
    tensors[f"layers.0.{name}.bias"] = tensor([rows], 0.2)
tensors["norm.gain"] = tensor([W], 0.2, 1)
tensors["out.table"] = tensor([N, W])

header, data = {"__metadata__": {
    "format": "rung.weights/1", "architecture": f"gdelta(heads=1,dim={D},vdim={D})", "mode": "real",
    "dimensions": json.dumps({"width": W, "mlp": str(HIDDEN), "activation": "silu", "norm": "rms", "vocabulary": N, "context": N + 1, "precision": "fp32"}),
    "fields": json.dumps([{"name": "token", "size": N}]), "output": json.dumps({"kind": "logits", "size": N}),
    "task": json.dumps({"name": "eva", "size": {"n": N}})}}, b""


def put(name, dtype, shape, raw):
    global data
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw


for name, (shape, values) in tensors.items():
    put(name, "F32", shape, struct.pack(f"<{len(values)}f", *values))
put("layers.0.key.fraction", "I64", [], struct.pack("<q", 0))
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data)
