#!/usr/bin/python3
"""Runs experiments, several at once, within a time limit, and gathers what they found.

  experiments/run.py --program build/release/rung --size small --out DIR [--seconds 500] [--parallel 1] [--cores 2] [NAME ...]
  experiments/run.py --program build/release/rung --size gpu --out DIR --packed 6 depth
  experiments/run.py --program build/release/rung --size gpu --out DIR --packed 6 --from results capacity-law

DIR/lab/NAME-SIZE is the folder of each experiment (an unfinished one resumes when this is run again), DIR/results/NAME-SIZE.json its
results.json, to be copied to results/. --packed runs so many configurations of one experiment at once, each in a folder of its own
(start the CUDA MPS daemon first: nvidia-cuda-mps-control -d), and then puts them together; configurations of several experiments that have the same
plan and seeds are run once, and the others' notes say whose run they show. At the limit the experiments are interrupted, which keeps their finished steps; DIR/results then
has what finished, marked as stopped, and --from takes it up on another machine. --cores pins each experiment to that many cores of its own and hides the GPU.
"""
import argparse
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from embed import ORDER  # noqa: E402

GRACE = 45  # seconds that an interrupted experiment has to save itself


def write_json(document, path):
    """Whole or not at all: another run may be reading it, and a half file would count as a finished one."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as target:
        json.dump(document, target)
    os.replace(path + ".new", path)


def git(*arguments):
    """What it prints in the folder of the experiments; nothing where there is no git."""
    try:
        return subprocess.run(["git", *arguments], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def asked(document, size):
    """What an experiment runs at a size and asks of it; what its predictions explain may be added later."""
    return document.get(size), [{key: value for key, value in each.items() if key != "explains"} for each in document.get("predictions", [])]


def prediction_commit(name, size, since=""):
    """The commit since which an experiment has run and asked what it does now, or did at the commit `since`; nothing where git does not know its file as it is."""
    if not since and git("status", "--porcelain", "--", name + ".toml"):
        return ""
    lines = [line for line in git("log", "--follow", "--name-only", "--format=%h", "--", name + ".toml").splitlines() if line]
    found, wanted = "", None
    for commit, path in zip(lines[::2], lines[1::2]):
        if since and not found and commit != since:
            continue
        then = asked(tomllib.loads(git("show", f"{commit}:{path}")), size)
        if found and then != wanted:
            break
        found, wanted = commit, then
    return found


def experiment(name, commit=None):
    """An experiment's file; as a commit has it, if one is given."""
    if commit:
        return tomllib.loads(git("show", f"{commit}:./{name}.toml"))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".toml"), "rb") as source:
        return tomllib.load(source)


def plans(name, size):
    """The ids of an experiment's configurations, each with all that its run depends on."""
    part = experiment(name).get(size, {})
    return {each["id"]: json.dumps([part.get("seeds"), {**part.get("base", {}), **each, "id": ""}], sort_keys=True)
            for each in part.get("configurations", [])}


def outcome(name, options, configuration):
    """Where the outcome of a configuration is kept that is finished."""
    return os.path.join(options.out, "lab", f"{name}-{options.size}", configuration + ".json")


def take_up(name, options):
    """Finished configurations of a stopped run, from its results: where its file is as the commit of its predictions has it."""
    path = os.path.join(options.taken, f"{name}-{options.size}.json")
    if not os.path.exists(path):
        sys.exit(f"{path}: no such results to take up")
    with open(path, encoding="utf-8") as source:
        document = json.load(source)
    commit, now = document["provenance"].get("predictions", "").split(",")[0], experiment(name)
    if not commit or asked(experiment(name, commit), options.size) != asked(now, options.size):
        sys.exit(f"{path}: {name}.toml is not as it was when this ran" + (f", at {commit}" if commit else "; the commit of its predictions is not recorded"))
    if document["lab"]["seeds"] != (options.seeds or now[options.size]["seeds"]):
        sys.exit(f"{path}: has {document['lab']['seeds']} seeds; {options.seeds or now[options.size]['seeds']} expected")
    # What a configuration that separates counts with depends on the others: such ones are run again.
    finished = [each for each in document["lab"]["configurations"] if (each["scores"] or each.get("costs")) and "separation" not in each]
    for each in finished:
        each["curves"] = [{key: value for key, value in curve.items() if key not in ("configuration", "task")}
                          for curve in document["curves"] if curve["configuration"] == each["id"]]
        if not os.path.exists(target := outcome(name, options, each["id"])):
            write_json(each, target)
    print(f"{name:<14} {options.size}  {len(finished)} of {len(document['lab']['configurations'])} configurations taken up from {path}", flush=True)


def put_together(name, options):
    """Moves finished configurations from folders of their own into the experiment's. The others resume where they are."""
    whole = os.path.join(options.out, "lab", f"{name}-{options.size}")
    for each in plans(name, options.size):
        own = f"{whole}.{each}"
        if os.path.exists(os.path.join(own, each + ".json")):
            os.makedirs(whole, exist_ok=True)
            for kept in (each, each + ".json", "experiment.json"):
                if os.path.exists(os.path.join(own, kept)):
                    shutil.move(os.path.join(own, kept), os.path.join(whole, kept))


