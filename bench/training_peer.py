"""The transformer of bench_training in plain PyTorch, one model: 4 layers, whole step (fresh tokens, forward, backward, clipping, AdamW), with
PyTorch's own attention kernels. Prints a Markdown table and keeps the figures.

    bench/training_peer.py [--width 64] [--heads 2] [--context 256] [--batch 64] [--compile]

eager: a loop of operations; graph: the same step in bf16 recorded once and replayed (CUDA); compiled: torch.compile, then recorded.
"""
import argparse
import time

import torch
from torch import nn
import torch.nn.functional as F

import figures

VOCABULARY, LAYERS = 256, 4


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, width), nn.Parameter(torch.randn(context, width) * 0.5)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(LAYERS))
        self.norm, self.out = nn.RMSNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.token(tokens) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def peer(options, device, autocast, recorded, compiled):
    """(milliseconds a step, million tokens a second, peak GB)."""
    torch.manual_seed(1)
    cuda = device == "cuda"
    model = Transformer(options.width, options.heads, options.context).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=cuda, capturable=recorded)
    forward = torch.compile(model) if compiled else model

    def step():
        optimiser.zero_grad(set_to_none=not recorded)
        tokens = torch.randint(VOCABULARY, (options.batch, options.context), device=device)
        with torch.autocast(device, torch.bfloat16, enabled=autocast, cache_enabled=not recorded):
            z = forward(tokens)
        F.cross_entropy(z.float().view(-1, VOCABULARY), tokens.roll(-1, 1).flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    def wait():
        if cuda:
            torch.cuda.synchronize()

    if cuda:
        torch.cuda.reset_peak_memory_stats()
    if recorded:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        run = graph.replay
    else:
        run = step
    for _ in range(5):
        run()
    wait()
    steps, start = 20, time.perf_counter()
    for _ in range(steps):
        run()
    wait()
    each = (time.perf_counter() - start) / steps
    return each * 1e3, options.batch * options.context / each / 1e6, torch.cuda.max_memory_allocated() / 1e9 if cuda else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("width", 64), ("heads", 2), ("context", 256), ("batch", 64)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--compile", action="store_true", help="torch.compile too, which takes a minute")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    sizes = f"width {options.width}, {options.heads} heads, context {options.context}, batch {options.batch}"
    print(f"PyTorch {torch.__version__}, one model, {sizes}\n\n| form | ms a step | million tokens/s | peak GB |\n| --- | --- | --- | --- |")
    forms = [("eager, tf32", False, False, False), ("eager, bf16 autocast", True, False, False)]
    if device == "cuda":
        forms.append(("graph, bf16 autocast", True, True, False))
        if options.compile:
            forms.append(("compiled, graph, bf16 autocast", True, True, True))
    for name, autocast, recorded, compiled in forms:
        try:
            ms, tokens, memory = peer(options, device, autocast, recorded, compiled)
        except RuntimeError as error:
            print(f"| {name} | {str(error).splitlines()[0][:120]} | | |", flush=True)
            continue
        print(f"| {name} | {ms:.2f} | {tokens:.2f} | {memory:.2f} |", flush=True)
        figures.add("training", f"peer: PyTorch {name}, one model, {sizes}", tokens, "million tokens/s",
                    machine=torch.cuda.get_device_name() if device == "cuda" else None)


if __name__ == "__main__":
    main()
