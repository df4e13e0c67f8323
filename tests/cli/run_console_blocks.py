#!/usr/bin/python3
"""Runs the ```console blocks of a Markdown file and compares what they print, line by line.

    run_console_blocks.py --bin build/dev README.md            compares; exit code 1 on the first difference of a block
    run_console_blocks.py --bin build/dev --update README.md   rewrites the blocks with what the commands print

A block is a session of one bash: a line `$ COMMAND` (continued by a trailing backslash) is run, and the lines up to
the next `$ ` are what it must print, standard output and standard error together. `...` alone on a line stands for
any lines, also none. A block under `<!-- console: skip REASON -->` is not run; the reason is reported. Exit codes 0,
1 and 2 are results; any other (a missing command, a crash, a time-out) fails whatever was printed.

The session starts in an empty scratch folder that holds a copy of tests/cases, rung/released/configs and results/proved, with $TMP an empty folder, the built
program in PATH, no terminal, and none of the caller's RUNG_ variables. Blocks of one file share the scratch folder.
"""
import argparse
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

FENCE = "```"
SKIP = re.compile(r"^<!--\s*console:\s*skip\b\s*(.*?)\s*-->\s*$")
ANY_LINES = "..."
RESULT_CODES = (0, 1, 2)


@dataclass
class Command:
    line: int                                        # 1-based, of the `$ `
    source: list                                     # lines as they stand in the file
    expected: list = field(default_factory=list)

    def text(self):
        return "\n".join([self.source[0][2:]] + self.source[1:])


@dataclass
class Block:
    first: int                                       # index of the line after the opening fence
    last: int                                        # index of the closing fence
    commands: list
    skip_reason: str | None = None


class Malformed(Exception):
    pass


def parse(lines):
    """The console blocks of a file. Raises Malformed on an open fence, output before a command, or a bare skip."""
    blocks, index, skip = [], 0, None
    while index < len(lines):
        line = lines[index]
        marker = SKIP.match(line)
        if marker:
            if not marker.group(1):
                raise Malformed(f"line {index + 1}: `console: skip` needs a reason")
            skip = marker.group(1)
        elif line.startswith(FENCE):
            fence = line[:len(line) - len(line.lstrip("`"))]
            end = index + 1
            while end < len(lines) and not (lines[end].startswith(fence) and not lines[end].strip("` ")):
                end += 1
            if end == len(lines):
                raise Malformed(f"line {index + 1}: the fence is never closed")
            if line.rstrip() == FENCE + "console":
                commands = parse_session(lines, index + 1, end)
                blocks.append(Block(index + 1, end, commands, skip))
            skip, index = None, end
        elif line.strip():
            skip = None
        index += 1
    return blocks


def parse_session(lines, begin, end):
    commands, index = [], begin
    while index < end:
        if lines[index].startswith("$ "):
            command = Command(index + 1, [lines[index]])
            while command.source[-1].endswith("\\") and index + 1 < end:
                index += 1
                command.source.append(lines[index])
            commands.append(command)
        elif commands:
            commands[-1].expected.append(lines[index])
        else:
            raise Malformed(f"line {index + 1}: a console block begins with `$ COMMAND`")
        index += 1
    if not commands:
        raise Malformed(f"line {begin}: an empty console block")
    return commands


def matches(expected, actual):
    """Whether the lines agree, `...` in expected standing for any run of lines."""
    pieces = [[]]
    for line in expected:
        if line == ANY_LINES:
            pieces.append([])
        else:
            pieces[-1].append(line)
    if len(pieces) == 1:
        return expected == actual
    head, *middle, tail = pieces
    if len(actual) < len(head) + len(tail) or actual[:len(head)] != head:
        return False
    if tail and actual[-len(tail):] != tail:
        return False
    begin, end = len(head), len(actual) - len(tail)
    for piece in middle:                             # the leftmost place is as good as any later one
        while begin + len(piece) <= end and actual[begin:begin + len(piece)] != piece:
            begin += 1
        begin += len(piece)
    return begin <= end


