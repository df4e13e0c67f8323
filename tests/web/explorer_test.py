#!/usr/bin/python3
"""The explorer in a real browser: an architecture typed, sliders moved, a configuration dropped, a typo, dark and a phone's width.
Usage: explorer_test.py FOLDER_OF_RUNG CONFIGS FOLDER_FOR_SCREENSHOTS"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from browser import Browser, keep

RUNG, CONFIGS, SHOTS = os.path.join(os.path.abspath(sys.argv[1]), "rung"), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
del sys.argv[1:4]
PATIENCE = 60  # seconds; a busy machine is no failure

RUN = {"id": "run-1", "kind": "run", "parent": "", "state": "running", "created": "2026-11-15T10:00:01.000000Z", "finished": "", "seed": None, "version": "0.1.0", "libraries": {}, "host": "here",
       "device": "cpu", "command": "rung train", "body": {"task": "eva", "arch": "full*2", "size": {"n": 16}, "steps": 1000}}


def member(number, state, steps, accuracy):
    curve = [{"step": step, "stage": 0, "loss": 1.0, "accuracy": [accuracy * step / steps]} for step in range(100, steps + 1, 100)]
    return {**RUN, "id": f"member-{number}", "kind": "member", "parent": "run-1", "state": state, "seed": number, "finished": "" if state == "running" else "2026-11-15T10:05:00.000000Z",
            "body": {"task": "eva", "arch": "full*2", "member": number, "rate": 0.003, "steps": 1000, "steps_done": steps, "curve": curve, "news": "2026-11-15T10:01:00.000000Z"}}


class Explorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.store = os.path.join(cls.folder.name, "runs.jsonl")
        cls.write_store([RUN, member(0, "running", 300, 0.5), member(1, "done", 1000, 0.9)])
        cls.server = subprocess.Popen([RUNG, "serve", "--port", "0", "--store", cls.store], stdout=subprocess.PIPE, text=True, cwd=cls.folder.name)
        cls.url = cls.server.stdout.readline().strip()
        cls.window = Browser()
        cls.browser = cls.window.driver

    @classmethod
    def tearDownClass(cls):
        cls.window.__exit__()
        cls.server.send_signal(signal.SIGINT)
        code = cls.server.wait(timeout=20)
        cls.server.stdout.close()
        cls.folder.cleanup()
        assert code == 0, code

    @classmethod
    def write_store(cls, records):
        with open(cls.store + ".new", "w", encoding="utf-8") as lines:
            for record in records:
                lines.write(json.dumps({"schema": "rung.record/2", **record}) + "\n")
        os.replace(cls.store + ".new", cls.store)

    def setUp(self):
        self.open(1280, 1000)

    def tearDown(self):
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [])

    def open(self, width, height, dark=False):
        self.window.wear(width, height, dark)
        self.browser.get(self.url)
        self.wait(lambda: self.cards())
        self.browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'; document.getElementById('explorer').scrollIntoView()")

    def wait(self, condition):
        return WebDriverWait(self.browser, PATIENCE, poll_frequency=0.05).until(lambda _: condition())

    def cards(self):
        return self.browser.execute_script("return Object.fromEntries([...document.querySelectorAll('.verdict-card')].map((card) => [card.dataset.task, card.dataset.verdict]))")

    def text(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def type_line(self, line):
        field = self.browser.find_element(By.ID, "explorer-line")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(line)

    def slide(self, name, value):
        """By the keyboard, as a person without a mouse would."""
        slider = self.browser.find_element(By.ID, name)
        while int(slider.get_attribute("value")) != value:
            slider.send_keys(Keys.RIGHT if int(slider.get_attribute("value")) < value else Keys.LEFT)

    def bound(self, *flags):
        answer = json.loads(subprocess.run([RUNG, "bound", *flags, "--json"], capture_output=True, text=True, check=True).stdout)
        return {verdict["task"]: verdict["verdict"] for verdict in answer["verdicts"]}

    def test_verdicts_are_those_of_the_command_line(self):
        self.assertEqual(self.cards(), self.bound("full+linear*100", "--width", "16", "--context", "65536"))
        self.type_line("linear*4")
        self.wait(lambda: self.text(".explorer-word code") == "linear*4")
        self.assertEqual(self.cards(), self.bound("linear*4", "--width", "16", "--context", "65536"))
        self.assertIn("rung bound linear*4 --width 16 --heads 1 --context 65536 --precision 16", self.text(".explorer-command code"))

    def test_what_is_not_proved_says_so(self):
        for line in ("sparse(B=16,k=2)*2", "full+linear*100"):
            self.type_line(line)
            self.wait(lambda: self.text(".explorer-word code").startswith(line.split("(")[0].split("*")[0]))
            answer = json.loads(subprocess.run([RUNG, "bound", line, "--width", "16", "--context", "65536", "--json"], capture_output=True, text=True, check=True).stdout)
            for verdict in answer["verdicts"]:
                head = self.text(f".verdict-card[data-task='{verdict['task']}'] .head")
                marked = bool(verdict["theorem"]) and verdict["status"] not in ("checked", "proved")
                self.assertEqual(f", {verdict['status']}" in head, marked, (line, verdict["task"], head))
            depth = self.text(".explorer-depth")
            for side, by in (("largest_L_solvable", "solvable_by"), ("smallest_L_impossible", "impossible_by")):
                if answer["pattern"][side]:
                    self.assertIn(f"L = {answer['pattern'][side]} ({answer['pattern'][by]['theorem']}, {answer['pattern'][by]['status']})", depth)
            self.assertNotIn("can be done", depth)

    def test_a_size_that_the_line_does_not_use_is_left_out(self):
        self.type_line("rnn*2")
        self.wait(lambda: self.text(".explorer-word code").startswith("rnn"))
        self.assertFalse(self.browser.find_element(By.ID, "explorer-heads").is_enabled())
        self.assertNotIn("--heads", self.text(".explorer-command code"))
        self.assertEqual(self.text("#explorer-trouble"), "")
        self.type_line("full*2")
        self.wait(lambda: self.text(".explorer-word code") == "full*2")
        self.assertTrue(self.browser.find_element(By.ID, "explorer-heads").is_enabled())
        self.assertIn("--heads 1", self.text(".explorer-command code"))

    def test_sliders_change_verdicts(self):
        self.slide("explorer-context", 17)
        self.wait(lambda: self.cards()["seqcomp"] == "impossible")
        self.slide("explorer-context", 12)
        expected = self.bound("full+linear*100", "--width", "16", "--context", "4096")
        self.wait(lambda: self.cards() == expected)  # on the way there seqcomp is vacuous as well
        self.slide("explorer-bits", 4)
        self.wait(lambda: "precision 4" in self.text(".explorer-word"))
        self.assertEqual(self.cards(), self.bound("full+linear*100", "--width", "16", "--context", "4096", "--precision", "4"))
        self.slide("explorer-context", 24)
        self.wait(lambda: self.cards()["seqcomp"] == "impossible")

    def test_a_link_shows_what_was_chosen(self):
        self.type_line("linear*3")
        self.slide("explorer-context", 12)
        self.wait(lambda: self.text(".explorer-word code") == "linear*3" and "4096" in self.text(".explorer-command code"))
        address, cards = self.browser.current_url, self.cards()
        self.assertIn("#explorer?", address)
        self.browser.get("about:blank")
        self.browser.get(address)
        self.wait(lambda: self.text(".explorer-word code") == "linear*3")
        self.assertEqual(self.cards(), cards)
        self.assertIn("--context 4096", self.text(".explorer-command code"))
        # What is no such value is left as it begins.
        self.browser.get("about:blank")
        self.browser.get(self.url + "#explorer?width=1e9&context=x&task=%3Cscript%3E&format=nothing")
        self.wait(lambda: self.cards())
        self.assertEqual(self.cards(), self.bound("full+linear*100", "--width", "16", "--context", "65536"))

    def test_a_typo_is_shown_with_its_column_and_mended(self):
        self.type_line("full+liner*3")
        self.wait(lambda: "unknown mixer" in self.text("#explorer-trouble"))
        self.assertIn("column 6", self.text(".caret"))
        self.assertEqual(self.browser.find_element(By.ID, "explorer-line").get_attribute("aria-invalid"), "true")
        keep(self.browser, SHOTS, "explorer_typo")
        self.browser.find_element(By.CSS_SELECTOR, "#explorer-trouble button").click()
        self.wait(lambda: self.text(".explorer-word code") == "full+linear*3")
        self.assertEqual(self.text("#explorer-trouble"), "")
        self.type_line("(((")
        self.wait(lambda: self.text("#explorer-trouble") != "")
        self.assertTrue(self.cards())

    def test_a_dropped_configuration_answers(self):
        config = os.path.join(CONFIGS, "qwen3.5-27b.json")
        with open(config, encoding="utf-8") as text:
            self.browser.execute_script("""const transfer = new DataTransfer();
              transfer.items.add(new File([arguments[0]], "config.json", { type: "application/json" }));
              for (const kind of ["dragover", "drop"]) document.getElementById("explorer").dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));""", text.read())
        self.wait(lambda: "64 layers" in self.text(".explorer-word"))
        self.assertEqual(self.cards(), self.bound(config))
        self.assertIn("config.json", self.text(".dropped"))
        self.assertFalse(self.browser.find_element(By.ID, "explorer-width").is_displayed())
        keep(self.browser, SHOTS, "explorer_config")
        self.slide("explorer-context", 14)
        self.wait(lambda: "16,384 tokens" in self.text(".explorer-word"))
        self.assertEqual(self.cards(), self.bound(config, "--context", "16384"))
        self.browser.find_element(By.CSS_SELECTOR, ".dropped button").click()
        self.wait(lambda: self.text(".explorer-word code") == "full+linear*100")
        self.browser.find_element(By.ID, "explorer-file").send_keys(os.path.join(CONFIGS, "llama-3.1-8b.json"))
        self.wait(lambda: "32 layers" in self.text(".explorer-word"))

    def test_one_task_and_the_reasons_behind_it(self):
        self.wait(lambda: len(self.browser.find_elements(By.CSS_SELECTOR, "#explorer-task option")) > 10)
        self.browser.execute_script("const task = document.getElementById('explorer-task'); task.value = 'seqcomp'; task.dispatchEvent(new Event('change'))")
        self.wait(lambda: list(self.cards()) == ["seqcomp"])
        self.browser.find_element(By.CSS_SELECTOR, ".verdict-card summary").click()
        self.assertIn("T x_0 y lg N_1", self.text(".card-details"))
        self.assertTrue(self.browser.find_elements(By.CSS_SELECTOR, ".card-details .formula .katex"))
        self.assertIn("M_part", self.text(".card-details .parameters"))

    def test_running_sweeps_appear_and_move(self):
        self.wait(lambda: "1 running" in self.text("#sweeps"))
        self.assertIn("300 of 1,000", self.text("#sweeps"))
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#sweeps canvas[data-drawn]"))
        self.write_store([RUN, member(0, "running", 700, 0.8), member(1, "done", 1000, 0.9)])
        self.wait(lambda: "700 of 1,000" in self.text("#sweeps"))
        self.browser.execute_script("document.getElementById('sweeps').scrollIntoView()")
        keep(self.browser, SHOTS, "sweeps")

    def test_dark_and_a_phone_fit(self):
        for name, width, height, dark in (("light", 1280, 1000, False), ("dark", 1280, 1000, True), ("phone", 360, 1600, False), ("phone_dark", 360, 1600, True)):
            self.open(width, height, dark)
            keep(self.browser, SHOTS, f"explorer_{name}")
            self.assertEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), self.browser.execute_script("return document.documentElement.clientWidth"), name)
        paper = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.assertLess(sum(int(part) for part in paper[4:-1].split(",")[:3]), 200, paper)


if __name__ == "__main__":
    unittest.main()
