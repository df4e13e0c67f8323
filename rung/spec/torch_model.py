#!/usr/bin/env python3
"""Runs a rung model (rung.weights/2 or /1, docs/weights.md) with torch and the standard library alone.

    python3 model.py model.safetensors --prompts prompts.jsonl      # one JSON line of logits a prompt
    model = load("model.safetensors"); model.logits([3, 1, 2])      # [positions, outputs]

An integer model runs in int64, bit for bit as its file says; a sum that could pass 2^62 is refused by name. A model of
mode "real" runs in float64 without rounding: what mode Q is before it rounds. The architecture, the sizes and the tables
are read from the file; nothing here belongs to one model. Shapes stand in comments: T positions, H heads.
"""
import argparse
import json
import math
import re
import struct
import sys

import torch

LIMIT = 2.0**62
LENGTH_EPSILON = 1e-6  # of keys brought to length 1, in a model of mode "real"
DTYPES = {"BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "I32": torch.int32,
          "I64": torch.int64, "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}


def read_safetensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + length])
    data = bytearray(raw[8 + length:])
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = DTYPES[entry["dtype"]]
        flat = torch.frombuffer(data[begin:end], dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(entry["shape"])
    return metadata, tensors


# ---- numbers ----------------------------------------------------------------------------------------------------------

class Integers:
    """Mode X in int64."""
    dtype = torch.int64

    def fits(self, name, bound):
        if not bound < LIMIT:
            raise OverflowError(f"[torch] {name}: a sum can reach 2^{math.log2(bound):.1f}; int64 is kept below 2^62")

    def rsh(self, x, r):
        if r <= 0:
            self.fits("rsh", top(x) * 2.0**-r)
            return x << -r
        if r > 62:
            return torch.zeros_like(x)
        low = x >> r
        rest, half = x - (low << r), 1 << (r - 1)
        return low + ((rest > half) | ((rest == half) & (low & 1 == 1))).long()

    def sat(self, x, bits):
        return x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)

    def wrap(self, x, bits):
        half = 1 << (bits - 1)
        return ((x + half) & ((1 << bits) - 1)) - half

    def quot(self, name, num, den, scale):
        self.fits(name, 2.0 * scale * top(num) + top(den))
        num, den = torch.where(den < 0, -num, num), den.abs()
        safe = torch.where(den == 0, torch.ones_like(den), den)
        return torch.where(den == 0, torch.zeros_like(num), torch.div(2 * scale * num + den, 2 * safe, rounding_mode="floor"))

    def unit(self, name, x, gain, fraction, extra, bits, mean, epsilon):
        """x · gain · 2^fraction over its root mean square (mean) or its length; ties to even."""
        squares = (x * x).sum(-1, keepdim=True)
        self.fits(name, top(x)**2 * x.shape[-1] * 4.0**extra)
        self.fits(name, top(x) * top(gain) * 2.0**(fraction + extra + 1))
        square = torch.div(squares << (2 * extra), x.shape[-1] if mean else 1, rounding_mode="floor") + epsilon
        root = square.double().sqrt().long()
        root = root - (root * root > square).long()
        root = root + ((root + 1) * (root + 1) <= square).long()
        safe = root.clamp(min=1)
        value = (x * gain) << (fraction + extra)
        low = torch.div(value, safe, rounding_mode="floor")
        rest = 2 * (value - low * safe)
        out = low + ((rest > safe) | ((rest == safe) & (low & 1 == 1))).long()
        return self.sat(torch.where(root == 0, torch.zeros_like(out), out), bits)

    def table(self, values, low, function):
        return lambda x: values[x.clamp(low, low + len(values) - 1) - low]

    def softmax_weights(self, table, tau, clip):
        return table


FUNCTIONS = {
    "sigmoid": torch.sigmoid, "decay": lambda x: torch.sigmoid(-x), "softplus": torch.nn.functional.softplus, "tanh": torch.tanh,
    "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "exp": torch.exp, "relu": torch.relu,
    "elu1": lambda x: torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0))), "identity": lambda x: x}


class Reals:
    """The same weights as reals, in float64, without rounding."""
    dtype = torch.float64

    def fits(self, name, bound):
        pass

    def rsh(self, x, r):
        return x * 2.0**-r

    def sat(self, x, bits):
        return x

    wrap = sat

    def quot(self, name, num, den, scale):
        return torch.where(den == 0, torch.zeros_like(num), scale * num / torch.where(den == 0, torch.ones_like(den), den))

    def unit(self, name, x, gain, fraction, extra, bits, mean, epsilon):
        square = (x * x).sum(-1, keepdim=True) / (x.shape[-1] if mean else 1) + epsilon
        return torch.where(square == 0, torch.zeros_like(x), x * gain * 2.0**fraction / square.clamp(min=1e-300).sqrt())

    def table(self, values, low, function):
        if function is None:
            return lambda x: values[(x.round().clamp(low, low + len(values) - 1) - low).long()]
        name, into, out = function["function"], function.get("in", 0), function.get("out", 0)
        clip = (lambda x: x) if values is None else lambda x: x.clamp(low, low + len(values) - 1)
        return lambda x: 2.0**out * FUNCTIONS[name](clip(x) * 2.0**-into)

    def softmax_weights(self, table, tau, clip):
        return table if tau is None else lambda s: torch.exp(tau * clip(s))


def top(x):
    """The largest absolute value, as a float: bounds need no more."""
    return float(x.double().abs().max()) if x.numel() else 0.0


# ---- the architecture line --------------------------------------------------------------------------------------------

