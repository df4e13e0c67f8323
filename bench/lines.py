#!/usr/bin/env python3
"""Lines of product code by folder, at two commits: the table of bench/results/lines.md.

bench/lines.py [BEFORE [AFTER]]    e5de917~1, where the redesign began, and HEAD unless others are named
"""
import io
import subprocess
import sys
import tarfile

ENDINGS = (".cc", ".h", ".cu", ".cuh", ".js", ".css", ".py")


def lines(commit):
    """Lines by file, of the folders of the product."""
    listed = subprocess.run(["git", "ls-tree", "--name-only", commit, "rung", "cli", "check", "web", "python"], capture_output=True, text=True, check=True).stdout.split()
    archive = subprocess.run(["git", "archive", commit, *listed], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        return {member.name: files.extractfile(member).read().count(b"\n") for member in files if member.isfile() and member.name.endswith(ENDINGS)}


def folder(name):
    parts = name.split("/")
    if name.startswith("rung/learn/kernels/"):
        return "rung/learn/kernels"
    return "/".join(parts[:2]) if parts[0] == "rung" else parts[0]


def main():
    commits = (sys.argv[1:] + ["e5de917~1", "HEAD"][len(sys.argv) - 1:])[:2]
    counts = [lines(commit) for commit in commits]
    short = [subprocess.run(["git", "rev-parse", "--short=7", commit], capture_output=True, text=True, check=True).stdout.strip() for commit in commits]
    print(f"| folder | {short[0]} | {short[1]} | difference |\n| --- | ---: | ---: | ---: |")
    rows = [(name, [sum(number for file, number in count.items() if folder(file) == name) for count in counts])
            for name in sorted({folder(file) for count in counts for file in count}, key=lambda name: (not name.startswith("rung"), name))]
    rows.append(("all", [sum(count.values()) for count in counts]))
    for name, (before, after) in rows:
        print(f"| {name if name == 'all' else f'`{name}`'} | {before:,} | {after:,} | {after - before:+,} |")


if __name__ == "__main__":
    main()
