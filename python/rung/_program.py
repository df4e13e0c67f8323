"""The program `rung` behind the package: one long-lived process (`rung pipe`), asked over its standard input."""
import atexit
import json
import os
import shutil
import subprocess
import threading

__all__ = ["RungError", "Program", "program"]


class RungError(Exception):
    """What rung said instead of an answer, in one line. `status` is its exit code."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


def find_program():
    """RUNG in the environment, then the program inside the wheel, then PATH."""
    named = os.environ.get("RUNG")
    if named:
        return named
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "rung")
    if os.access(inside, os.X_OK):
        return inside
    found = shutil.which("rung")
    if not found:
        raise RungError("the program rung is not here: neither in the package, nor in PATH, nor named by RUNG")
    return found


class Program:
    """One process, started with the first question and again after it was lost. Safe to use from several threads."""

    def __init__(self, path=None):
        self._path = path
        self._process = None
        self._lock = threading.Lock()

    @property
    def path(self):
        if self._path is None:
            self._path = find_program()
        return self._path

    def _start(self):
        try:
            # A session of its own: Ctrl-C in a notebook reaches this process through us alone.
            self._process = subprocess.Popen([self.path, "pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise RungError(f"{self.path} cannot be started: {error.strerror}") from None

    def run(self, *arguments):
        """Exit code, standard output (bytes) and standard error (text) of `rung ARGUMENT...`."""
        request = json.dumps({"arguments": [str(word) for word in arguments]}).encode() + b"\n"
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._close()
                self._start()
            try:
                self._process.stdin.write(request)
                self._process.stdin.flush()
                head = self._process.stdout.readline()
                if not head.endswith(b"\n"):
                    raise RungError(f"{self.path} ended without an answer")
                reply = json.loads(head)
                output = self._process.stdout.read(reply["output"])
                errors = self._process.stdout.read(reply["errors"])
            except BaseException as error:  # an interrupted answer would be taken for that of the next question
                self._close()
                if isinstance(error, BrokenPipeError):
                    raise RungError(f"{self.path} ended without an answer") from None
                raise
        return reply["exit"], output, errors.decode("utf-8", "replace")

    def text(self, *arguments, allow=(0,)):
        """Standard output; an exit code that is not allowed raises the message that came instead."""
        status, output, errors = self.run(*arguments)
        if status not in allow:
            lines = [line for line in errors.splitlines() if line.startswith("rung: ")] or errors.splitlines()
            raise RungError((lines[-1] if lines else f"exit code {status}").removeprefix("rung: "), status)
        return output

    def document(self, *arguments, allow=(0,)):
        """The JSON document that `rung ARGUMENT... --json` prints."""
        return json.loads(self.text(*arguments, "--json", allow=allow))

    def _close(self):
        process, self._process = self._process, None
        if process is None:
            return
        try:
            os.killpg(process.pid, 15)
        except (ProcessLookupError, PermissionError):
            pass
        for stream in (process.stdin, process.stdout):
            try:
                stream.close()
            except OSError:
                pass
        process.wait()

    def close(self):
        with self._lock:
            self._close()


program = Program()
atexit.register(program.close)


def flags(options):
    """Keyword arguments as command-line words: n=8 is --n 8, causal=False is left out, numbers of a list are joined by commas, and a list of
    texts repeats its flag."""
    words = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(item, (int, float)) for item in value):
            words += [flag, ",".join(map(str, value))]
        elif isinstance(value, (list, tuple)):
            for item in value:
                words += [flag, str(item)]
        else:
            words += [flag, str(value)]
    return words
