#!/usr/bin/python3
"""What a build costs, by folder: job-seconds and jobs from a build tree's .ninja_log.

    bench/build_cost.py build/release [build/dev ...]             a table of every part
    bench/build_cost.py --summary build/release [build/dev ...]   the table of CONTRIBUTING.md

Job-seconds are wall-clock seconds of single jobs, so they mean something only for a build from nothing on a machine that
does nothing else, without a compiler cache. The clock's total runs from the first job's start to the last job's end.
"""
import collections
import os
import re
import sys

FOLDER = re.compile(r"CMakeFiles/(?P<target>[\w-]+)\.dir/")


def jobs(log):
    """[(output, start, end)] in seconds; the last run of a job counts, and one with several outputs is one job."""
    found = {}
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            parts = line.rstrip("\n").split("\t")
            if len(parts) == 5:
                found[parts[4]] = (parts[3], int(parts[0]) / 1000, int(parts[1]) / 1000)
    return list(found.values())


def part_of(output):
    target = FOLDER.search(output)
    if not target:
        return "links and pages"
    name = target.group("target")
    return name + (" (precompiled header)" if output.endswith(".gch") else "")


GROUPS = (  # the first that fits
    ("precompiled headers", re.compile(r"precompiled")),
    ("once more under the sanitizers", re.compile(r"^rung_sanitized_")),
    ("tests", re.compile(r"_tests$|_fuzz_|issuer|_logits$|example")),
    ("training and the laboratory (libtorch)", re.compile(r"^rung_(learn|lab)|^rung-learn")),
    ("links and pages", re.compile(r"^links and pages$")),
    ("the checker", re.compile(r"check")),
    ("the commands", re.compile(r"^rung$|^rung_cli$")),
    ("the other libraries", re.compile("")),
)


def summary(trees):
    columns = []
    for tree in trees:
        found, seconds = jobs(os.path.join(tree, ".ninja_log")), collections.Counter()
        for output, start, end in found:
            seconds[next(name for name, fits in GROUPS if fits.search(part_of(output)))] += end - start
        columns.append(seconds)
    lines = ["| job-seconds | " + " | ".join(os.path.basename(os.path.normpath(tree)) for tree in trees) + " |",
             "| --- |" + " ---: |" * len(trees)]
    for name, _ in GROUPS:
        lines.append(f"| {name} | " + " | ".join(f"{seconds[name]:.0f}" if seconds[name] else "" for seconds in columns) + " |")
    lines.append("| all | " + " | ".join(f"{sum(seconds.values()):.0f}" for seconds in columns) + " |")
    return "\n".join(lines)


def table(tree):
    found = jobs(os.path.join(tree, ".ninja_log"))
    if not found:
        sys.exit(f"{tree}: an empty .ninja_log")
    seconds, counts = collections.Counter(), collections.Counter()
    for output, start, end in found:
        seconds[part_of(output)] += end - start
        counts[part_of(output)] += 1
    clock = max(end for _, _, end in found) - min(start for _, start, _ in found)
    lines = [f"| part of {os.path.basename(os.path.normpath(tree))} | jobs | job-seconds |", "| --- | ---: | ---: |"]
    lines += [f"| {part} | {counts[part]} | {seconds[part]:.0f} |" for part, _ in seconds.most_common()]
    lines.append(f"| all, {clock:.0f} s by the clock | {sum(counts.values())} | {sum(seconds.values()):.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--summary"] and len(sys.argv) > 2:
        print(summary(sys.argv[2:]))
        sys.exit()
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print("\n\n".join(table(tree) for tree in sys.argv[1:]))
