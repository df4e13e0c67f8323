#!/usr/bin/env python3
"""What a training step spends on a GPU, kernel by kernel, against what the machine can do: Nsight Compute counts, this page divides.

    bench/roofline.py BUILD [--members 32] [OPTION VALUE]... LINE...      a Markdown table for each line; options are bench_training's

Bytes are those that cross the memory bus, operations those of the matrix units. The machine's own rates are measured first: a copy that is
larger than the cache, and a product of two 8192 x 8192 matrices in bf16. A kernel's share of either says what holds it; below a third of both, it
waits for something else (latency, scalar arithmetic, launches).
"""
import csv
import io
import re
import subprocess
import sys

import torch

TIME, READ, WRITE = "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"
MATRIX = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"
UNITS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1, "second": 1, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6,
         "Gbyte": 1e9}


def milliseconds(work, count=10):
    for _ in range(3):
        work()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(count):
        work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / count


def ceilings():
    """(bytes a second of a copy, operations a second of a product)."""
    source = torch.empty(1 << 30, dtype=torch.int32, device="cuda").random_()
    target = torch.empty_like(source)
    copy = 2 * source.numel() * 4 / milliseconds(lambda: target.copy_(source)) * 1e3
    del source, target
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return copy, 2 * 8192**3 / milliseconds(lambda: a @ b) * 1e3


def counted(program, options, line, metrics):
    """Rows of Nsight Compute: a dictionary a kernel of the profiled step."""
    command = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(metrics),
               program, "profile", *options, line]
    run = subprocess.run(command, capture_output=True, text=True)
    start = run.stdout.find('"ID"')
    if start < 0:
        sys.exit(f"{' '.join(command)}\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    rows = list(csv.DictReader(io.StringIO(run.stdout[start:])))
    units, kernels = rows[0], rows[1:]
    for kernel in kernels:
        for metric in metrics:
            kernel[metric] = float(kernel.get(metric, "0").replace(",", "") or 0) * UNITS.get(units.get(metric, ""), 1)
    return kernels


def short(name):
    """A kernel's name without its arguments, its instance and the names of libraries' folders."""
    name = re.sub(r"\((?!anonymous).*", "", name.replace("(anonymous namespace)", "").replace("<unnamed>", ""))
    cut = name.find("<")
    inner = re.search(r"(\w+)(Functor|_kernel_cuda|Op)\b", name[cut:]) if cut >= 0 else None
    head = re.sub(r"^(void|static)\s+", "", name[:cut] if cut >= 0 else name).split("::")[-1]
    return f"{head} ({inner.group(0)})" if inner and head.endswith("elementwise_kernel") else head


def table(program, options, line, copy, product):
    metrics = [TIME, READ, WRITE, MATRIX]
    kernels = counted(program, options, line, metrics)
    groups = {}
    for kernel in kernels:
        group = groups.setdefault(short(kernel["Kernel Name"]), {"count": 0, **dict.fromkeys(metrics, 0.0)})
        group["count"] += 1
        for metric in metrics:
            group[metric] += kernel[metric]
    total = sum(group[TIME] for group in groups.values())
    print(f"\n## {line}\n\n{len(kernels)} kernels, {total * 1e3:.2f} ms\n\n| kernel | launches | ms | share | GB | of the copy rate | of the product rate |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")

    def row(name, group):
        seconds, moved = group[TIME], group[READ] + group[WRITE]
        print(f"| {name} | {group['count']} | {seconds * 1e3:.3f} | {seconds / total:.1%} | {moved / 1e9:.2f} | {moved / seconds / copy:.0%} | "
              f"{group[MATRIX] / seconds / product:.0%} |")
    for name, group in sorted(groups.items(), key=lambda each: -each[1][TIME]):
        row(name, group)
    row("all", {"count": len(kernels), **{metric: sum(group[metric] for group in groups.values()) for metric in metrics}})


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, options, lines = f"{arguments[0]}/bench/bench_training", [], []
    rest = iter(arguments[1:])
    for word in rest:
        if word.startswith("--"):
            options += [word, next(rest, "")]
        else:
            lines.append(word)
    copy, product = ceilings()
    print(f"{torch.cuda.get_device_name()}: a copy moves {copy / 1e12:.2f} TB/s (read and written), a product in bf16 does {product / 1e12:.0f} TFLOP/s.")
    for line in lines:
        table(program, options, line, copy, product)
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
