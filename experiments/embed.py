#!/usr/bin/python3
"""Writes rung/lab/experiments.json, what the program carries, from experiments/*.toml. `--check`: whether it is up to date."""
import json
import os
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "..", "rung", "lab", "experiments.json")
# The order of docs/lab.md.
ORDER = ("constructions", "pairs", "depth", "depth-whole", "depth-1", "depth-2", "early-late", "capacity", "capacity-law", "capacity-law-1", "capacity-law-2", "entries", "sparse", "ablation", "order", "gap", "variants", "headwise",
         "cot", "cot-1", "shift", "whole-entries", "kept-whole", "sparse-depth", "sparse-depth-1", "attack", "birthdays", "khop", "khop-100", "khop-100-1", "mqar", "zoology", "zoology-1", "tracking", "tracking-1", "reach", "marks", "marks-1", "cells", "window",
         "regularisation", "khop-longer", "easier", "levels", "longer", "wider", "in-floats")


def embedded():
    names = [name[:-5] for name in os.listdir(HERE) if name.endswith(".toml")]
    unknown = set(names) - set(ORDER)
    if unknown:
        sys.exit(f"not in the order of the list: {', '.join(sorted(unknown))}")
    documents = []
    for name in sorted(names, key=ORDER.index):
        with open(os.path.join(HERE, name + ".toml"), encoding="utf-8") as file:
            text = file.read()
        if "\n# Control:" not in "\n" + text:
            sys.exit(f"{name}.toml does not name its control (a line \"# Control: ...\")")
        documents.append(tomllib.loads(text))
    return "[\n" + ",\n".join(json.dumps(document, ensure_ascii=False) for document in documents) + "\n]\n"


if __name__ == "__main__":
    text = embedded()
    if "--check" in sys.argv:
        with open(TARGET, encoding="utf-8") as file:
            sys.exit(0 if file.read() == text else "rung/lab/experiments.json is out of date: run experiments/embed.py")
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(text)