def share(twins, options):
    """Copies a finished configuration to those of other experiments that have the same plan and seeds."""
    for (name, each), (first, same) in twins.items():
        source, target = outcome(first, options, same), outcome(name, options, each)
        if not os.path.exists(source) or os.path.exists(target):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source[:-5]):
            shutil.copytree(source[:-5], target[:-5], dirs_exist_ok=True)
        with open(source) as found:
            document = json.load(found)
        document["id"] = each
        document["note"] = "; ".join(filter(None, [document.get("note"), f"the run of {same} in {first}"]))
        write_json(document, target)


class Run:
    """One configuration in a folder of its own, or (`whole`) in the experiment's; or all that is left of it."""

    def __init__(self, name, options, slot, only=None, whole=False):
        self.name, self.slot, self.start, self.only, self.whole = name, slot, time.monotonic(), only, whole or not only
        self.folder = os.path.join(options.out, "lab", f"{name}-{options.size}" + ("" if self.whole else f".{only}"))
        which = [name]
        if options.files:  # as JSON, which every build reads
            which = ["--file", os.path.join(options.out, name + ".json")]
            write_json(experiment(name), which[1])
        command = [options.program, "lab", *which, "--size", options.size, "--out", self.folder, "--no-store"]
        if only:
            command += ["--only", only]
        if options.seeds:
            command += ["--seeds", str(options.seeds)]
        if os.path.exists(os.path.join(self.folder, "experiment.json")):
            command.append("--resume")
        environment = dict(os.environ)
        if options.cores:
            first = options.first_core + slot * options.cores
            command = ["taskset", "-c", f"{first}-{first + options.cores - 1}"] + command + ["--workers", str(options.cores)]
            environment["CUDA_VISIBLE_DEVICES"] = ""
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        self.log = open(self.folder + ".log", "a")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=environment)

    def finish(self, options):
        self.log.close()
        found = os.path.join(self.folder, "results.json")
        if os.path.exists(found) and self.whole:
            os.makedirs(os.path.join(options.out, "results"), exist_ok=True)
            with open(found) as source, open(os.path.join(options.out, "results", f"{self.name}-{options.size}.json"), "w") as target:
                document = json.load(source)
                if commit := prediction_commit(self.name, options.size):
                    document["provenance"]["predictions"] = commit
                json.dump(document, target, separators=(",", ":"), ensure_ascii=False)
                target.write("\n")
        said = {0: "done", 1: "done, a theorem's prediction failed", 130: "interrupted"}.get(self.process.returncode, "FAILED")
        print(f"{self.name if self.whole else self.only:<14} {options.size}  {said} (exit {self.process.returncode})  {time.monotonic() - self.start:.0f} s", flush=True)
        return self.process.returncode in (0, 1, 130)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all experiments if none is named")
    parser.add_argument("--program", required=True)
    parser.add_argument("--size", default="small", choices=("small", "gpu"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=0, help="0: no limit")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--packed", type=int, default=0, help="configurations of an experiment at once; 0: one after the other")
    parser.add_argument("--only", default="*", help="with --packed: configurations whose id matches (* stands for any text)")
    parser.add_argument("--from", dest="taken", default="", metavar="DIR", help="with --packed: results of stopped runs, whose finished configurations are not run again")
    parser.add_argument("--cores", type=int, default=0)
    parser.add_argument("--first-core", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--files", action="store_true", help="the files beside this one, not those that the program carries")
    options = parser.parse_args()
    if options.only != "*" and not options.packed:
        sys.exit("--only chooses configurations that --packed runs; --packed expected")
    if options.taken and not options.packed:
        sys.exit("--from takes up configurations that --packed leaves out; --packed expected")
    unknown = set(options.names) - set(ORDER)
    if unknown:
        sys.exit(f"no experiment {', '.join(sorted(unknown))}; expected one of {', '.join(ORDER)}")
    names = list(options.names or ORDER)
    # A name and the configuration that is run, or none for all that are left of it.
    waiting = [(name, None) for name in names]
    twins = {}
    if options.packed:
        options.parallel = options.packed
        first, waiting = {}, []
        for name in names:
            if options.taken:
                take_up(name, options)
            for only, plan in plans(name, options.size).items():
                same = first.setdefault(plan, (name, only))
                if same != (name, only):
                    twins[name, only] = same
                elif fnmatch.fnmatch(only, options.only) and not os.path.exists(outcome(name, options, only)):
                    waiting.append((name, only))
    limit = time.monotonic() + options.seconds if options.seconds else float("inf")
    running, well = [], True
    while waiting or running:
        for run in [run for run in running if run.process.poll() is not None]:
            well = run.finish(options) and well
            running.remove(run)
        if time.monotonic() >= limit:
            for run in running:
                run.process.send_signal(signal.SIGINT)
            for run in running:
                try:
                    run.process.wait(GRACE)
                except subprocess.TimeoutExpired:
                    run.process.kill()
                    run.process.wait()
                well = run.finish(options) and well
            for name, only in waiting:
                print(f"{only or name:<14} {options.size}  not started")
            waiting, running = [], []
            break
        if waiting and len(running) < options.parallel:
            free = set(range(options.parallel)) - {run.slot for run in running}
            name, only = waiting.pop(0)
            running.append(Run(name, options, min(free), only))
        else:
            time.sleep(0.1)
    if options.packed:
        for name in names:
            put_together(name, options)
        share(twins, options)
        for name in names:
            configurations = plans(name, options.size)
            finished = [each for each in configurations if os.path.exists(outcome(name, options, each))]
            if finished:  # what is left stays so: one that has run is asked for
                last = Run(name, options, 0, None if len(finished) == len(configurations) else finished[0], whole=True)
                last.process.wait()
                well = last.finish(options) and well
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
