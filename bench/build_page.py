#!/usr/bin/python3
"""Measures what ./run and ./test cost from a clean clone, and writes bench/results/build.md and the section "What the build costs"
of CONTRIBUTING.md. On a machine that does nothing else; about half an hour on two cores.

    bench/build_page.py FOLDER            clones the last commit into FOLDER, builds and tests it there; FOLDER may be deleted then
    bench/build_page.py FOLDER --no-tests leaves the tests out
"""
import os
import re
import resource
import subprocess
import sys
import time

import build_cost

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLOWEST = 25


def measured(command, folder, log):
    """(exit code, seconds by the clock, user seconds, system seconds) of a command and all that it starts."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, time.monotonic() - start, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def build(clone, preset, jobs):
    """Configures and builds as packaging/setup.sh does, without a compiler cache."""
    os.makedirs(f"{clone}/build", exist_ok=True)
    environment = {**os.environ, "CXX": "/usr/bin/g++"}
    subprocess.run(["cmake", "--preset", preset, "-DCCACHE_PROGRAM=OFF"], cwd=clone, env=environment, check=True, stdout=subprocess.DEVNULL)
    log = f"{clone}/build/{preset}.log"
    code, *seconds = measured(["cmake", "--build", "--preset", preset, "--parallel", jobs], clone, log)
    if code:
        sys.exit(f"{preset} does not build; see {log}")
    return seconds


def test(clone, jobs):
    """(seconds, what ctest said at its end, rows of the slowest tests)."""
    log = f"{clone}/build/test.log"
    _, clock, user, system = measured(["ctest", "--test-dir", "build/dev", "--output-on-failure", "--parallel", jobs, "--label-exclude", "long"],
                                      clone, log)
    with open(log, encoding="utf-8", errors="replace") as lines:
        text = lines.read()
    verdict = re.search(r"^\d+% tests passed.*$", text, re.MULTILINE)
    times = re.findall(r"Test +#\d+: (\S+) \.+ *\**(?:Passed|Failed|Skipped|Timeout)\D*([\d.]+) sec", text)
    rows = [f"| {name} | {float(seconds):.0f} |" for name, seconds in sorted(times, key=lambda row: -float(row[1]))[:SLOWEST]]
    return clock, user + system, verdict.group(0) if verdict else f"ctest said nothing; see {log}", rows


def contributing(sentence, summary):
    """Replaces the first paragraph and the table of the section."""
    path = f"{ROOT}/CONTRIBUTING.md"
    with open(path, encoding="utf-8") as page:
        text = page.read()
    new, count = re.subn(r"(## What the build costs\n\n).*?\n\n\|.*?\n\n", lambda found: f"{found.group(1)}{sentence}\n\n{summary}\n\n", text,
                         count=1, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{path} has no section 'What the build costs' with a table")
    with open(path, "w", encoding="utf-8") as page:
        page.write(new)


def main(arguments):
    folders = [argument for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1 or os.path.exists(folders[0]) or set(arguments) - set(folders) - {"--no-tests"}:
        sys.exit(__doc__ + "\nFOLDER must not exist yet.")
    clone, jobs = os.path.abspath(folders[0]), str(os.cpu_count())
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    compiler = subprocess.run(["/usr/bin/g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    seconds = {preset: build(clone, preset, jobs) for preset in ("release", "dev")}
    trees = [f"{clone}/build/{preset}" for preset in seconds]

    def cost(preset):
        clock, user, system = seconds[preset]
        return f"{clock:.0f} s by the clock, {user:,.0f} + {system:.0f} processor seconds (user and system)"

    where = f"From a clean clone on {jobs} cores (Debian 12, gcc {compiler}), no compiler cache."
    page = [f"# What the build costs\n\n{where} `./run`'s build: {cost('release')}; 240 and 480 are asked for.\n"
            f"`./test`'s build: {cost('dev')}; 480 s by the clock are asked for."]
    if "--no-tests" not in arguments:
        clock, processor, verdict, rows = test(clone, jobs)
        page[0] += (f" Its tests: {clock:.0f} s by the clock, {processor:,.0f} processor seconds;\n{verdict}. Build and tests are "
                    f"{(seconds['dev'][0] + clock) / 60:.0f} minutes; 25 are asked for.")
        page.append("\n".join([f"| the {SLOWEST} slowest tests | seconds |", "| --- | ---: |", *rows]))
    page[0] += "\nMade by `bench/build_page.py`."
    page[1:1] = [build_cost.table(tree) for tree in trees]
    with open(f"{ROOT}/bench/results/build.md", "w", encoding="utf-8") as out:
        out.write("\n\n".join(page) + "\n")
    (release, *release_cpu), (dev, *dev_cpu) = seconds["release"], seconds["dev"]
    contributing(f"From a clean clone on {jobs} cores without ccache (gcc {compiler}): `release`, which `./run` builds, {release:.0f} s by the clock and "
                 f"{sum(release_cpu):,.0f} processor\nseconds; `dev`, which `./test` builds, {dev:.0f} s and {sum(dev_cpu):,.0f}. `bench/build_page.py` "
                 "measures that and keeps every part in `bench/results/build.md`;\n`bench/build_cost.py --summary` makes the table from the "
                 "builds' own logs.", build_cost.summary(trees))
    print(page[0])


if __name__ == "__main__":
    main(sys.argv[1:])