class Line:
    """stack = product {"+" product}; product = atom {"*" number}; atom = "(" stack ")" | mixer."""

    # What the forms below know; another option would change what they mean.
    OPTIONS = ("window", "chunk", "heads", "kv", "dim", "vdim", "conv", "cache", "feature", "normalised", "cell", "size", "inner", "state", "groups", "base",
               "B", "k", "index_heads", "index_dim", "weights", "width", "channels",
               "range", "steps")
    # Of released forms, by the word that has them here.
    FORMS = {"mamba": ("form", "conv_bias", "act", "gate", "select", "rank", "norms"),
             "mamba2": ("form", "conv_bias", "act", "decay", "skip", "gate", "norm", "norm_groups"),
             "delta": ("form", "conv_bias", "act", "qk_act", "qk_norm", "scale", "beta", "gate", "norm"),
             "gdelta": ("form", "conv_bias", "act", "qk_act", "qk_norm", "scale", "decay", "gate", "norm"),
             "loglinear": ("form", "partition", "conv_bias", "skip", "gate", "norm", "norm_groups"),
             "sparse": ("form", "compress", "span", "stride", "first", "local"), "topk": ("form", "index_norm")}
    SAME = {"rope": "none", "index_rope": "none"}                                                                            # the one value that is evaluated

    def __init__(self, text, says_forms):
        self.tokens, self.at, self.says_forms = re.findall(r"[A-Za-z_][\w.-]*|-?\d+|[^\s]", text), 0, says_forms

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, token):
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token):
        if not self.take(token):
            raise ValueError(f'[torch] architecture: "{token}" expected before "{self.peek()}"')

    def stack(self):
        layers = self.product()
        while self.take("+"):
            layers = layers + self.product()
        return layers

    def product(self):
        if self.take("("):
            layers = self.stack()
            self.expect(")")
        else:
            layers = [self.mixer()]
        while self.take("*"):
            layers = layers * int(self.next())
        return layers

    def mixer(self):
        mixer = {"kind": self.next()}
        if self.take("("):
            while not self.take(")"):
                if mixer["kind"] == "heads":
                    part = self.mixer()
                    self.expect(":")
                    part["heads"] = int(self.next())
                    mixer.setdefault("parts", []).append(part)
                else:
                    name = self.next()
                    known = name in self.OPTIONS + self.FORMS.get(mixer["kind"], ()) or name in self.SAME
                    self.expect("=")
                    value = self.next()
                    if not known or self.SAME.get(name, value) != value:
                        raise ValueError(f"[torch] option {name}={value} of {mixer['kind']} is not evaluated")
                    mixer[name] = int(value) if value.isdigit() else value
                self.take(",")
        self.check_form(mixer)
        return mixer

    def check_form(self, mixer):
        """Version 2 says the form of every mixer that has two."""
        kind, form = mixer["kind"], mixer.get("form")
        if self.says_forms and kind in self.FORMS and form is None and not (kind == "loglinear" and mixer.get("base", "linear") == "linear"):
            raise ValueError(f"[torch] architecture: {kind} says no form; form=released or form=plain expected")
        turning = {"sparse": {"rope"}, "topk": {"rope", "index_rope"}}.get(kind, set())  # unless the line says none
        if form == "released" and not turning <= set(mixer):
            raise ValueError(f"[torch] {kind} in a released form that turns is not evaluated")


# ---- the model --------------------------------------------------------------------------------------------------------

