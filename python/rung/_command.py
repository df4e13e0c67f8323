"""The programs of the wheel as commands of the environment."""
import os
import sys

from ._program import RungError, find_program


def _run(name):
    try:
        path = os.path.join(os.path.dirname(find_program()), name)
        os.execv(path, [path, *sys.argv[1:]])
    except (RungError, OSError) as error:
        sys.exit(f"{name}: {error}")


def main():
    _run("rung")


def check():
    _run("rung-check")
