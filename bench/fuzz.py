#!/usr/bin/env python3
"""The hours that the libFuzzer programs of tests/fuzz have run, a JSON line for each target and commit in bench/results/fuzzing.jsonl.

bench/fuzz.py run [TARGET...]    builds them (all of them unless some are named) and runs them in slices, always one of those that had least; adds to the lines
bench/fuzz.py page               bench/results/fuzzing.md, made of the lines; --check compares it instead

What is found lies in build/fuzz/found: TARGET holds the inputs that reached something new, from which the next slice goes on, and TARGET.findings what ended a
run. A target with a finding is not started again before the next `run`. The finding's name in the line is to be replaced with what it was, once it is mended.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
LINES = ROOT / "bench" / "results" / "fuzzing.jsonl"
PAGE = LINES.with_suffix(".md")
COMPILED = ("rung", "cli", "check", "cmake", "tests/fuzz", "CMakeLists.txt", "CMakePresets.json")
HOUR = 3600


def all_targets():
    return sorted(folder.name for folder in CORPUS.iterdir() if folder.is_dir())


def commit():
    """The last one that changed what the programs are made of."""
    last = subprocess.run(["git", "log", "-1", "--format=%h", "--abbrev=7", "--", *COMPILED], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain", "--", *COMPILED, ":!tests/fuzz/corpus"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return last + "-dirty" * bool(changed)


def read():
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]


def write(records):
    records.sort(key=lambda record: record["target"])
    new = LINES.with_suffix(".new")
    new.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    os.replace(new, LINES)


def processor_seconds(records, target):
    return sum(record["processor_s"] or 0 for record in records if record["target"] == target)


def add(target, at, usage, clock, log, findings):
    """One slice to the line of its target and commit."""
    records = read()
    line = next((record for record in records if (record["target"], record["commit"]) == (target, at)), None)
    said = [(int(cov), int(features)) for cov, features in re.findall(r"cov: (\d+) ft: (\d+)", log)]
    if not said:
        sys.exit(f"fuzz.py: fuzz_{target} ran nothing:\n{log[-2000:]}")
    if line is None:
        line = {"target": target, "commit": at, "processor_s": 0, "clock_s": 0, "runs": 0, "cov": [said[0][0], 0], "ft": [said[0][1], 0], "findings": []}
        records.append(line)
    line["processor_s"] = round(line["processor_s"] + usage.ru_utime + usage.ru_stime, 1)
    line["clock_s"] = round(line["clock_s"] + clock, 1)
    line["runs"] += max(map(int, re.findall(r"(?:^#|number_of_executed_units: )(\d+)", log, re.M)))
    line["cov"][1], line["ft"][1] = said[-1]
    line["findings"] += findings
    write(records)


def run(targets, seconds, slice_s, jobs, nice, timeout):
    programs = [f"fuzz_{target}" for target in targets]
    for step in (["cmake", "--preset", "fuzz"], ["nice", "-n", str(min(nice, 10)), "cmake", "--build", "--preset", "fuzz", "--target", *programs]):
        if subprocess.run(step, cwd=ROOT).returncode:
            return 1
    at, found, waiting, running, broken = commit(), BUILD / "found", list(targets), {}, []
    end = time.monotonic() + seconds
    try:
        while running or (waiting and time.monotonic() < end):
            while waiting and len(running) < jobs and time.monotonic() < end:
                records = read()
                target = min(waiting, key=lambda name: processor_seconds(records, name))
                waiting.remove(target)
                ended = found / f"{target}.findings"
                for folder in (found / target, ended):
                    folder.mkdir(parents=True, exist_ok=True)
                log = found / f"{target}.log"
                limit = max(1, int(min(slice_s, end - time.monotonic())))
                with open(log, "wb") as out:
                    child = subprocess.Popen(
                        ["nice", "-n", str(nice), BUILD / "tests" / "fuzz" / f"fuzz_{target}", f"-timeout={timeout}", "-rss_limit_mb=4096", f"-max_total_time={limit}",
                         "-print_final_stats=1", f"-artifact_prefix={ended}/", found / target, CORPUS / target], stdout=out, stderr=out)
                running[child.pid] = (child, target, log, time.monotonic(), set(os.listdir(ended)))
            pid, status, usage = os.wait3(0)
            child, target, log, start, before = running.pop(pid)
            child.returncode = code = os.waitstatus_to_exitcode(status)
            new = [name for name in sorted(set(os.listdir(found / f"{target}.findings")) - before) if not name.startswith("slow-unit")]
            add(target, at, usage, time.monotonic() - start, log.read_text(encoding="utf-8", errors="replace"), new)
            if code:
                broken.append(target)
                print(f"{target}: exit code {code}, {log}", flush=True)
            else:
                waiting.append(target)
    except KeyboardInterrupt:  # the programs have had it too
        for pid, (_, target, log, start, _) in running.items():
            _, _, usage = os.wait4(pid, 0)
            add(target, at, usage, time.monotonic() - start, log.read_text(encoding="utf-8", errors="replace"), [])
    return 1 if broken else 0


def page():
    records = read()
    spent = {target: processor_seconds(records, target) for target in all_targets()}
    text = f"""# Fuzzing

The targets of `tests/fuzz` under libFuzzer (clang, AddressSanitizer and UndefinedBehaviorSanitizer, which end the run), each from its kept corpus and what its runs
before found. This page is made of `fuzzing.jsonl` by `bench/fuzz.py page`; who has processor time to give adds to both with

```sh
bench/fuzz.py run --seconds 7200 && bench/fuzz.py page    # builds, then rotates: always a target that had least so far
```

An hour of processor time each is asked for. Of these {len(spent)} hours {sum(min(had, HOUR) for had in spent.values()) / HOUR:.2f} are recorded; {sum(had >= HOUR for had in spent.values())} of {len(spent)} targets have theirs, the least has
{min(spent.values()):,.0f} s. Runs include those of the corpus that a slice begins with. Edges and features are before the first slice and after the last one at that commit.

| target | commit | processor | clock | runs | edges (cov) | features (ft) | findings |
| --- | --- | ---: | ---: | ---: | --- | --- | --- |
"""
    for record in records:
        had = "not kept" if record["processor_s"] is None else f"{record['processor_s']:,.0f} s"
        cov, features = (f"{first:,}, {last:,}" for first, last in (record["cov"], record["ft"]))
        text += (f"| `{record['target']}` | {record['commit']} | {had} | {record['clock_s']:,.0f} s | {record['runs']:,} | {cov} | {features} | "
                 f"{'; '.join(record['findings']) or 'none'} |\n")
    for record in records:
        if "note" in record:
            text += f"\n`{record['target']}` at {record['commit']}: {record['note']}\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("run")
    one.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(all_targets())}")
    one.add_argument("--seconds", type=int, default=HOUR, help="by the clock, in all (default: 3600)")
    one.add_argument("--slice", type=int, default=120, dest="slice_s", help="seconds of one target at a time (default: 120)")
    one.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    one.add_argument("--nice", type=int, default=0)
    one.add_argument("--timeout", type=int, default=25, help="seconds by the clock after which an input counts as a hang; more beside other work (default: 25)")
    verbs.add_parser("page").add_argument("--check", action="store_true")
    asked = vars(parser.parse_args())
    if asked.pop("verb") == "run":
        unknown = set(asked["targets"]) - set(all_targets())
        if unknown:
            parser.error(f"no target: {', '.join(sorted(unknown))}")
        asked["targets"] = asked["targets"] or all_targets()
        return run(**asked)
    if asked["check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else f"{PAGE.name} is not what bench/fuzz.py page makes of {LINES.name}"
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
