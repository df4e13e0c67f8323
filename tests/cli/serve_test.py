#!/usr/bin/python3
"""rung serve as a program: the address on standard output, the bounds of `rung bound`, one port, an end that is clean."""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from urllib.parse import urlencode

BIN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
RUNG = os.path.join(BIN, "rung")
ARCHITECTURES = ["full", "linear", "full+linear", "(gdelta*3+full)*12", "mamba2*4", "loglinear*2", "sparse(B=16,k=4)", "heads(full:1,linear:1)",
                 "full(window=64)*2+full", "rnn+gru"]


class Serve(unittest.TestCase):
    def start(self, *flags):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = subprocess.Popen([RUNG, "serve", "--port", "0", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.name)
        self.addCleanup(lambda: (server.poll() is None and server.kill(), server.wait(), server.stdout.close(), server.stderr.close()))
        return server, server.stdout.readline().strip()

    @staticmethod
    def get(url, target):
        connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=60)
        connection.request("GET", target)
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply.status, body

    def test_bounds_are_those_of_the_command_line(self):
        server, url = self.start()
        for arch in ARCHITECTURES:
            for more in ({}, {"task": "eva", "n": 64}, {"task": "seqcomp", "context": 4096, "precision": "8", "width": 32}, {"assume-exact": 1, "precision": "bf16"}):
                flags = [part for name, value in more.items() for part in ([f"--{name}"] if name == "assume-exact" else [f"--{name}", str(value)])]
                printed = subprocess.run([RUNG, "bound", arch, *flags, "--json"], capture_output=True, text=True, check=True).stdout
                self.assertEqual(self.get(url, "/api/bound?" + urlencode({"arch": arch, **more})), (200, printed), (arch, more))
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(timeout=10), 0)

    def test_a_typo_is_the_line_of_the_command_line(self):
        server, url = self.start("--json")
        url = json.loads(url)["url"]
        for arch in ("fool", "full+(linear", "full*0", "(full*1000000)*1000000"):
            said = subprocess.run([RUNG, "bound", arch], capture_output=True, text=True)
            self.assertEqual(said.returncode, 2)
            status, body = self.get(url, "/api/bound?" + urlencode({"arch": arch}))
            self.assertEqual((status, "rung: " + json.loads(body)["message"] + "\n"), (400, said.stderr))
        server.terminate()
        self.assertEqual(server.wait(timeout=10), 0)

    def test_a_store_that_is_none_is_one_line_and_exit_code_2(self):
        refused = subprocess.run([RUNG, "serve", "--port", "0", "--store", __file__], capture_output=True, text=True, timeout=60)
        self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count("\n")), (2, "", 1), refused.stderr)
        self.assertIn("is not a store", refused.stderr)

    def test_a_port_in_use_is_one_line_and_exit_code_2(self):
        _, url = self.start()
        second = subprocess.run([RUNG, "serve", "--port", url.rstrip("/").rsplit(":", 1)[1]], capture_output=True, text=True, timeout=60)
        self.assertEqual((second.returncode, second.stdout, second.stderr.count("\n")), (2, "", 1))
        self.assertIn("is in use", second.stderr)
        for flags in (["--port", "70000"], ["--port", "-1"], ["--host", "example.org"], ["--host", "not an address"]):
            refused = subprocess.run([RUNG, "serve", *flags], capture_output=True, text=True, timeout=60)
            self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count("\n")), (2, "", 1), flags)

    def test_ends_soon_with_connections_open_and_says_nothing(self):
        server, url = self.start()
        connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=60)
        connection.request("GET", "/api/health")
        connection.getresponse().read()
        began = time.monotonic()
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(timeout=20), 0)
        self.assertLess(time.monotonic() - began, 15)  # a hang, not a slow machine
        self.assertEqual((server.stdout.read(), server.stderr.read()), ("", ""))
        connection.close()

    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "rung-learn")), "rung was built without training")
    def test_members_of_a_sweep_tell_how_far_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "runs.jsonl")
            _, url = self.start("--store", store)
            self.assertEqual(json.loads(self.get(url, "/api/runs")[1])["runs"], [])
            subprocess.run([RUNG, "train", "full", "--task", "eva", "--n", "4", "--width", "8", "--steps", "60", "--batch", "8", "--eval-every", "20", "--seeds", "2", "--final-count", "50",
                            "--out", "sweep", "--store", store, "--device", "cpu", "--quiet"], cwd=folder, check=True, capture_output=True, timeout=300)
            live = json.loads(self.get(url, "/api/runs")[1])
            self.assertEqual([(m["state"], m["step"], m["steps"], len(m["curve"])) for m in live["runs"][0]["members"]], [("done", 60, 60, 3)] * 2)
            self.assertTrue(all(m["news"] for m in live["runs"][0]["members"]))
            seen = json.loads(self.get(url, "/api/runs?" + urlencode({"seen": live["version"]}))[1])
            self.assertEqual(seen, {"schema": "rung.live/1", "version": live["version"], "unchanged": True})

    def test_other_addresses_are_spelt_out_and_warned_of(self):
        server, url = self.start("--host", "0.0.0.0")
        self.assertTrue(url.startswith("http://0.0.0.0:"))
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(timeout=10), 0)
        self.assertIn("can be reached by other machines", server.stderr.read())


if __name__ == "__main__":
    unittest.main()
