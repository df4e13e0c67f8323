#!/usr/bin/python3
"""Writes results/README.md, the verdicts of results/*.json as tables, and rung/theory/measured_recall.json, what `rung bound` says of
trained recurrences, and the table of the depth test in README.md. `--check`: whether they are up to date. `--labels PROGRAM`: prints the configurations
whose class today's bounds change, and what of scope theorem was decided about them."""
import fnmatch
import json
import math
import os
import re
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from embed import ORDER  # noqa: E402

RESULTS = os.path.join(HERE, "..", "results")
TARGET = os.path.join(RESULTS, "README.md")
README = os.path.join(HERE, "..", "README.md")
# Kept as they were run; the file behind asks their question again, and counts in their place once it has results.
REPLACED = {"depth-1": "depth", "depth-2": "depth", "capacity-law-1": "capacity-law", "sparse-depth-1": "sparse-depth", "khop-100-1": "khop-100",
            "capacity-law-2": "capacity-law", "khop-longer": "khop-100", "zoology-1": "zoology", "cot-1": "cot", "tracking-1": "tracking", "marks-1": "marks"}
CAPACITY = ("capacity-law", "capacity-law-2", "capacity-law-1")  # runs of the law: to rest, with 12,000 and with 6,000 steps
LEARNED = 0.1  # share of a table; a model that kept less of every table did not learn the task, and says nothing of what its state holds
# What a reader asks, and the predictions that answer it: of the first file that has results.
QUESTIONS = (
    ("Two composed functions take three layers, two of them full; the third may be a recurrence, first or second",
     ("depth/separated-compose",)),
    ("With fewer full layers, or a recurrence behind them, no seed gets past the first lesson (m = n1 = 4), however many recurrences stand beside; `depth-whole`, which teaches the whole task, has not run at this size",
     ("depth/separated-two-full", "depth/separated-one-full", "depth/separated-one-full-among-many")),
    ("Three functions take a layer more (four branches, which do not separate)", ("depth/three-compose", "depth/three-with-a-layer-less")),
    ("A recurrence helps before two full layers and not behind them",
     ("early-late/separated-early-over-late", "early-late/separated-late-is-no-help")),
    ("Before them a full layer does as well, and nothing does not; a window does in floats, and not with three bits a number",
     ("ablation/separated-carriers", "ablation/separated-nothing-in-front", "window/in-floats", "ablation/separated-window")),
    ("Full and recurrent heads beside each other in a layer are no replacement", ("headwise/separated-mixtures",)),
    ("A recurrence alone composes where arguments come before tables, and not where it would have to store the last table",
     ("order/easy", "order/easy-over-hard", "order/hard-certified")),
    ("One full layer composes with a chain of thought; a recurrence with too small a state does not",
     ("cot/small-full-thinks", "cot/recurrence-certified")),
    ("No recurrence recalls more than its state has room for (none came near)",
     ("capacity/below-the-ceiling", "mqar/state-bound", "regularisation/states-forget")),
    ("What the delta rule keeps depends on the entries for each number of a key: two are recalled in states of 16 and 36 numbers (not with every seed in larger ones), four are not in states of 16 to 144",
     ("longer/two-entries-a-number", "entries/two-entries-a-number", "entries/four-entries-a-number", "entries/not-by-bits")),
    ("Which of them keep most, at rest: linear attention of 72 numbers more than delta rules and mamba2 of 64 (n = 32), matrices more than plain cells, gated cells more than plain ones",
     ("capacity-law/linear-over-delta", "capacity-law/linear-over-decay", "capacity-law/matrices-over-cells", "capacity-law/gates-over-none")),
    ("Pairs in gaps (MQAR as Zoology draws it): larger states recall more, delta rules more than linear attention",
     ("zoology/linear-state", "zoology/delta-state", "easier/mamba2-state-by-way-of-fewer-pairs",
      "easier/loglinear-state-by-way-of-fewer-pairs", "zoology/delta-over-linear")),
    ("One block-sparse layer does not find pairs that add up where its blocks have too few bits; two layers find more of them than one",
     ("sparse/certified", "sparse/full-over-sparse", "sparse-depth/two-over-one")),
    ("k hops take depth that grows with lg k", ("khop-100/one-layer-fewer", "khop-100/two-layers-fewer", "khop-100/sixteen")),
    ("Layers that come to rest follow no parity; reflections do at twice the length of their lessons and not at many times it; cells keep what they learned",
     ("tracking/layers-that-rest", "tracking/no-reflection", "reach/twice-the-lessons", "reach/not-many-times", "tracking/cells-generalise")),
    ("Three reflections a token suffice for S_4 and four for S_5; one does for neither, and mamba2 does not follow S_4",
     ("easier/three-reflections", "easier/three-cycles-take-more-than-one", "easier/reflections-from-two-letters-on", "easier/one-reflection-too-few")),
    ("Skewed questions are answered more often by the same state; permutations are not",
     ("shift/zipf-helps", "shift/permutations-do-not")),
    ("Decay, dropout and smoothing change no verdict (m = n1 = 4); dropout cost two of eight seeds of FFF, and two of RFF",
     ("regularisation/decay-composes-8", "regularisation/dropout-composes-8", "regularisation/smoothing-composes-8", "regularisation/decay-two-full-8",
      "regularisation/decay-forgets-8")),
    ("Finding two prompts that a state confuses costs half a bit of work for each of its bits, and a layer more costs little",
     ("attack/half-a-bit", "attack/flat-in-depth")),
    ("Constructions make no error at the precision that is proved", ("constructions/no-error",)),
)
RECALL = os.path.join(HERE, "..", "rung", "theory", "measured_recall.json")
OPENING = """# What the experiments found

Each prediction was written down and committed before it was first decided; the commit stands below its table, where one is known. All of size small was run again with faster kernels, its outcomes
known by then ([below](#how-these-were-made)). Scope *theorem*: a verdict about a theorem. Scope *empirical*: about this recipe, at
this size, with these seeds, and nothing else. *Undecided* says what is missing. A model that did not train, and a size at which no theorem speaks (class G), count neither for nor against a theorem.
[docs/lab.md](../docs/lab.md) has the rules.

## In short

A verdict for each prediction, of size gpu where it ran there, and the numbers of its first configuration: accuracy, with its 95 % interval over the seeds, or how many seeds are where.
"""
# What `--labels` says of the files here.
LABELS = """
Bounds have changed since some of the runs: sums in fp32 count as rounded now. Three verdicts of size gpu that are counted above as held theorems would be undecided as theorems today: `capacity/full-attention`,
`cot/full-thinks` and `variants/all-carry`, and of older files `depth-1/one-function` and `depth-1/two-functions`. What was trained is as right as it was (`experiments/verdicts.py --labels
build/release/rung`); `in-floats` asks them again as what training reaches."""
# What has to be known to read a section, behind its first sentence.
SECTIONS = {
    "depth": """Read the table of size gpu with this: a member sees larger tables only once it answers nine of ten questions at m = n1 = 4. FFF, RFF and FRF get through; every member of every other word stays there, where
weights for two full layers may exist. So the table says that these words do not learn the easiest lesson of this curriculum. It does not say that they were taught m = n1 = 16 and failed: `depth-whole` asks that. FR8,
R4FR4 and headwise are not rounded; their states are counted with the three bits that the rounded words use.""",
    "capacity": """At least this many, rounded down: the ceiling of Eva inverted at a one-sided 95 % lower confidence bound of the accuracy over the seeds (`docs/lab.md`), the best run of each configuration. With a
star it came to rest, each member at a plateau of its own (`capacity-law`). The others had 6,000 steps (`capacity-law-1`), or 12,000 to 24,000 (`capacity-law-2`), which are no plateau: with twice 6,000 linear
attention of 72 numbers answers 0.05 more of 32 and mamba2 0.07, and the delta rule with 24,000 0.15. Where a member at rest kept less than another run of the same configuration, it rested at a worse place, and both
figures stand. In brackets the information limit, the bits of the table for each element: no model can keep more than that, and where the figure is close to it the table was too small to ask for more. For log-linear
attention both are those of one level. `rung bound` takes the best run of each configuration, but for mechanisms that never kept a tenth of any table: those did not learn the task.""",
    "capacity-law-1": """These runs had 6,000 steps, and that is no plateau.""",
    "capacity-law": """What has run was trained on two cores of a CPU, the smallest tables first; `experiments/run.py --files --program build/release/rung --size gpu --packed 2 --cores 1 --out DIR --from results capacity-law`
takes up the rest, `--packed 16` without `--cores` on a GPU.""",
    "capacity-law-2": """Its run was stopped when delta had shown that 12,000 steps are no plateau either. What was finished by then decides four of its predictions.""",
}
NOTES = """
## How these were made

Every file here is the `results.json` that `rung lab NAME --size SIZE` leaves in its folder (`docs/lab.md` has the format), as one machine made it:
labels from the bounds, scores of every seed, thinned curves, verdicts. `rung report` shows them beside your own. This page is made from
them by `experiments/verdicts.py`; they were made by

```
experiments/run.py --files --program build/release/rung --size gpu --parallel 6 --out DIR    # an H200, six experiments at once
experiments/run.py --files --program build/release/rung --size gpu --packed 21 --out DIR depth early-late ablation headwise
experiments/run.py --files --program build/release/rung --size gpu --packed 19 --out DIR sparse gap
experiments/run.py --files --program build/release/rung --size gpu --packed 16 --out DIR order window regularisation
experiments/run.py --files --program build/release/rung --size gpu --packed 20 --out DIR capacity-law-1 reach khop-100-1 zoology
experiments/run.py --files --program build/release/rung --size gpu --packed 9 --out DIR khop-longer
experiments/run.py --files --program build/release/rung --size gpu --packed 24 --out DIR capacity-law-2 khop-100 sparse-depth easier
experiments/run.py --files --program build/release/rung --size small --cores 2 --out DIR     # two cores each
```

What was known when the files were written: sizes and recipes of `gpu` were settled after trial runs, which are not kept. In them compositions taught by whole
questions alone did not train (0.04 at n1 = 16 after 10,000 steps); by parts of the chain they do. One function of m = 64 did not train in 3,000 steps (0.06): the
configurations L1-F, L1-FF, L1-RF and L1-FR of `depth` were run again at m = 16, beside the finished ones of the same run. Three functions did not train in 12,000
steps either (0.44). `constructions` was run again without a configuration that had no bit to lose. `half-a-bit` was first about bits a layer and is now about
bits of all layers. `tracking-1` was first run with 1,201 steps, of which
three predictions held, one failed (`reflections-generalise`) and three stayed undecided; then with 3,001, in six minutes, of which the same three held and four stayed undecided;
then, to take less than three minutes, with 1,501. The sizes of `tracking` on a GPU, and of `marks`, were settled without a trial run.
The small sizes of `depth`, `early-late`, `ablation`, `variants`, `headwise` and `order` were written after trials: of FFF, RFF and FF with the same four seeds, which these runs repeat, of the others with seeds 101 and 102: first runs, without the values between, had not
trained their controls and left 14 of their predictions undecided, those of scope theorem in the gap. They compose at m = n1 = 4, which does not separate: what they say is about this recipe. `sparse`, `sparse-depth-1`, `cot-1`, `shift`, `khop`,
`mqar` and `gap` of size small were first run with two seeds, and then with five.
`depth` at size gpu has been written four times: at m = n1 = 9, and at 16 with six values a head, neither of which was run; as `depth-2`, after trials with seeds 101 to 104 (`bench/results/depth_trials.md`), in which half of the seeds composed, as in the run;
and as it is now, with entries outside a stage that repeat those inside, untried. `mamba2` (FR8, R4FR4, headwise) is not rounded there: it counts with the three bits of the words that compose, and has more. `early-late`, `ablation` and `headwise` show runs of it. Their first runs at size gpu, at m = n1 = 4 and without the values between, had not trained their controls and left 11 of
12 predictions undecided. `separated-window` failed for a reason that its curves show: five of eight seeds are above 0.98, and one at 0.979, before
the three bits begin at step 3,000, and none after; one head fetches two tokens at once there. The file `window` predicts it without them, and it does. `sparse` and `gap` of size gpu were run again with eight seeds in place of three, nothing else changed. So was `order`, with
the gated delta rule: easy 0.990, hard 0.743 [0.500, 0.986], which left one prediction undecided; it is run with two layers of gated cells now, after one trial on a CPU.
`pairs`, `whole-entries`, `birthdays`, `reach`, the new `marks` and `cells` say why others failed or ask again, and knew what those had found; recipes of `reach` and `marks` were tried with seeds from 101 on,
two of `whole-entries` too. Of `birthdays` two points (32 and 36 bits at two layers, 32 at three) stood in `attack`; what `pairs` finds was computed by another program first. `marks` and `cells` were run twice, as their files say: first runs left two predictions of each open.
`regularisation` was written before any trial of it; its words and size are those of `depth` of size small, with other decays. `zoology` was written after trials of full attention at length 64 with
seed 101, which settled its vocabulary (`docs/protocols.md`), `khop-100` before any trial. `zoology-1` was first run with 4 pairs in 32 tokens: attention, the window and the states of linear
attention were as predicted, those of delta, gdelta and mamba2 undecided, since a state of 4 x 32 has room for 4 pairs; then with 8 pairs in 48. `khop-100` of size small was first run with a curriculum of 1, 2, 4 hops:
some seeds that had learned one hop did not learn two in the 600 steps that followed, and none four, so that its control did not train; without one no seed learned two or four hops in as many steps (0.74 at best), nor in a
second run of it (two hops 0.75, four 0.67 at best). None of these is kept.
`reach`, `zoology`, `window` and `regularisation` of size gpu are as they were first written, and so are `capacity-law-1` and `khop-100-1`, but for a gated cell of 256 numbers at n = 128 of the former: it was stopped after 5,500 steps, at chance.
`khop-longer` was written after those runs and before any trial of its own, `khop-100`, `sparse-depth` and `easier` as they are after trials on a CPU with other seeds. They ran, 22 to 24 at once, in two parts on
two machines: seconds of a configuration that was resumed are those of its last part.
A trial of `mqar` small with a curriculum varied by seed as before (gdelta 0.71, 0.96, 0.58) and was not run.
Size small was run whole on 2026-11-19, but for the files that later ones replace, one experiment after the other on two cores of an AMD EPYC with next to nothing else to do: 26 minutes in all, none above five (`entries` 247 s, `birthdays` 169,
`depth` 141). Kernels had made training several times as fast since most were first run. They add in another order, so that trained scores have other digits; of their 99 verdicts one changed, `capacity/full-attention`, whose class the
bounds changed. `zoology` and `khop-100` of size small were then given the steps that they take; they and `wider` shared their cores with a compiler.
No prediction was dropped after the run that is kept here, and none changed but for words of the statement of `tracking-1/cells-generalise`. Two predictions of `depth-2` about three functions moved to `depth`. Seconds are
those of all configurations added up: at size gpu of `depth`, `early-late`, `ablation` and `headwise` 21 ran at once, in 235 s by the clock, at 100 % of the device; of `capacity-law-1`, `reach`, `khop-100-1` and `zoology` 20 to 24, in 960 s, at 99 to 100 %.
"""


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def read(name, size):
    path = os.path.join(RESULTS, f"{name}-{size}.json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return json.load(file)


def experiment(name):
    with open(os.path.join(HERE, name + ".toml"), "rb") as file:
        return tomllib.load(file)


def missing(name, documents):
    """What is written down and has no results, or not all of them."""
    lines = []
    for size in ("gpu", "small"):
        document = documents[(name, size)]
        if size in experiment(name) and not document:
            lines.append(f"`{name}` at size {size} has no results: its predictions stand, and were not run yet.")
        elif document and document["lab"]["stopped"]:
            outcomes = document["lab"]["configurations"]
            finished = sum(bool(each["scores"] or each.get("costs")) for each in outcomes)
            lines.append(f"`{name}` at size {size} was stopped with {finished} of {len(outcomes)} configurations finished.")
    return lines


def separated_word(outcome):
    """A model that is not rounded is counted with the bits of those that are."""
    bits = outcome["separation"]
    rounded = any(score.get("carried_bits") for score in outcome["scores"])
    return "no" if not bits["separated"] else "yes" if rounded or not bits["fetched"] + bits["state_bits"] else f"yes, at {bits['bits']} bits"


def left_behind(outcome):
    found = re.search(r"(\d+ of \d+) members stayed at the first", outcome["note"])
    return found.group(1) if found else ""


def separation_table(document):
    """Accuracy by word beside the label and the bits that decide whether the size separates."""
    rows = [outcome for outcome in document["lab"]["configurations"] if outcome.get("separation")]
    if not rows:
        return []
    out = ["", "| configuration | class | bits a shortcut needs | four times what a layer fetches | largest state, of half of z_1 | separated | members left at the first stage | accuracy | seeds >= 0.99 | best seed |",
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for outcome in rows:
        bits = outcome["separation"]
        scores = [score["accuracy"] for score in outcome["scores"]]
        told = f"{outcome['accuracy']:.3f} | {sum(score >= 0.99 for score in scores)} of {len(scores)} | {max(scores):.3f}" if scores else "- | - | -"
        out.append(f"| {outcome['id']} | {outcome['label']} | {bits['needed_bits']} | {bits['carried_bits']} | {bits['state_bits']} of {bits['table_bits'] / 2:.1f} | "
                   f"{separated_word(outcome)} | {left_behind(outcome)} | {told} |")
    return out


def margin_text(name, verdict):
    """What a comparison asked for, beside its numbers."""
    margin = next((each.get("margin", 0) for each in experiment(name)["predictions"] if each["id"] == verdict["id"]), 0)
    if not margin or verdict["kind"] not in ("ordered", "serves") or verdict["verdict"] == "undecided":
        return ""
    return f" (asked: within {margin:g})" if verdict["kind"] == "serves" else f" (asked: more by {margin:g})" if margin > 0 else f" (asked: less by {-margin:g} at most)"


def explanations():
    """By "experiment/prediction": the predictions that say why it failed, as pairs of an experiment and a prediction's id."""
    known, found = set(), {}
    for name in ORDER:
        for prediction in experiment(name)["predictions"]:
            known.add(f"{name}/{prediction['id']}")
            for target in prediction.get("explains", []):
                found.setdefault(target, []).append((name, prediction["id"]))
    if unknown := sorted(set(found) - known):
        sys.exit(f"explained, and no prediction: {', '.join(unknown)}")
    return found


def explained_by(target, found, documents):
    """What became of them: a list of an experiment, an id, and its verdicts by size."""
    out = []
    for name, id in found.get(target, []):
        verdicts = {size: verdict["verdict"] for size in ("gpu", "small") if documents[(name, size)]
                    for verdict in documents[(name, size)]["lab"]["verdicts"] if verdict["id"] == id}
        out.append((name, id, verdicts))
    return out


def explanation_text(target, verdict, found, documents):
    """Of one that failed: why; of one that stayed open: where it was asked again."""
    texts = [f"`{name}/{id}` (" + (", ".join(f"{size} **{word}**" for size, word in verdicts.items()) or "not run yet") + ")"
             for name, id, verdicts in explained_by(target, found, documents)]
    word = {"failed": "Explained by", "undecided": "Asked again by"}.get(verdict)
    return f". {word} {', '.join(texts)}" if texts and word else ""


def kept_numbers(arch):
    """Numbers that the mixer of an architecture of `zoology` keeps between tokens, the convolution's not counted; text."""
    name, options = re.fullmatch(r"conv\(width=3\)\+(\w+)\((.*)\)", arch).groups()
    sizes = {key: int(value) for key, value in (option.split("=") for option in options.split(",")) if value.isdigit()}
    heads = sizes["heads"]
    if name == "full":
        token = 2 * heads * sizes["dim"]
        return str((sizes["window"] - 1) * token) if "window" in sizes else f"{token} a token"
    state = heads * sizes["dim"] * sizes["state" if name == "mamba2" else "vdim"]
    return f"{state} a level" if name == "loglinear" else str(state + (heads * sizes["dim"] if name == "linear" else 0))


def state_table(document):
    """Accuracy of `zoology` against what a layer keeps: the mean over the seeds, each at its best learning rate."""
    out = ["", "| configuration (mixer, length, width) | numbers kept | accuracy | best seed |", "| --- | --- | --- | --- |"]
    for outcome in document["lab"]["configurations"]:
        if scores := [score["accuracy"] for score in outcome["scores"]]:
            out.append(f"| {outcome['id']} | {kept_numbers(outcome['arch'])} | {outcome['accuracy']:.3f} | {max(scores):.3f} |")
    return out


def control(name):
    """What its file names as its control: the run without which nothing is decided."""
    with open(os.path.join(HERE, name + ".toml"), encoding="utf-8") as file:
        return next(line[2:].strip() for line in file if line.startswith("# Control:"))


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def count(documents, found):
    """By size ("replaced" for files that a later one replaces), scope and word; and the names of those."""
    totals, replaced = {}, []
    for (name, size), document in documents.items():
        if not document:
            continue
        group = "replaced" if ended(documents.get((REPLACED.get(name), size))) or not ended(document) else size
        if group == "replaced":
            replaced.append(f"`{name}` ({size})")
        for verdict in document["lab"]["verdicts"]:
            words = [verdict["verdict"]]
            later = [word for _, _, verdicts in explained_by(f"{name}/{verdict['id']}", found, documents) for word in verdicts.values()]
            if words == ["failed"] and "held" in later:
                words.append("explained")
            if words == ["undecided"] and {"held", "failed"} & set(later):
                words.append("answered")
            for word in words:
                totals[(group, verdict["scope"], word)] = totals.get((group, verdict["scope"], word), 0) + 1
    return totals, replaced


def ended(document):
    return document is not None and not document["lab"]["stopped"]


def kept_runs():
    """Runs that say what a state kept, as pairs of an experiment and an outcome, by architecture and n."""
    runs = {}
    for name in CAPACITY:
        for outcome in (read(name, "gpu") or {"lab": {"configurations": []}})["lab"]["configurations"]:
            if outcome.get("capacity") and outcome["scores"]:
                runs.setdefault((outcome["arch"], outcome["capacity"]["n"]), []).append((name, outcome))
    return runs


def kept_bits(run):
    return run[1]["capacity"]["kept_bits"]


def bits_text(run):
    return f"{math.floor(100 * run[1]['capacity']['bits_per_element']) / 100:.2f}"


def capacity_section():
    runs = kept_runs()
    columns = sorted({n for _, n in runs})
    lines = ["", "## Bits kept per state element", "", SECTIONS["capacity"], "",
             "| mechanism | elements | " + " | ".join(f"n = {n}" for n in columns) + " |", "| --- | --- |" + " --- |" * len(columns)]
    sizes = {arch: found[0][1]["capacity"]["elements"] for (arch, _), found in runs.items()}
    for mechanism in sorted(sizes, key=lambda arch: (re.sub(r"\w*(dim|inner|state|size)=\d+,?", "", arch), sizes[arch])):
        cells = []
        for n in columns:
            if (mechanism, n) not in runs:
                cells.append("")
                continue
            found = runs[mechanism, n]
            best, rest = max(found, key=kept_bits), next((run for run in found if run[0] == CAPACITY[0]), None)
            kept = best[1]["capacity"]
            at_rest = f"; {bits_text(rest)} at rest" if rest and bits_text(rest) != bits_text(best) else ""
            cells.append(f"{bits_text(best)}{'*' if rest and not at_rest else ''} ({kept['table_bits'] / kept['elements']:.2f}{at_rest})")
        lines.append(f"| `{mechanism}` | {kept['elements']} | " + " | ".join(cells) + " |")
    return lines


def depth_table(document):
    """What two composed functions took, by word, for README.md."""
    lab = document["lab"]
    out = [f"From `results/depth-{lab['size']}.json`:", "", "| functions | layers | class | bits that a layer less would need, and four times what a layer fetches | answers right, mean of the seeds | seeds at 0.98 or more | best seed |",
           "| --- | --- | --- | --- | --- | --- | --- |"]
    for outcome in lab["configurations"]:
        if not outcome["id"].startswith(("L2-separated-", "L2-taught-", "L3-taught-")):
            continue
        scores, room = [score["accuracy"] for score in outcome["scores"]], outcome["separation"]
        sizes = ", ".join(f"{name} = {value}" for name, value in outcome["size"].items() if name != "L")
        counted_bits = ", not rounded" if separated_word(outcome).startswith("yes, at") else ""
        out.append(f"| {outcome['size']['L']} ({sizes}) | {outcome['id'].rsplit('-', 1)[1]} | {outcome['label']} | {room['needed_bits']} {'>' if room['separated'] else 'of'} {room['carried_bits']}{counted_bits} | "
                   f"{outcome['accuracy']:.2f} | {sum(score >= 0.98 for score in scores)} of {len(scores)} | {max(scores):.2f} |")
    return "\n".join(out)


def readme():
    """README.md with that table between its marks."""
    with open(README) as file:
        before, _, after = file.read().split("<!-- depth -->\n")
    return "<!-- depth -->\n".join([before, depth_table(read("depth", "gpu") or read("depth", "small")) + "\n", after])


def measured_recall():
    """What `rung bound` says was kept, of the mechanisms that learned the task at all."""
    best = [max(found, key=kept_bits) for found in kept_runs().values()]
    learned = {outcome["arch"] for _, outcome in best if outcome["capacity"]["kept_bits"] >= LEARNED * outcome["capacity"]["table_bits"]}
    rows = [{"arch": outcome["arch"], "elements": outcome["capacity"]["elements"], "n": outcome["capacity"]["n"],
             "bits_per_element": max(0.0, round(outcome["capacity"]["bits_per_element"] - 5e-7, 6)), "record": f"results/{name}-gpu.json"}
            for name, outcome in best if outcome["arch"] in learned]
    head = {"seeds": min(len(outcome["scores"]) for _, outcome in best)}
    return json.dumps(head)[:-1] + ', "rows": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]}\n"


def questions(documents):
    """The table of QUESTIONS."""
    out = ["| what the theory lets one expect | trained models | experiment |", "| --- | --- | --- |"]
    for question, predictions in QUESTIONS:
        told, names = [], []
        for name, id in (prediction.split("/") for prediction in predictions):
            if id not in (prediction["id"] for prediction in experiment(name)["predictions"]):
                sys.exit(f"no prediction {name}/{id}")
            if name not in names:
                names.append(name)
            size, verdict = next(((size, verdict) for size in ("gpu", "small") for verdict in (documents[(name, size)] or {"lab": {"verdicts": []}})["lab"]["verdicts"] if verdict["id"] == id), (None, None))
            told.append(f"**{verdict['verdict']}**: {cell(verdict['reason'])}" + (" (small)" if size == "small" else "") if verdict else f"`{id}` not run yet")
        out.append(f"| {question} | {'<br>'.join(told)} | {', '.join(f'[{name}](#{name})' for name in names)} |")
    return out


def page():
    documents = {(name, size): read(name, size) for name in ORDER for size in ("gpu", "small")}
    found = explanations()
    totals, replaced = count(documents, found)
    lines = [OPENING, *questions(documents), "", "## Counts", ""]
    lines.append("| size | scope | held | failed | of them explained by a prediction that held | undecided | of them answered by a later prediction |\n| --- | --- | --- | --- | --- | --- | --- |")
    names = {"gpu": "gpu", "small": "small", "replaced": f"replaced or asked again by later files, or stopped: {', '.join(replaced)}"}
    for group, told in names.items():
        for scope in ("theorem", "empirical"):
            lines.append(f"| {told} | {scope} | " +
                         " | ".join(str(totals.get((group, scope, word), 0)) for word in ("held", "failed", "explained", "undecided", "answered")) + " |")
    lines.append("\n`early-late`, `headwise` and a part of `ablation` show runs of `depth`: their verdicts are not independent of it.")
    lines.append(LABELS)
    lines += capacity_section()
    for name in ORDER:
        some = documents[(name, "gpu")] or documents[(name, "small")]
        if not some:
            lines += ["", f"## {name}", "", experiment(name)["tests"], "", control(name), ""] + missing(name, documents)
            continue
        lines += ["", f"## {name}", "", experiment(name)["tests"], "", control(name), ""]
        if name in SECTIONS:
            lines += [SECTIONS[name], ""]
        lines.append("| size | prediction | scope | verdict | why |\n| --- | --- | --- | --- | --- |")
        for size in ("gpu", "small"):
            document = documents[(name, size)]
            if not document:
                continue
            for verdict in document["lab"]["verdicts"]:
                why = cell(verdict["reason"]) + margin_text(name, verdict)
                why += explanation_text(f"{name}/{verdict['id']}", verdict["verdict"], found, documents)
                if targets := verdict.get("explains"):
                    why += f". Explains {', '.join(f'`{target}`' for target in targets)}"
                lines.append(f"| {size} | {cell(verdict['statement'])} | {verdict['scope']} | **{verdict['verdict']}** | {why} |")
        ran = []
        for size in ("gpu", "small"):
            document = documents[(name, size)]
            if document:
                source = document["provenance"]
                device = source["device"] or "cpu"
                ran.append(f"{size}: {device}, {counted(document['lab']['seeds'], 'seed')}, {source['seconds']:.0f} s, {source['date'][:10]}, rung {source['version']}"
                           + (f", predictions of commit {source['predictions']}" if source.get("predictions") else ", its statements not as any commit before the run has them"))
        for size in ("gpu", "small"):
            if table := separation_table(documents[(name, size)]) if documents[(name, size)] else []:
                lines += table
                break
        if name == "zoology":
            lines += state_table(some)
        lines += ["", "; ".join(ran) + "."]
        lines += missing(name, documents)
    lines.append(NOTES)
    return "\n".join(lines)


def changed_labels(program):
    for name in ORDER:
        for size in ("gpu", "small"):
            document = read(name, size)
            if not document:
                continue
            told = subprocess.run([program, "lab", name, "--size", size, "--dry-run", "--json"], capture_output=True, text=True, check=True).stdout
            now = {each["id"]: each["label"] for each in json.loads(told)["configurations"] if each.get("label")}
            changed = {each["id"]: f"{each['label']} to {now[each['id']]}" for each in document["lab"]["configurations"] if now.get(each["id"], each["label"]) != each["label"]}
            for verdict in document["lab"]["verdicts"]:
                asked = next((each for each in experiment(name)["predictions"] if each["id"] == verdict["id"]), {"configurations": []})["configurations"]
                about = [f"{id} from {change}" for id, change in changed.items() if any(fnmatch.fnmatch(id, pattern) for pattern in asked)]
                if about and verdict["scope"] == "theorem":
                    print(f"{name}/{verdict['id']} ({size}, {verdict['verdict']}): {', '.join(about)}")
            if changed:
                print(f"{name}-{size}: {len(changed)} of {len(document['lab']['configurations'])} configurations have another class")


def main():
    if sys.argv[1:2] == ["--labels"] and len(sys.argv) == 3:
        return changed_labels(sys.argv[2])
    for path, text in ((TARGET, page()), (RECALL, measured_recall()), (README, readme())):
        if "--check" not in sys.argv[1:]:
            with open(path, "w") as file:
                file.write(text)
            continue
        with open(path) as file:
            if file.read() != text:
                sys.exit(f"{os.path.relpath(path, os.path.join(HERE, '..'))} is not what experiments/verdicts.py writes from results/*.json")


if __name__ == "__main__":
    main()
