"""The transformer of bench_training in plain PyTorch, eager, one model: 4 layers, width 64, 2 heads, context 256, batch 64,
vocabulary 256, whole step (fresh tokens, forward, backward, clipping, AdamW). Prints a Markdown table."""
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

import figures

context = int(sys.argv[1]) if len(sys.argv) > 1 else 256
device = "cuda" if torch.cuda.is_available() else "cpu"


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(64), nn.RMSNorm(64)
        self.qkv, self.o = nn.Linear(64, 192, bias=False), nn.Linear(64, 64, bias=False)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, 2, 32).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, 64))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(256, 64), nn.Parameter(torch.randn(context, 64) * 0.5)
        self.layers, self.norm, self.out = nn.ModuleList(Layer() for _ in range(4)), nn.RMSNorm(64), nn.Linear(64, 256)

    def forward(self, tokens):
        x = self.token(tokens) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def rate(autocast):
    torch.manual_seed(1)
    model = Transformer().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=device == "cuda")

    def step():
        tokens = torch.randint(256, (64, context), device=device)
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            z = model(tokens)
        F.cross_entropy(z.float().view(-1, 256), tokens.roll(-1, 1).flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(10):
        step()
    wait()
    steps, start = 50, time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    each = (time.perf_counter() - start) / steps
    return each * 1e3, 64 * context / each / 1e6


torch.backends.cuda.matmul.allow_tf32 = True
print(f"PyTorch {torch.__version__} eager, one model, context {context}\n\n| precision | ms a step | million tokens/s |\n| --- | --- | --- |")
for name, autocast in (("tf32", False), ("bf16 autocast", True)):
    ms, tokens = rate(autocast)
    print(f"| {name} | {ms:.2f} | {tokens:.2f} |")
    figures.add("training", f"peer: PyTorch eager, one model, {name}", tokens, "million tokens/s", machine=torch.cuda.get_device_name() if device == "cuda" else None)
