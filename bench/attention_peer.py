#!/usr/bin/env python3
"""PyTorch's causal attention in bf16 at the sizes of `RUNG_BENCH_KERNELS=1 rung_learn_kernels_device_tests` (2 heads, as many numbers in all
as 2048 sequences of 256 tokens and heads of 32 have): milliseconds forward and backward, whichever of its kernels is fastest. The gradients
are put side by side, as a model with one projection for queries, keys and values needs them.

    bench/attention_peer.py
"""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS, NUMBERS = 2, 2048 * 256 * 2 * 32


def milliseconds(work, count=20):
    times = []
    for i in range(count + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if i >= 3:
            times.append(start.elapsed_time(end))
    return sorted(times)[count // 2]


def timed(backend, size, positions):
    """(forward, backward) of one of PyTorch's kernels, or None where it refuses the size."""
    sequences = NUMBERS // HEADS // size // positions
    fused = torch.randn(sequences, positions, 3, HEADS, size, device="cuda", dtype=torch.bfloat16).mul_(0.3).requires_grad_()
    slope = torch.randn(sequences, HEADS, positions, size, device="cuda", dtype=torch.bfloat16)

    def forward():
        q, k, v = fused.permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.18)

    try:
        with sdpa_kernel(backend):
            y = forward()
            y.backward(slope)
            both = milliseconds(lambda: torch.autograd.grad(forward(), fused, slope))
            with torch.no_grad():
                alone = milliseconds(forward)
    except RuntimeError:
        return None
    return alone, both - alone


def main():
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n\n| head | positions | kernel | forward, ms | backward, ms |\n| --- | --- | --- | --- | --- |")
    for size in (16, 32, 64):
        for positions in (256, 512, 1024, 2048, 4096):
            for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
                if times := timed(backend, size, positions):
                    print(f"| {size} | {positions} | {backend.name} | {times[0]:.3f} | {times[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
