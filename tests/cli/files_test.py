#!/usr/bin/python3
"""What is written, and where: devices, FIFOs and links stay, nothing is replaced unasked or over an input, `-` is standard output,
folders are made, a killed writer leaves nothing, and nothing that was found is lost when a file cannot be written.
Usage: files_test.py FOLDER_OF_RUNG"""
import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

RUNG = os.path.join(os.path.abspath(sys.argv[1]), "rung")
CHECK = os.path.join(os.path.abspath(sys.argv[1]), "rung-check")
del sys.argv[1]
EVA = ["build", "eva", "--n", "4"]
BREAK = ["break", "r.st", "--method", "reachable"]


class Files(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.folder = self.holder.name
        self.rung("build", "random", "--arch", "linear(heads=1,dim=1,vdim=1,feature=relu,normalised=no)", "--task", "eva", "--n", "4", "--precision", "2", "--out", "r.st", code=0)

    def path(self, name):
        return os.path.join(self.folder, name)

    def rung(self, *arguments, code=None, **more):
        done = subprocess.run([RUNG, *arguments], cwd=self.folder, capture_output=True, check=False, timeout=300, **more)
        if code is not None:
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return done

    def refused(self, *arguments):
        done = self.rung(*arguments, code=2)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.stderr.decode()

    def read_into(self, name, got):
        with open(self.path(name), "rb") as file:
            got.append(file.read())

    def names(self):
        return sorted(os.listdir(self.folder))

    # Every command that writes a file, as the command and the flag that names it.
    def writers(self):
        real = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases/models/eva_real.safetensors")
        store = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cases/runs/gpu.jsonl")
        return [(EVA, "--out"), (["build", "random", "--arch", "full", "--n", "4"], "--out"), (BREAK, "--out"),
                (["quantise", real, "--instances", "5"], "--out"), (["protocol", "r.st"], "--trace"),
                (["runs", "export", "--csv", "--store", store], "--out"), (["report"], "--out")]

    def test_one_policy_for_files_that_are_there(self):
        for command, flag in self.writers():
            with self.subTest(command=command):
                self.rung(*command, flag, "deep/er/o", code=0)
                before = os.stat(self.path("deep/er/o")).st_ino
                self.assertIn("--force", self.refused(*command, flag, "deep/er/o"))
                self.assertEqual(os.stat(self.path("deep/er/o")).st_ino, before)
                self.rung(*command, flag, "deep/er/o", "--force", code=0)
                self.assertNotEqual(os.stat(self.path("deep/er/o")).st_ino, before)
                self.assertEqual(os.listdir(self.path("deep/er")), ["o"])
                self.assertIn("folder", self.refused(*command, flag, "deep", "--force"))
                self.assertIn("r.st", self.refused(*command, flag, "r.st/below"))
                os.remove(self.path("deep/er/o"))

    def test_a_device_is_written_to_and_stays(self):
        device = self.path("null")
        try:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            open(device, "wb").close()
        except OSError:
            device = "/dev/null"
            if os.geteuid() == 0:
                self.skipTest("no device may be made here, and the real one is not risked")
        for command, flag in self.writers():
            for more in ([], ["--force"]):
                self.rung(*command, flag, device, *more, code=0)
                self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode), command)

    def test_a_fifo_is_written_to_and_stays(self):
        os.mkfifo(self.path("pipe"))
        for command, flag in self.writers():
            got = []
            reader = threading.Thread(target=self.read_into, args=("pipe", got), daemon=True)
            reader.start()
            self.rung(*command, flag, "pipe", code=0)
            reader.join(30)
            self.assertTrue(got and got[0], command)
            self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode), command)

    def test_a_link_is_written_through_and_stays(self):
        for command, flag in self.writers():
            with open(self.path("real"), "w", encoding="utf-8") as file:
                file.write("old")
            if not os.path.islink(self.path("link")):
                os.symlink("real", self.path("link"))
            self.refused(*command, flag, "link")
            self.rung(*command, flag, "link", "--force", code=0)
            self.assertTrue(os.path.islink(self.path("link")), command)
            with open(self.path("real"), "rb") as file:
                self.assertNotEqual(file.read(), b"old", command)

    def test_a_dash_is_standard_output_alone(self):
        for command, flag in self.writers():
            self.rung(*command, flag, "whole", code=0)
            with open(self.path("whole"), "rb") as file:
                whole = file.read()
            os.remove(self.path("whole"))
            done = self.rung(*command, flag, "-", code=0)
            if command[0] == "break":  # a certificate notes what the search cost
                self.assertEqual(json.loads(done.stdout)["kind"], json.loads(whole)["kind"])
            elif command[0] == "report":
                self.assertTrue(done.stdout.startswith(b"<!"), done.stdout[:80])
            else:
                self.assertEqual(done.stdout, whole, command)
            self.assertFalse(os.path.exists(self.path("-")))
            if command[0] != "report":
                self.assertIn("--json", self.refused(*command, flag, "-", "--json"))

    def test_no_file_is_written_over_another_of_the_same_command(self):
        with open(self.path("r.st"), "rb") as file:
            model = file.read()
        os.symlink("r.st", self.path("alias"))
        os.link(self.path("r.st"), self.path("hard"))
        for name in ("r.st", "./r.st", "alias", "hard", self.path("r.st")):
            for force in ([], ["--force"]):
                self.assertIn("one file", self.refused(*BREAK, "--out", name, *force))
                self.assertIn("one file", self.refused("protocol", "r.st", "--trace", name, *force))
            self.assertIn("one file", self.refused(*BREAK, "--checkpoint", name))
        self.assertIn("one file", self.refused(*EVA, "--out", "x", "--certificate", "x"))
        self.assertIn("one file", self.refused(*EVA, "--out", "x", "--certificate", "./x", "--force"))
        self.assertIn("one file", self.refused(*BREAK, "--out", "x", "--store", "x"))
        self.assertIn("one file", self.refused(*EVA, "--out", "-", "--certificate", "-"))
        self.assertIn("stream", self.refused(*EVA, "--out", "-", "--certificate", "c.json"))
        with open(self.path("r.st"), "rb") as file:
            self.assertEqual(file.read(), model)
        self.assertEqual(self.names(), ["alias", "hard", "r.st"])

    def test_an_unwritable_place_is_found_out_before_the_search(self):
        slow = ["build", "random", "--arch", "linear(heads=1,dim=2,feature=identity,normalised=no)", "--n", "32", "--precision", "20", "--width", "8", "--out", "slow.st"]
        self.rung(*slow, code=0)
        began = time.monotonic()
        self.refused("break", "slow.st", "--method", "distinguished-points", "--budget", "10m", "--out", "/proc/none/cert.json")
        self.refused("break", "slow.st", "--method", "distinguished-points", "--budget", "10m", "--out", "slow.st/cert.json")
        self.assertLess(time.monotonic() - began, 60)

    def test_what_a_search_found_is_not_lost_with_a_full_disk(self):
        done = self.rung(*BREAK, "--out", "/dev/full", code=2)
        self.assertIn("standard output instead", done.stderr.decode())
        with open(self.path("kept.json"), "wb") as file:
            file.write(done.stdout)
        checked = subprocess.run([CHECK, "kept.json", "r.st"], cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_a_writer_that_is_killed_leaves_nothing(self):
        running = subprocess.Popen([RUNG, "task", "eva", "--n", "1000", "--count", "1000000", "--out", "d"], cwd=self.folder, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not os.path.isdir(self.path("d")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        running.send_signal(signal.SIGKILL)
        running.wait()
        self.rung("task", "eva", "--n", "4", "--out", "d", code=0)
        self.assertEqual(os.listdir(self.path("d")), ["eva.txt"])

    def test_output_that_does_not_go_out_is_a_failure(self):
        for command in (["bound", "--table"], ["show", "full*3"], ["task", "eva", "--n", "400", "--count", "2000"], ["help", "--man"], [*EVA, "--json"],
                        ["bound", "full", "--explain"], ["eval", "r.st", "--wrong", "1000"], ["build", "eva", "--sweep", "n=2..4"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([RUNG, *command], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 2, (command, done.stderr))
            self.assertIn(b"standard output", done.stderr, command)

    def test_a_reader_that_leaves_does_not_stop_what_is_kept(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([RUNG, *EVA, "--out", "kept"], cwd=self.folder, stdout=write, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr.count(b"[output]")), (128 + signal.SIGPIPE, 0))
        self.assertIn("kept", self.names())
        done = subprocess.run([RUNG, "eval", "r.st", "--store", "s.jsonl"], cwd=self.folder, stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        self.assertEqual(done.returncode, 128 + signal.SIGPIPE)
        self.assertIn("s.jsonl", self.names())

    def test_the_printed_verify_line_runs_in_a_shell(self):
        names = ["it's $(touch owned) `touch owned`;.st", "-dash.st", "a b\"c\\d.st", "new\nline\x1b[31m.st", "Ünï.st"]
        for name in names:
            with open(self.path("r.st"), "rb") as source, open(self.path(name), "wb") as target:
                target.write(source.read())
            model = "./" + name if name.startswith("-") else name
            done = self.rung("break", model, "--method", "reachable", "--out", model + ".json", code=0)
            line = next(one for one in done.stdout.decode().split("\n") if one.strip().startswith("verify"))
            self.assertNotIn("\x1b", line)
            command = line.split(None, 1)[1]
            self.assertTrue(command.startswith("rung-check "))
            ran = subprocess.run(["bash", "-c", command.replace("rung-check", shlex.quote(CHECK), 1)], cwd=self.folder, capture_output=True, check=False)
            self.assertEqual(ran.returncode, 0, (command, ran.stderr))
        self.assertNotIn("owned", self.names())


if __name__ == "__main__":
    unittest.main()