def run_session(block, folder, environment, seconds):
    """[(exit code, printed lines)] of the block's commands, fewer when the session ended early."""
    marker = secrets.token_hex(16)
    script = ["exec 2>&1"]
    for command in block.commands:
        script.append(command.text())
        # $? survives for an `echo $?` that follows.
        script.append(f"rung_status=$?; printf '\\n%s %d\\n' {marker} $rung_status; (exit $rung_status)")
    try:
        done = subprocess.run(["/bin/bash", "-c", "\n".join(script)], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True, timeout=seconds)
        printed, ended = done.stdout, f"the session ended with exit code {done.returncode}"
    except subprocess.TimeoutExpired as expired:
        printed, ended = expired.stdout or b"", f"no end within {seconds} s"
    printed = printed.decode("utf-8", "replace")
    results, rest = [], printed
    for _ in block.commands:
        output, found, rest = rest.partition(f"\n{marker} ")
        if not found:
            return results, f"{ended}, having printed:\n{output}"
        code, _, rest = rest.partition("\n")
        results.append((int(code), output.splitlines()))
    return results, None


def scratch_folder(parent, repository):
    folder = os.path.join(parent, "scratch")
    os.makedirs(os.path.join(parent, "tmp"))
    for read in ("tests/cases", "rung/released/configs", "results/proved"):
        if os.path.isdir(os.path.join(repository, read)):
            shutil.copytree(os.path.join(repository, read), os.path.join(folder, read))
    os.makedirs(folder, exist_ok=True)
    return folder


def session_environment(parent, binaries):
    kept = {name: value for name, value in os.environ.items()
            if name in ("HOME", "USER", "LOGNAME", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
    path = os.pathsep.join([os.path.abspath(folder) for folder in binaries] + ["/usr/bin", "/bin"])
    return kept | {"PATH": path, "TMP": os.path.join(parent, "tmp"), "TMPDIR": os.path.join(parent, "tmp"),
                   "LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}


def difference(command, code, actual):
    wrong = [f"    expected {line}" for line in command.expected] + [f"    printed  {line}" for line in actual]
    return "\n".join(wrong + [f"    exit code {code}"])


def check(path, repository, binaries, update, seconds, report=print):
    """True when every block prints what the file says (with update: what it now says)."""
    with open(path, encoding="utf-8") as source:
        lines = source.read().split("\n")
    try:
        blocks = parse(lines)
    except Malformed as malformed:
        report(f"{path}: {malformed}")
        return False
    good, commands, rewritten, changes = True, 0, 0, []
    with tempfile.TemporaryDirectory(prefix="rung-console-") as parent:
        folder = scratch_folder(parent, repository)
        environment = session_environment(parent, binaries)
        for block in blocks:
            if block.skip_reason:
                report(f"{path}:{block.first}: skipped: {block.skip_reason}")
                continue
            results, early_end = run_session(block, folder, environment, seconds)
            body = []
            for command, (code, actual) in zip(block.commands, results):
                commands += 1
                same = matches(command.expected, actual)
                if code not in RESULT_CODES or not (same or update):
                    good = False
                    report(f"{path}:{command.line}: {command.source[0]}\n{difference(command, code, actual)}")
                rewritten += not same
                body += command.source + (command.expected if same else actual)
            if early_end:
                good = False
                report(f"{path}:{block.commands[len(results)].line}: {early_end}")
            elif body != lines[block.first:block.last]:
                changes.append((block, body))
    if update and good and changes:
        for block, body in reversed(changes):
            lines[block.first:block.last] = body
        with open(path, "w", encoding="utf-8") as target:
            target.write("\n".join(lines))
    skipped = sum(1 for block in blocks if block.skip_reason)
    report(f"{path}: {len(blocks) - skipped} blocks, {commands} commands, {skipped} blocks skipped"
           + (f", {rewritten} outputs rewritten" if update and good else ""))
    return good


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.md")
    parser.add_argument("--bin", action="append", default=[], help="folder with the built programs, first in PATH")
    parser.add_argument("--repository", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--update", action="store_true", help="rewrite the blocks with what the commands print")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of one block")
    chosen = parser.parse_args(arguments)
    results = [check(path, chosen.repository, chosen.bin, chosen.update, chosen.seconds) for path in chosen.files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