class Model:
    def __init__(self, path, real=False):
        self.metadata, self.tensors = read_safetensors(path)
        meta = self.metadata
        if meta.get("format") not in ("rung.weights/1", "rung.weights/2"):
            raise ValueError(f'[torch] {path}: format {meta.get("format")!r}; "rung.weights/2" or "rung.weights/1" expected')
        sizes = json.loads(meta["dimensions"])
        self.sizes = sizes
        self.n = Reals() if real or meta["mode"] == "real" else Integers()
        self.width = sizes.get("width", 64)
        self.causal = sizes.get("causal", True)
        self.context = sizes.get("context", 0)
        self.accumulator = meta.get("accumulator", "exact")
        self.functions = json.loads(meta.get("tables", "{}"))
        self.fields = json.loads(meta["fields"])
        self.output = json.loads(meta["output"])
        self.decode = json.loads(meta.get("decode", "{}"))
        precision = str(sizes.get("precision", "16")).split(".")[0]
        self.p = int(precision) if precision.isdigit() else 16
        self.state_bits = sizes.get("accumulator_bits", self.p)
        self.holds_tables = meta["mode"] == "integer"
        self.used = set()

        self.embeddings = [self.embedding("embed." + field["name"], field.get("low", 0)) for field in self.fields]
        position = sizes.get("position", "table")
        if position not in ("none", "table", "binary"):
            raise ValueError(f'[torch] position "{position}" has no meaning here; none, table or binary expected')
        self.position = None if position == "none" else self.embedding("embed.position", 0)
        self.embed_shift, self.stream_bits = self.scalar("embed.shift"), self.bits("stream")
        line = Line(meta["architecture"], meta["format"] == "rung.weights/2")
        stack = line.stack()
        if line.peek():
            raise ValueError(f'[torch] architecture: "{line.peek()}" is not expected')
        self.layers = [self.layer(f"layers.{i}.", mixer) for i, mixer in enumerate(stack)]
        self.norm = self.norm_of("norm")
        self.out, self.out_bias = self.tensor("out.table"), self.optional("out.bias")
        binary = self.output["kind"] in ("binary", "threshold")
        self.threshold = self.tensor("out.threshold") if binary else None
        left = sorted(set(self.tensors) - self.used)
        if left:
            raise ValueError(f"[torch] {path}: nothing reads tensor {left[0]} ({len(left)} such)")

    # -- reading: a name is marked as used when it is read

    def optional(self, name):
        if name not in self.tensors:
            return None
        self.used.add(name)
        value = self.tensors[name]
        if self.n.dtype == torch.int64 and value.is_floating_point():
            raise ValueError(f"[torch] tensor {name} holds reals in an integer model")
        return value.to(self.n.dtype)

    def tensor(self, name):
        value = self.optional(name)
        if value is None:
            raise ValueError(f"[torch] tensor {name} is missing")
        return value

    def scalar(self, name, default=0):
        if name not in self.tensors:
            return default
        self.used.add(name)
        return self.tensors[name].item()

    def bits(self, name):
        return int(self.scalar(name + ".bits", self.p))

    def sums(self, name):
        """W x + b, not rounded: x [.., cols] -> [.., rows]."""
        weight, bias = self.tensor(name + ".weight"), self.optional(name + ".bias")
        row = float(weight.double().abs().sum(1).max())
        offset = 0.0 if bias is None else top(bias)

        def run(x):
            self.n.fits(name, row * top(x) + offset)
            y = x @ weight.T
            return y if bias is None else y + bias
        return run

    def map(self, name):
        sums, shift, bits = self.sums(name), self.scalar(name + ".shift"), self.bits(name)
        return lambda x: self.n.sat(self.n.rsh(sums(x), shift), bits)

    def maps(self, prefix, names):
        return [self.map(prefix + name) for name in names]

    def table(self, name, function):
        """A table of the file; a model of mode "real" has the function alone, named in the metadata or by default."""
        known = self.functions.get(name)
        if not self.holds_tables:
            return self.n.table(None, 0, {"function": function} if known is None else known)
        return self.n.table(self.tensor(name + ".table"), self.scalar(name + ".low"), known)

    def has_table(self, name):
        return name + ".table" in self.tensors if self.holds_tables else name in self.functions

    def embedding(self, name, low):
        for form in ("table", "binary", "linear"):
            rows = self.optional(f"{name}.{form}")
            if rows is not None:
                break
        else:
            raise ValueError(f"[torch] {name} has no table, binary or linear form")

        def run(values):  # [T] or [T, length]
            if form == "table":
                return rows[values - low]
            if form == "linear":
                return values.reshape(len(values), -1).to(self.n.dtype) @ rows
            digits = (values - low)[:, None] >> torch.arange(len(rows) - 1) & 1
            return digits.to(self.n.dtype) @ rows[:-1] + rows[-1]
        return run

    def norm_of(self, name):
        if self.sizes.get("norm", "none") == "none":
            return lambda x: x
        gain, bits = self.tensor(name + ".gain"), self.bits(name)
        fraction, extra = self.scalar(name + ".fraction"), self.scalar(name + ".extra")
        epsilon = 0 if self.holds_tables else self.scalar(name + ".epsilon")
        return lambda x: self.n.unit(name, x, gain, fraction, extra, bits, True, epsilon)

    def settle(self, x):
        return self.n.wrap(x, self.state_bits) if self.accumulator == "wrap" else self.n.sat(x, self.state_bits)

    def dot(self, name, equation, a, b, terms):
        self.n.fits(name, float(terms) * top(a) * top(b))
        return torch.einsum(equation, a, b)

    # -- a layer: x [T, width] -> [T, width]

    def layer(self, prefix, mixer):
        n, kind = self.n, mixer["kind"]
        mixed = None
        if kind != "none":
            norm1, mix, out = self.norm_of(prefix + "norm1"), self.mixer(prefix, mixer), self.map(prefix + "o")
            mixed = lambda x: n.sat(x + out(mix(norm1(x))), self.stream_bits)
        widths = self.sizes.get("mlp", str(4 * self.width))
        mlp = []
        if widths != "none":
            norm2, activation = self.norm_of(prefix + "norm2"), self.sizes.get("activation", "relu")
            hidden = widths if isinstance(widths, list) else str(widths).split(",")
            for k in range(len(hidden) + 1):
                name = f"{prefix}mlp.{k}"
                mlp.append(self.map(name))
                if k == len(hidden):
                    break
                if activation == "relu":
                    mlp.append(lambda x: x.clamp(min=0))
                else:
                    mlp.append(lambda x, table=self.table(name, activation), bits=self.bits(name): n.sat(table(x), bits))

        def run(x):
            if mixed:
                x = mixed(x)
            if mlp:
                h = norm2(x)
                for step in mlp:
                    h = step(h)
                x = n.sat(x + h, self.stream_bits)
            return x
        return run

    def mixer(self, prefix, mixer):
        kind = mixer["kind"]
        build = getattr(self, "mix_" + kind, None)
        if build is None:
            raise ValueError(f"[torch] mixer {kind} is not evaluated")
        return build(prefix, mixer)

    # -- what the line leaves open comes from the dimensions

    def head_sizes(self, m):
        """H, key/value heads, dk, dv."""
        heads = m.get("heads", self.sizes.get("heads", 1))
        kv_default = 0 if "share" in m or m["kind"] in ("delta", "gdelta", "loglinear") else self.sizes.get("kv_heads", 0)
        dim = m.get("dim", self.sizes.get("head_dim", 0) or self.width // m.get("share", heads))
        return heads, m.get("kv", kv_default or heads), dim, m.get("vdim", self.sizes.get("value_dim", 0) or dim)

    # -- what released layers have around a recurrence

    def form(self, m):
        """The options of a form, those of form=released where the line leaves them open; and whether it is the plain one."""
        rule, released = m.get("base", m["kind"]) if m["kind"] == "loglinear" else m["kind"], m.get("form") == "released"
        delta = rule in ("delta", "gdelta")

        def of(option, plain, own):
            word = m.get(option, "auto")
            return word if word != "auto" else own if released else plain
        f = {"conv_bias": bool(m.get("conv", 0)) and of("conv_bias", "no", "no" if delta else "yes") == "yes", "act": of("act", "none", "silu"),
             "gate": of("gate", "none", "none" if rule == "delta" else "silu"),
             "norm": "none" if rule == "mamba" else of("norm", "none", "before" if delta else "after"),
             "step": rule in ("mamba2", "gdelta") and of("decay", "sigmoid", "step") == "step",
             "skip": of("skip", "none", "head") if rule == "mamba2" else "none",
             "qk_act": of("qk_act", "none", "silu") if delta else "none", "qk_norm": of("qk_norm", "none", "l2") if delta else "none",
             "scale": delta and m["kind"] != "loglinear" and of("scale", "no", "yes") == "yes", "beta": of("beta", "yes", "yes") == "yes",
             "select": of("select", "input", "conv") == "conv" if rule == "mamba" else False,
             "rank": m.get("rank", (self.width + 15) // 16 if released else 0) if rule == "mamba" else 0}
        plain = {**dict.fromkeys(f, False), **dict.fromkeys(("act", "gate", "norm", "skip", "qk_act", "qk_norm"), "none"), "beta": True, "rank": 0}
        return {**f, "plain": f == plain}

    def activation(self, prefix, name, word):
        if word == "none":
            return lambda x: x
        table, bits = self.table(prefix + name, word), self.bits(prefix + name)
        return lambda x: self.n.sat(table(x), bits)

    def step_decay(self, prefix, name):
        """A step from a channel, limited in a model of mode "real", and the decay that follows: [.., H] each."""
        step, decay = self.table(prefix + name, "softplus"), self.table(prefix + "decay", "exp")
        rates, index = self.tensor(prefix + "a.weight"), self.scalar(prefix + "decay.index_shift")
        low, high = 0.0, math.inf
        if name == "dt" and not self.holds_tables:
            low, high = self.scalar(prefix + "dt.low", 0.0), self.scalar(prefix + "dt.high", math.inf)

        def run(z):
            size = step(z) if self.holds_tables else step(z).clamp(low, high)
            self.n.fits(prefix + "decay", top(size) * top(rates))
            return size, decay(self.n.rsh(size * rates, index))
        return run

    def output_form(self, prefix, f, group):
        """From u [T, width] and o [T, outputs], with the skip added, to y."""
        n, y_bits = self.n, self.bits(prefix + "y")
        if f["gate"] == "none" and f["norm"] == "none":
            return lambda u, o: n.sat(o, y_bits)
        read_bits = self.bits(prefix + "read")
        if f["gate"] != "none":
            z, table = self.map(prefix + "z"), self.table(prefix + "z", f["gate"])
            shift, gated_bits = self.scalar(prefix + "gated.shift"), self.bits(prefix + "gated")
        if f["norm"] != "none":
            gains = self.tensor(prefix + "ynorm.gain")
            fraction, extra, bits = self.scalar(prefix + "ynorm.fraction"), self.scalar(prefix + "ynorm.extra"), self.bits(prefix + "ynorm")
            epsilon = self.epsilon(prefix + "ynorm", extra)

        def gate(u, o):
            if f["gate"] == "none":
                return o
            factor = table(z(u))
            n.fits(prefix + "gated", top(o) * top(factor))
            return n.sat(n.rsh(o * factor, shift), gated_bits)

        def norm(o):
            parts = o.reshape(len(o), -1, group)
            rows = gains.reshape(-1, group).expand(parts.shape[1], group)
            return n.unit(prefix + "ynorm", parts, rows, fraction, extra, bits, True, epsilon).reshape(len(o), -1)

        def run(u, o):
            o = n.sat(o, read_bits)
            if f["norm"] == "before":
                return n.sat(gate(u, norm(o)), y_bits)
            o = gate(u, o)
            return n.sat(norm(o) if f["norm"] == "after" else o, y_bits)
        return run

    def layer_norm(self, name):
        """x less its mean, over its root mean square; z = d·x - Σx in an integer file, which has no mean."""
        n, gain, bias, bits = self.n, self.tensor(name + ".gain"), self.tensor(name + ".bias"), self.bits(name)
        fraction, extra = self.scalar(name + ".fraction"), self.scalar(name + ".extra")
        epsilon = self.epsilon(name, extra)

        def run(x):
            total = x.sum(-1, keepdim=True)
            z = x.shape[-1] * x - total if self.holds_tables else x - total / x.shape[-1]
            return n.sat(n.unit(name, z, gain, fraction, extra, bits, True, epsilon) + bias, bits)
        return run

    def inner_norm(self, prefix, name):
        """x over its root mean square, of B, C or the time step of mamba."""
        full = f"{prefix}{name}_norm"
        fraction, extra, bits = self.scalar(full + ".fraction"), self.scalar(full + ".extra"), self.bits(full)
        epsilon = self.epsilon(full, extra) if self.holds_tables else self.scalar(prefix + "select.epsilon")
        return lambda x: self.n.unit(full, x, torch.ones((), dtype=self.n.dtype), fraction, extra, bits, True, epsilon)

    def epsilon(self, name, extra):
        """Of a norm: a whole number that is added to 4^extra times the mean square, or what that stands for."""
        value = self.scalar(name + ".epsilon")
        return value * 4.0**-extra if self.holds_tables and self.n.dtype != torch.int64 else value

    def short_conv(self, prefix, m, bias=False):
        """Joins the channels [T, c] of several maps, convolves them when conv=w is given, and parts them again."""
        if not m.get("conv", 0):
            return lambda *parts: parts
        offset = self.tensor(prefix + "conv.bias") if bias else 0
        taps, shift = self.tensor(prefix + "conv.weight"), self.scalar(prefix + "conv.shift")
        bits, table = self.bits(prefix + "conv"), self.table(prefix + "conv", "silu") if self.has_table(prefix + "conv") else None

        def run(*parts):
            y = self.n.rsh(self.convolve(prefix + "conv", torch.cat(parts, 1), taps) + offset, shift)
            y = self.n.sat(y if table is None else table(y), bits)
            return torch.split(y, [part.shape[1] for part in parts], 1)
        return run

    def convolve(self, name, x, taps):
        self.n.fits(name, float(taps.double().abs().sum(1).max()) * top(x))
        out = torch.zeros_like(x)
        for j in range(min(taps.shape[1], len(x))):
            out[j:] += x[:len(x) - j] * taps[:, j]
        return out

    # -- softmax attention

    def visible(self, T, m):
        """[T, T]: does i (row) see j (column)?"""
        i, j = torch.arange(T)[:, None], torch.arange(T)[None, :]
        seen = j <= i if self.causal else torch.ones(T, T, dtype=torch.bool)
        if "window" in m:
            seen = seen & ((i - j).abs() < m["window"])
        if "chunk" in m:
            seen = seen & (torch.div(i, m["chunk"], rounding_mode="floor") == torch.div(j, m["chunk"], rounding_mode="floor"))
        return seen

    def softmax(self, prefix, H, K):
        """Scores [H, T, J] and the weighted mean over what is seen."""
        n, group = self.n, [h * K // H for h in range(H)]
        shift, scale, bits = self.scalar(prefix + "score.shift"), self.scalar(prefix + "value.scale", 1), self.bits(prefix + "y")
        self.bits(prefix + "score")                                                                     # for mode Q
        tau, table, clip = self.scalar(prefix + "score.tau", None), self.table(prefix + "score", "exp"), lambda s: s
        if self.holds_tables:
            low, count = self.scalar(prefix + "score.low"), len(self.tensor(prefix + "score.table"))
            clip = lambda s: s.clamp(low, low + count - 1)
        weights = n.softmax_weights(table, tau, clip)

        def scores(q, k):  # [T, H, dk], [J, K, dk]
            return n.rsh(self.dot(prefix + "score", "ihd,jhd->hij", q, k[:, group], q.shape[-1]), shift)

        def mean(s, v, seen):  # [H, T, J], [J, K, dv], [T, J] or [H, T, J] -> [T, H, dv]
            weight = torch.where(seen, weights(s), torch.zeros((), dtype=n.dtype))
            num = self.dot(prefix + "value", "hij,jhr->ihr", weight, v[:, group], s.shape[-1])
            den = weight.sum(-1).T[..., None].expand_as(num)
            return n.sat(n.quot(prefix + "value", num, den, scale), bits)
        return scores, mean, clip

    def mix_full(self, prefix, m):
        H, K, dk, dv = self.head_sizes(m)
        q, k, v = self.maps(prefix, "qkv")
        conv, (scores, mean, _) = self.short_conv(prefix, m), self.softmax(prefix, H, K)

        def run(u):
            T = len(u)
            qs, ks, vs = conv(q(u), k(u), v(u))
            s = scores(qs.reshape(T, H, dk), ks.reshape(T, K, dk))
            return mean(s, vs.reshape(T, K, dv), self.visible(T, m)).reshape(T, -1)
        return run

    def mix_topk(self, prefix, m):
        H, K, dk, dv = self.head_sizes(m)
        Hi, di = m.get("index_heads", 1), m.get("index_dim", dk)
        q, k, v = self.maps(prefix, "qkv")
        iq, ik, mix = self.maps(prefix, ["index_q", "index_k", "index_mix"])
        shift, (scores, mean, _) = self.scalar(prefix + "index.shift"), self.softmax(prefix, H, K)
        released = m.get("form") == "released"
        if released and (m.get("rope"), m.get("index_rope")) != ("none", "none"):
            raise ValueError("[torch] topk with rope is not evaluated; rope=none, index_rope=none expected")
        signed = m.get("weights", "signed" if released else "clamped") == "signed"
        norm = self.layer_norm(prefix + "index_norm") if m.get("index_norm", "yes" if released else "no") == "yes" else lambda x: x

        def run(u):
            T = len(u)
            part = self.n.rsh(self.dot(prefix + "index", "ihd,jd->hij", iq(u).reshape(T, Hi, di), norm(ik(u)), di), shift)
            weights = mix(u) if signed else mix(u).clamp(min=0)
            index = self.dot(prefix + "index", "ih,hij->ij", weights, part.clamp(min=0), Hi)
            chosen = self.largest(index, self.visible(T, m), m["k"])
            s = scores(q(u).reshape(T, H, dk), k(u).reshape(T, K, dk))
            return mean(s, v(u).reshape(T, K, dv), chosen).reshape(T, -1)
        return run

    def largest(self, score, seen, k):
        """[T, J]: the k largest of the seen in each row, ties to the smaller column."""
        bottom = score.min() - 1 if score.numel() else 0
        order = torch.where(seen, score, bottom).sort(dim=1, descending=True, stable=True).indices[:, :k]
        return torch.zeros_like(seen).scatter(1, order, True) & seen

    def windows(self, prefix, m, name, dim, K, place):
        """x [T, K, dim] -> [C, K, dim]: one key or value a window of `span` rows every `stride`."""
        n, B = self.n, m["B"]
        span, kind, bits = m.get("span", B), m.get("compress", "mean"), self.bits(prefix + name)
        stride = m.get("stride", span)
        weight, shift = None, 0
        if kind in ("weighted", "linear"):
            weight, shift = self.tensor(f"{prefix}{name}.weight"), self.scalar(f"{prefix}{name}.shift")
        offset = self.tensor(f"{prefix}{name}.place") if place and kind != "mean" else None             # [K, span, dim]

        def run(x):
            count = max(0, (len(x) - span) // stride + 1)
            rows = torch.stack([x[c * stride:c * stride + span] for c in range(count)]) if count else x.new_zeros(0, span, K, dim)
            rows = rows.transpose(1, 2)                                                                 # [C, K, span, dim]
            rows = rows if offset is None else rows + offset
            if weight is None:
                total = rows.sum(2)
                return n.sat(n.quot(prefix + name, total, torch.full_like(total, span), 1), bits)
            if kind == "weighted":
                total = self.dot(prefix + name, "ckjd,kj->ckd", rows, weight, span)
            else:
                total = self.dot(prefix + name, "ckji,kjie->cke", rows, weight.reshape(K, span, dim, dim), span * dim)
            return n.sat(n.rsh(total, shift), bits)
        return run

    def released_sparse(self, prefix, m):
        n, B = self.n, m["B"]
        if m.get("rope") != "none":
            raise ValueError("[torch] sparse with rope is not evaluated; rope=none expected")
        H, K, dk, dv = self.head_sizes(m)
        q, k, v, mix = self.maps(prefix, ["q", "k", "v", "mix"])
        gates, f, bits = self.table(prefix + "mix", "sigmoid"), self.scalar(prefix + "mix.fraction"), self.bits(prefix + "y")
        scores, mean, clip = self.softmax(prefix, H, K)
        weights = n.softmax_weights(self.table(prefix + "score", "exp"), self.scalar(prefix + "score.tau", None), clip)
        fraction = self.scalar(prefix + "chance.fraction")
        join_keys, join_values = self.windows(prefix, m, "compress_k", dk, K, True), self.windows(prefix, m, "compress_v", dv, K, False)
        span = m.get("span", B)
        stride, first, local = m.get("stride", span), m.get("first", 1), m.get("local", 2)
        reach, per_block = span // stride, B // stride

        def run(u):
            T = len(u)
            qs, ks, vs = q(u).reshape(T, H, dk), k(u).reshape(T, K, dk), v(u).reshape(T, K, dv)
            keys, values = join_keys(ks), join_values(vs)
            C = len(keys)
            i, own = torch.arange(T)[:, None], torch.div(torch.arange(T), B, rounding_mode="floor")
            seen = torch.arange(C)[None, :] * stride + span - 1 <= i                                    # [T, C]
            s = scores(qs, keys)
            y = [mean(s, values, seen)]
            weight = torch.where(seen, weights(s), torch.zeros((), dtype=n.dtype))                      # [H, T, C]
            share = n.quot(prefix + "chance", weight, weight.sum(-1, keepdim=True).expand_as(weight), 2**fraction)
            chance = share.reshape(K, H // K, T, C).sum(1)
            blocks = torch.arange(int(own[-1]) + 1)
            forced = (blocks[None, :] < first) | (blocks[None, :] > own[:, None] - local)               # [T, blocks]
            token, chosen = scores(qs, ks), []
            for g in range(K):
                total = torch.zeros(T, len(blocks), dtype=n.dtype)
                for b in blocks.tolist():
                    for c in [b * per_block + a + j - reach + 1 for a in range(reach) for j in range(per_block)]:
                        if 0 <= c < C:
                            total[:, b] += chance[g, :, c]
                total = torch.where(forced, total.max() + 1, total)
                picked = self.largest(total, blocks[None, :] <= own[:, None], m["k"])[:, own]           # [T, T]
                chosen += [picked & (torch.arange(T)[None, :] <= i)] * (H // K)
            y.append(mean(token, vs, torch.stack(chosen)))
            if "window" in m:
                y.append(mean(token, vs, self.visible(T, m)))
            share = gates(mix(u)).reshape(T, H, 3, 1)
            n.fits(prefix + "mix", 3.0 * top(share) * max(top(part) for part in y))
            return n.sat(n.rsh(sum(share[:, :, b] * part for b, part in enumerate(y)), f), bits).reshape(T, -1)
        return run

    def mix_sparse(self, prefix, m):
        if m.get("form") == "released":
            return self.released_sparse(prefix, m)
        n, B = self.n, m["B"]
        H, K, dk, dv = self.head_sizes(m)
        groups, three = m.get("groups", K), "window" in m
        q, k, v, ck, cv, mix = self.maps(prefix, ["q", "k", "v", "compress_k", "compress_v", "mix"])
        hidden = self.map(prefix + "compress_hidden") if prefix + "compress_hidden.weight" in self.tensors else None
        (scores, mean, clip), f, bits = self.softmax(prefix, H, K), self.scalar(prefix + "mix.fraction"), self.bits(prefix + "y")

        def run(u):
            T = len(u)
            R = T // B
            c = u[:R * B].reshape(R, B * self.width)
            c = hidden(c).clamp(min=0) if hidden else c
            qs, ks, vs = q(u).reshape(T, H, dk), k(u).reshape(T, K, dk), v(u).reshape(T, K, dv)
            i, own = torch.arange(T)[:, None], torch.div(torch.arange(T), B, rounding_mode="floor")
            before = torch.arange(R)[None, :] < own[:, None]                                            # [T, R]
            s = scores(qs, ck(c).reshape(R, K, dk))
            y = [mean(s, cv(c).reshape(R, K, dv), before)]
            total = clip(s).reshape(groups, H // groups, T, R).sum(1)
            token = scores(qs, ks)
            seen = []
            for g in range(groups):
                chosen = self.largest(total[g], before, m["k"])                                         # [T, R]
                chosen = torch.cat([chosen, torch.zeros(T, 1, dtype=torch.bool)], 1)[:, own]            # [T, T]
                seen += [chosen | ((own[None, :] == own[:, None]) & (torch.arange(T)[None, :] <= i))] * (H // groups)
            y.append(mean(token, vs, torch.stack(seen)))
            share = mix(u).clamp(0, 2**f).reshape(T, H, -1, 1)                                          # [T, H, 1 or 3, 1]
            if three:
                y.append(mean(token, vs, self.visible(T, m)))
                total = sum(share[:, :, b] * y[b] for b in range(3))
            else:
                total = share[:, :, 0] * y[0] + (2**f - share[:, :, 0]) * y[1]
            return n.sat(n.rsh(total, f), bits).reshape(T, -1)
        return run

    # -- recurrences whose state is a matrix a head, S [H, dv, dk]

    def features(self, prefix, m):
        n, word = self.n, m["feature"]
        if word == "identity":  # these two are as wide as their channel
            return lambda x, is_query: x
        if word == "relu":
            return lambda x, is_query: x.clamp(min=0)
        bits = self.bits(prefix + "feature")
        if word in ("elu1", "exp"):
            table = self.table(prefix + "feature", word)
            return lambda x, is_query: n.sat(table(x), bits)
        g, shift = self.scalar(prefix + "feature.fraction"), self.scalar(prefix + "feature.shift")

        def taylor2(x, is_query):  # [T, H, d] -> [T, H, 1 + d + d²]
            pairs = (x[..., :, None] * x[..., None, :]).flatten(-2)
            one = torch.full_like(x[..., :1], 2**(2 * g + is_query))
            return n.sat(n.rsh(torch.cat([one, 2**(g + is_query) * x, pairs], -1), shift), bits)
        return taylor2

    def accumulate(self, s, d, shift):
        if self.accumulator == "exact":
            return s + d
        if self.accumulator == "wrap":
            return self.n.wrap(s + d, self.state_bits)
        return self.n.sat(s + self.n.rsh(d, shift), self.state_bits)

    def base_linear(self, prefix, m):
        """rows(u) -> q, k, v by position; step(S, k, v, t): one update."""
        heads, _, dk, dv = self.head_sizes(m)
        q, k, v = self.maps(prefix, "qkv")
        conv, phi, shift = self.short_conv(prefix, m), self.features(prefix, m), self.scalar(prefix + "update.shift")

        def rows(u):
            qs, ks, vs = [x.reshape(len(u), heads, -1) for x in conv(q(u), k(u), v(u))]
            qs, ks = phi(qs, 1), phi(ks, 0)
            if self.accumulator == "exact":
                self.n.fits(prefix + "state", len(u) * top(ks) * max(top(vs), 1.0))
            return {"q": qs, "k": ks, "v": vs}

        def step(S, r, t, v):
            return self.accumulate(S, v[..., None] * r["k"][t][:, None, :], shift)
        bits = self.bits(prefix + "y")
        return heads, rows, step, 1, lambda r, o: self.n.sat(o, bits).reshape(len(o), -1)

    def mix_linear(self, prefix, m):
        m = {"feature": "elu1", "normalised": "yes", **m}
        heads, rows, step, _, _ = self.base_linear(prefix, m)
        normalised, bits = m["normalised"] == "yes", self.bits(prefix + "y")
        scale, shift = self.scalar(prefix + "value.scale", 1), self.scalar(prefix + "read.shift")

        def read(S, Z, q):
            num = self.read(prefix, S, q)
            if not normalised:
                return self.n.sat(self.n.rsh(num, shift), bits)
            den = self.dot(prefix + "read", "hc,hc->h", Z, q, q.shape[-1])[:, None].expand_as(num)
            return self.n.sat(self.n.quot(prefix + "value", num, den, scale), bits)

        def run(u):
            r = rows(u)
            D = r["k"].shape[-1]
            S, Z = torch.zeros(heads, r["v"].shape[-1], D, dtype=u.dtype), torch.zeros(heads, D, dtype=u.dtype)
            ys = []
            for t in range(len(u)):
                S = step(S, r, t, r["v"][t])
                Z = self.accumulate(Z, r["k"][t], 0)
                if self.causal:
                    ys.append(read(S, Z, r["q"][t]))
            if not self.causal:
                ys = [read(S, Z, q) for q in r["q"]]
            return torch.stack(ys).reshape(len(u), -1)
        return run

    def read(self, prefix, S, q):
        return self.dot(prefix + "read", "hrc,hc->hr", S, q, q.shape[-1])

    def base_mamba2(self, prefix, m):
        heads = m.get("heads", self.sizes.get("heads", 1))
        N, K = m.get("state", self.sizes.get("state", 16)), m.get("groups", heads)
        group = [h * K // heads for h in range(heads)]
        f = self.form(m)
        x, b, c, gate = self.maps(prefix, ["x", "b", "c", "dt" if f["step"] else "gate"])
        conv, shift = self.short_conv(prefix, m, f["conv_bias"]), self.scalar(prefix + "decay.shift")
        act, update = self.activation(prefix, "act", f["act"]), self.scalar(prefix + "update.shift") if f["step"] else 0
        decays = self.step_decay(prefix, "dt") if f["step"] else None
        table = None if f["step"] else self.table(prefix + "gate", "decay")
        outputs = len(self.tensor(prefix + "x.weight"))
        groups = m.get("norm_groups", K) if f["norm"] != "none" else 1
        finish = self.output_form(prefix, f, outputs // groups)
        skip, skipped = None, 0
        if f["skip"] != "none":
            skip, skipped = self.tensor(prefix + "skip.weight").reshape(heads, -1), self.scalar(prefix + "skip.shift")

        def rows(u):
            T = len(u)
            xs, bs, cs = [act(part) for part in conv(x(u), b(u), c(u))]
            size, decay = decays(gate(u)) if decays else (None, table(gate(u)))
            return {"v": xs.reshape(T, heads, -1), "k": bs.reshape(T, K, N)[:, group], "q": cs.reshape(T, K, N)[:, group],
                    "decay": decay, "step": size, "u": u}

        def step(S, r, t, v):
            decay = r["decay"][t][:, None, None]
            self.n.fits(prefix + "decay", top(decay) * top(S))
            written = v[..., None] * r["k"][t][:, None, :]
            if decays:
                self.n.fits(prefix + "update", top(written) * top(r["step"][t]))
                written = self.n.rsh(r["step"][t][:, None, None] * written, update)
            return self.settle(self.n.rsh(decay * S, shift) + written)

        def emit(r, o):  # [T, H, dv]
            if skip is not None:
                self.n.fits(prefix + "skip", top(skip) * top(r["v"]))
                o = o + self.n.rsh(skip * r["v"], skipped)
            return finish(r["u"], o.reshape(len(o), -1))
        return heads, rows, step, 1, emit

    def base_delta(self, prefix, m, gated=False):
        n = self.n
        heads, K, dk, dv = self.head_sizes(m)
        group, steps = [h * K // heads for h in range(heads)], m.get("steps", 1)
        scale = m.get("range", 1) if not self.holds_tables else 1  # an integer file's table says beta itself
        form = self.form(m)
        q, k, v = self.maps(prefix, ["q", "k", "v"])
        beta, beta_table = (self.map(prefix + "beta"), self.table(prefix + "beta", "sigmoid")) if form["beta"] else (None, None)
        gate = self.map(prefix + "gate") if gated else None
        decays = self.step_decay(prefix, "gate") if form["step"] else None
        gate_table = self.table(prefix + "gate", "decay") if gated and not form["step"] else None
        conv = self.short_conv(prefix, m, form["conv_bias"])
        key_act, act = self.activation(prefix, "qk_act", form["qk_act"]), self.activation(prefix, "act", form["act"])
        finish = self.output_form(prefix, form, dv)
        read_scale = 1
        if form["scale"]:
            read_scale = self.scalar(prefix + "read.scale", 1) if self.holds_tables else 1 / math.sqrt(dk)
        predict, write = [self.scalar(f"{prefix}{name}.shift") for name in ("predict", "write")]
        decay = self.scalar(prefix + "decay.shift") if gated else 0
        unit = None
        if form["qk_norm"] == "sum":
            f, bits = self.scalar(prefix + "key.fraction"), self.bits(prefix + "key")
            unit = lambda x: n.sat(n.quot(prefix + "key", x, x.sum(-1, keepdim=True), 2**f), bits)
        elif prefix + "key.fraction" in self.tensors if form["plain"] else form["qk_norm"] == "l2":
            f, e, bits = self.scalar(prefix + "key.fraction"), self.scalar(prefix + "key.extra", 8), self.bits(prefix + "key")
            epsilon = 0 if form["plain"] else self.epsilon(prefix + "key", e) if self.holds_tables else LENGTH_EPSILON
            unit = lambda x: n.unit(prefix + "key", x, torch.ones((), dtype=n.dtype), f, e, bits, False, epsilon)

        def rows(u):
            T = len(u)
            qs, ks, vs = conv(q(u), k(u), v(u))
            qs, ks, vs = key_act(qs), key_act(ks), act(vs)
            qs, ks = qs.reshape(T, K, dk), ks.reshape(T, steps, K, dk)
            if unit:
                qs, ks = unit(qs), unit(ks)
            strength = scale * beta_table(beta(u)) if beta else torch.full((T, steps * heads), m.get("range", 1), dtype=n.dtype)
            r = {"q": qs[:, group], "k": ks[:, :, group], "v": vs.reshape(T, steps, heads, dv), "beta": strength.reshape(T, steps, heads), "u": u}
            if gated:
                r["gate"] = decays(gate(u))[1] if decays else gate_table(gate(u))
            return r

        def step(S, r, t, v):
            if gated:
                g = r["gate"][t][:, None, None]
                n.fits(prefix + "gate", top(g) * top(S))
                S = self.settle(n.rsh(g * S, decay))
            for key, value, b in zip(r["k"][t], v, r["beta"][t]):
                error = self.settle(value - n.rsh(self.dot(prefix + "predict", "hrc,hc->hr", S, key, dk), predict))
                n.fits(prefix + "write", top(r["beta"]) * top(error) * top(key))
                S = self.settle(S + n.rsh(b[:, None, None] * error[..., None] * key[:, None, :], write))
            return S
        return heads, rows, step, read_scale, lambda r, o: finish(r["u"], o.reshape(len(o), -1))

    def base_gdelta(self, prefix, m):
        return self.base_delta(prefix, m, gated=True)

    def recurrence(self, prefix, base):
        heads, rows, step, scale, emit = base
        shift = self.scalar(prefix + "read.shift")

        def run(u):
            r, ys = rows(u), []
            S = torch.zeros(heads, r["v"].shape[-1], r["k"].shape[-1], dtype=u.dtype)
            for t in range(len(u)):
                S = step(S, r, t, r["v"][t])
                reading = self.read(prefix, S, r["q"][t])
                self.n.fits(prefix + "read", scale * top(reading))
                ys.append(self.n.rsh(scale * reading, shift))
            return emit(r, torch.stack(ys))
        return run

    def mix_mamba2(self, prefix, m):
        return self.recurrence(prefix, self.base_mamba2(prefix, m))

    def mix_delta(self, prefix, m):
        return self.recurrence(prefix, self.base_delta(prefix, m))

    def mix_gdelta(self, prefix, m):
        return self.recurrence(prefix, self.base_gdelta(prefix, m))

    def mix_loglinear(self, prefix, m):
        m = {"base": "linear", "feature": "identity", **m}
        heads, rows, step, _, emit = getattr(self, "base_" + m["base"])(prefix, m)
        if m["base"] == "linear":
            self.scalar(prefix + "value.scale", 1)                                                      # may stand there, used or not
        levels = self.context.bit_length() + 1                                                          # ⌊lg context⌋ + 2
        named = m.get("form") == "released" or self.has_table(prefix + "level")
        level, table = self.map(prefix + "level"), self.table(prefix + "level", "softplus") if named else None
        shift = self.scalar(prefix + "read.shift")
        plain = m["base"] == "linear" and self.accumulator == "exact"

        def strong(states):
            """[tokens, state] of every level: levels 0 and 1 have room for one token, level l for 2^(l-1)."""
            carry = [0, None]
            for i in range(levels):
                if i == 0 or states[i][0] + carry[0] > 2**(i - 1):
                    states[i], carry = carry, states[i]
                elif carry[0]:
                    states[i] = [states[i][0] + carry[0], carry[1] if states[i][1] is None else self.settle(states[i][1] + carry[1])]
                    carry = [0, None]
            return states

        def run(u):
            r, ys = rows(u), []
            share = level(u).reshape(len(u), heads, levels)
            share = share.clamp(min=0) if table is None else table(share)
            zero = torch.zeros(heads, r["v"].shape[-1], r["k"].shape[-1], dtype=u.dtype)
            states, counts = [None] * levels, [0] * levels
            for t in range(len(u)):
                if t > 0 and m.get("partition") == "strong":
                    counts[0] = 1
                    counts, states = map(list, zip(*strong([list(pair) for pair in zip(counts, states)])))
                elif t > 0:
                    l = (t & -t).bit_length() - 1
                    merged = states[0]
                    for other in states[1:l + 1]:
                        merged = merged if other is None else merged + other if plain else self.settle(merged + other)
                    states = [None] * (l + 1) + [merged] + states[l + 2:]
                if m["base"] != "linear":
                    states = [None if S is None else step(S, r, t, torch.zeros_like(r["v"][t])) for S in states]
                states[0] = step(zero, r, t, r["v"][t])
                total = torch.zeros_like(r["v"][t])
                for i, S in enumerate(states):
                    if S is not None:
                        reading = self.read(prefix, S, r["q"][t])
                        self.n.fits(prefix + "read", levels * top(share) * top(reading))
                        total = total + share[t, :, i:i + 1] * reading
                ys.append(self.n.rsh(total, shift))
            return emit(r, torch.stack(ys))
        return run

    # -- recurrences whose state is a vector or a channel's

    def mix_mamba(self, prefix, m):
        n = self.n
        f = self.form(m)
        x, b, c, delta = self.maps(prefix, ["x", "b", "c", "delta"])
        low = self.map(prefix + "delta_low") if f["rank"] else lambda u: u
        a, skip, conv = self.tensor(prefix + "a.weight"), self.tensor(prefix + "skip.weight"), self.short_conv(prefix, m, f["conv_bias"])
        act, finish = self.activation(prefix, "act", f["act"]), self.output_form(prefix, f, len(skip))
        delta_table, decay_table = self.table(prefix + "delta", "softplus"), self.table(prefix + "decay", "exp")
        index, decay, update, read, skipped = [self.scalar(prefix + name) for name in (
            "decay.index_shift", "decay.shift", "update.shift", "read.shift", "skip.shift")]
        norms = m.get("norms", "none")
        offset, rms = 0, {}
        if norms != "none":
            offset, rms = self.tensor(prefix + "delta.offset"), {name: self.inner_norm(prefix, name) for name in ("b", "c", "delta")}

        def run(u):
            xs = act(conv(x(u))[0])
            source = xs if f["select"] else u
            bs, cs, inner = b(source), c(source), low(source)
            steps = delta(rms["delta"](inner) if norms == "before" else inner)
            if rms:
                bs, cs, steps = rms["b"](bs), rms["c"](cs), rms["delta"](steps) if norms == "after" else steps
            step = delta_table(steps + offset)
            n.fits(prefix + "update", top(step) * max(top(bs) * top(xs), top(a)))
            h, ys = torch.zeros_like(a), []                                                             # [I, N]
            for t in range(len(u)):
                rate = decay_table(n.rsh(step[t][:, None] * a, index))
                n.fits(prefix + "decay", top(rate) * top(h))
                h = self.settle(n.rsh(rate * h, decay) + n.rsh(step[t][:, None] * bs[t] * xs[t][:, None], update))
                y = n.rsh(self.dot(prefix + "read", "in,n->i", h, cs[t], len(cs[t])), read)
                ys.append(y + n.rsh(skip * xs[t], skipped))
            return finish(u, torch.stack(ys))
        return run

    def unrounded(self, prefix, names):
        """Maps whose sums are used as they are."""
        return [self.sums(prefix + name) for name in names]

    def mix_rnn(self, prefix, m):
        x, h = self.unrounded(prefix, "xh")
        table = None if m.get("cell", "tanh") == "relu" else self.table(prefix + "cell", "tanh")
        shift, bits = self.scalar(prefix + "cell.shift"), self.bits(prefix + "y")
        size = m.get("size", self.width)

        def run(u):
            xs, state, ys = x(u), torch.zeros(size, dtype=u.dtype), []
            for t in range(len(u)):
                s = self.n.rsh(xs[t] + h(state[None])[0], shift)
                state = self.settle(s.clamp(min=0) if table is None else table(s))
                ys.append(self.n.sat(state, bits))
            return torch.stack(ys)
        return run

    def mix_gru(self, prefix, m):
        n = self.n
        xz, hz, xr, hr, xn, hn = self.unrounded(prefix, ["xz", "hz", "xr", "hr", "xn", "hn"])
        gate, cell = self.table(prefix + "gate", "sigmoid"), self.table(prefix + "cell", "tanh")
        f, gate_shift, cell_shift = [self.scalar(prefix + name) for name in ("gate.fraction", "gate.shift", "cell.shift")]
        size, bits = m.get("size", self.width), self.bits(prefix + "y")

        def run(u):
            zs, rs, ns, h, ys = xz(u), xr(u), xn(u), torch.zeros(size, dtype=u.dtype), []
            for t in range(len(u)):
                z = gate(n.rsh(zs[t] + hz(h[None])[0], gate_shift))
                r = gate(n.rsh(rs[t] + hr(h[None])[0], gate_shift))
                inner = hn(h[None])[0]
                n.fits(prefix + "hn", top(r) * top(inner))
                new = cell(n.rsh(ns[t] + n.rsh(r * inner, f), cell_shift))
                n.fits(prefix + "gate", 2.0**f * (top(h) + top(new)))
                h = self.settle(n.rsh(z * h + (2**f - z) * new, f))
                ys.append(n.sat(h, bits))
            return torch.stack(ys)
        return run

    # -- the rest

    def mix_conv(self, prefix, m):
        v, taps, shift, bits = self.map(prefix + "v"), self.tensor(prefix + "taps.weight"), self.scalar(prefix + "taps.shift"), self.bits(prefix + "y")
        return lambda u: self.n.sat(self.n.rsh(self.convolve(prefix + "taps", v(u), taps), shift), bits)

    def mix_identity(self, prefix, m):
        v, bits = self.map(prefix + "v"), self.bits(prefix + "y")
        return lambda u: self.n.sat(v(u), bits)

    def mix_heads(self, prefix, m):
        share = sum(part["heads"] for part in m["parts"])
        parts = [self.mixer(f"{prefix}part.{i}.", {**part, "share": share}) for i, part in enumerate(m["parts"])]
        return lambda u: torch.cat([part(u) for part in parts], 1)

    # -- running

    def rows(self, prompt):
        """A list of tokens, or {"field": values} as in the "fields" of an instance."""
        given = prompt if isinstance(prompt, dict) else {self.fields[0]["name"]: prompt}
        columns = [torch.tensor(given[field["name"]], dtype=torch.int64) for field in self.fields]
        for field, column in zip(self.fields, columns):
            low = field.get("low", 0)
            if column.numel() and (column.min() < low or column.max() >= low + field["size"]):
                raise ValueError(f'[torch] field {field["name"]}: a value outside {low}..{low + field["size"] - 1}')
        return columns

    def residual(self, columns):
        T = len(columns[0])
        if self.context and T > self.context:
            raise ValueError(f"[torch] {T} positions; the model's context is {self.context}")
        x = sum(embed(column) for embed, column in zip(self.embeddings, columns))
        if self.position:
            x = x + self.position(torch.arange(T))
        x = self.n.sat(self.n.rsh(x, self.embed_shift), self.stream_bits)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)

    def logits(self, prompt):
        """[T, outputs], not rounded."""
        x = self.residual(self.rows(prompt))
        self.n.fits("out", float(self.out.double().abs().sum(1).max()) * top(x))
        z = x @ self.out.T
        return z if self.out_bias is None else z + self.out_bias

    def answer(self, z):
        """What one row of logits says: a token, or the numbers of a vector."""
        if self.output["kind"] == "vector":
            return z.tolist()
        if self.output["kind"] == "logits":
            return int((z == z.max()).nonzero()[0, 0])
        return sum(1 << d for d, above in enumerate((z > self.threshold).tolist()) if above)

    def generate(self, prompt):
        """The tokens of the chain of thought."""
        given = prompt if isinstance(prompt, dict) else {self.fields[0]["name"]: prompt}
        given, written = {name: list(values) for name, values in given.items()}, []
        while len(written) < self.decode["steps"]:
            written.append(self.answer(self.logits(given)[-1]))
            if written[-1] == self.decode.get("stop"):
                break
            for i, field in enumerate(self.fields):
                length = field.get("length", 1)
                given[field["name"]].append(written[-1] if i == 0 else 0 if length == 1 else [0] * length)
        return written


def load(path, real=False):
    """`real` reads the integers of an integer model as reals."""
    return Model(path, real)


def main():
    parser = argparse.ArgumentParser(description="Runs a rung model with torch; one JSON line of logits a prompt.")
    parser.add_argument("model", help="a safetensors file of format rung.weights/2 or /1")
    parser.add_argument("--prompts", required=True, help='JSON lines with "tokens": [..] or "fields": {..}; - reads standard input')
    parser.add_argument("--every-position", action="store_true", help="logits at every position (default: where the answer is read)")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    model = load(flags.model)
    for line in sys.stdin if flags.prompts == "-" else open(flags.prompts, encoding="utf-8"):
        if not line.strip():
            continue
        row = json.loads(line)
        prompt = row["tokens"] if "tokens" in row else row["fields"]
        z = model.logits(prompt)
        wanted = range(len(z)) if flags.every_position else row.get("answer_positions", [len(z) - 1])
        out = {"positions": list(wanted), "logits": [z[t].tolist() for t in wanted], "answer": [model.answer(z[t]) for t in wanted]}
        if model.decode.get("steps", 0) > 0:
            out["generated"] = model.generate(prompt)
        print(json.dumps(out))


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OverflowError, KeyError, OSError) as error:
        sys.exit(f"model.py: {error}")
