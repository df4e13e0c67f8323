#!/usr/bin/python3
"""clang-tidy's checks of .clang-tidy over the folders that are named, or over all of rung, cli and check; exit code 1 on a finding.

  cmake --preset tidy
  bench/tidy.py build/tidy rung/spec rung/theory

It reads the compile commands of a build folder that compiles every file alone (RUNG_UNITY=OFF), which need not be built, and runs at the lowest
priority unless told otherwise: the whole tree is expensive."""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time

TOPS = ("rung", "cli", "check")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="a build folder of the preset tidy")
    parser.add_argument("folders", nargs="*", default=list(TOPS), help="below the root of the repository (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--nice", type=int, default=19, help="priority: beside other work the lowest, 19, may never come to run (default: 19)")
    given = parser.parse_intermixed_args()  # flags may stand between the folders
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tidy:
        sys.exit("clang-tidy is missing; Debian package clang-tidy")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(given.build, "compile_commands.json"), encoding="utf-8") as listed:
        names = {os.path.relpath(entry["file"], root) for entry in json.load(listed)}
    wanted = sorted(name for name in names if name.endswith(".cc") and any(
        name == folder or name.startswith(folder.rstrip("/") + "/") for folder in given.folders))
    if not wanted:
        sys.exit(f"no file of {' '.join(given.folders)} in {given.build}: configure it with the preset tidy")

    def check(name):
        return name, subprocess.run(["nice", "-n", str(given.nice), tidy, "--quiet", "-p", given.build, os.path.join(root, name)],
                                    capture_output=True, text=True)

    start, found = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for name, run in pool.map(check, wanted):
            if run.returncode:
                found += 1
                print(f"{name}\n{run.stdout}{run.stderr}")
    print(f"{len(wanted)} files, {found} with findings, {time.monotonic() - start:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
