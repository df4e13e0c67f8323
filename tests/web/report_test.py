#!/usr/bin/python3
"""The page of rung report in a real browser, from disk: report_test.py RUNG CASES SCREENSHOTS."""
import base64
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from browser import Browser, keep
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

RUNG, CASES, SHOTS = (os.path.abspath(path) for path in sys.argv[1:4])
FIGURES = ("accuracy", "precision", "capacity", "depth", "attack", "horizons")
# Pixels of a canvas that differ from its corner; read from a copy, so that the page's own stays as it was.
INK = """const o = document.querySelector(arguments[0]); if (!o || !o.width) return 0;
const c = document.createElement('canvas'); c.width = o.width; c.height = o.height;
const x = c.getContext('2d', {willReadFrequently: true}); x.drawImage(o, 0, 0);
const d = x.getImageData(0, 0, c.width, c.height).data; let n = 0;
for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 0 && (d[i] !== d[0] || d[i+1] !== d[1] || d[i+2] !== d[2] || d[3] === 0)) ++n; return n;"""
OVERFLOW = """return [...document.querySelectorAll('body *')].filter(e => { const r = e.getBoundingClientRect();
if (!r.width || r.right <= innerWidth + 1) return false; for (let p = e.parentElement; p; p = p.parentElement) { const o = getComputedStyle(p).overflowX;
if ((o === 'auto' || o === 'scroll' || o === 'hidden' || o === 'clip') && p !== document.body) return false; } return getComputedStyle(e).position !== 'fixed'; }).map(e => e.tagName + '.' + e.className).slice(0, 5)"""


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        page = os.path.join(cls.folder.name, "report.html")
        told = subprocess.run([RUNG, "report", "--hierarchy", f"{CASES}/hierarchy", "--results", f"{CASES}/results", "--store", f"{CASES}/runs.jsonl", "--out", page],
                              cwd=cls.folder.name, check=True, capture_output=True, text=True)
        assert told.stdout == page + "\n", told
        cls.data = json.loads(subprocess.run([RUNG, "report", "--hierarchy", f"{CASES}/hierarchy", "--results", f"{CASES}/results", "--store", f"{CASES}/runs.jsonl", "--json"],
                                             cwd=cls.folder.name, check=True, capture_output=True, text=True).stdout)
        cls.url = "file://" + page
        cls.browser = Browser()
        cls.driver = cls.browser.driver

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.wear(1280, 900)
        self.driver.get(self.url)
        self.browser.complaints()
        self.driver.get("about:blank")
        self.driver.get(self.url)
        self.until(lambda: self.script("return document.documentElement.dataset.ready"))

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def until(self, holds, seconds=20):
        end = time.monotonic() + seconds
        while not (value := holds()):
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.02)
        return value

    def open_dialog(self):
        return self.script("return document.querySelector('#evidence').open")

    def test_opens_from_disk_and_tells_the_story(self):
        self.assertIn("hundred linear ones cannot do what three full layers do", self.driver.find_element(By.TAG_NAME, "h1").text)
        story = self.driver.find_element(By.ID, "why").text
        for words in ("9,510.6 bits", "8,748 bits", "long table", "100 summaries", "verified", "Three full layers"):
            self.assertIn(words, story)
        self.assertEqual(self.script("return document.querySelectorAll('.picture svg').length"), 4)
        self.assertEqual(self.script("return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length"), 0)
        keep(self.driver, SHOTS, "wide-opening")

    def test_every_cell_opens_and_closes_by_mouse(self):
        cells = self.script("return [...document.querySelectorAll('a.cell')].map(a => a.getAttribute('href'))")
        self.assertEqual(len(cells), 24 + 4)
        for cell in cells:
            link = self.driver.find_element(By.CSS_SELECTOR, f"a.cell[href='{cell}']")
            self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", link)
            link.click()
            self.until(self.open_dialog)
            self.assertEqual(self.script("return location.hash"), cell)
            self.assertTrue(self.driver.find_element(By.ID, "evidence-title").text)
            self.driver.find_element(By.CSS_SELECTOR, "#evidence .close").click()
            self.until(lambda: not self.open_dialog())

    def title(self):
        """Of the evidence that is open; read in one step, since the page puts another heading in its place."""
        return self.script("return document.getElementById('evidence-title')?.textContent ?? null")

    def test_cells_open_step_and_close_by_keyboard(self):
        first = self.driver.find_element(By.CSS_SELECTOR, ".hierarchy a.cell")
        self.script("arguments[0].focus()", first)
        first.send_keys(Keys.ENTER)
        self.until(self.open_dialog)
        titles = set()
        for _ in range(28):
            title = self.title()
            titles.add(title)
            self.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
            self.until(lambda: self.title() not in (None, title))
        self.assertEqual(len(titles), 28)
        self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.until(lambda: not self.open_dialog())
        self.assertEqual(self.script("return document.activeElement.getAttribute('href')"), first.get_attribute("href").split("report.html")[1])

    def test_an_address_opens_its_evidence_and_back_closes_it(self):
        self.driver.get(self.url + "#evidence/highlight-1-2")
        self.until(self.open_dialog)
        text = self.driver.find_element(By.ID, "evidence").text
        for words in ("built and verified", "4,096 inputs", "What each coordinate holds", "code of the position"):
            self.assertIn(words, text)
        self.assertGreater(self.script("return document.querySelectorAll('#evidence .heat rect').length"), 30)
        self.driver.find_elements(By.CSS_SELECTOR, "#evidence .tab")[2].click()
        self.assertIn("layer 3", self.script("return document.querySelector('#evidence .heat').getAttribute('aria-label')"))
        keep(self.driver, SHOTS, "evidence-construction")
        self.driver.get(self.url + "#evidence/linear-eva")
        self.until(lambda: self.script(INK, "#evidence canvas") > 500)
        self.assertGreater(self.script("return document.querySelectorAll('#evidence .katex').length"), 0)
        self.assertIn("verified", self.driver.find_element(By.ID, "evidence").text)
        self.assertEqual(self.script("return document.querySelectorAll('#evidence .pair.differs').length"), 2)
        keep(self.driver, SHOTS, "evidence-certificate")
        self.driver.back()
        self.driver.back()
        self.until(lambda: not self.open_dialog())

    def test_the_player_steps_forward_and_back(self):
        protocol = self.data["protocols"][0]["document"]
        messages = sum(len(epoch["messages"]) for epoch in protocol["epochs"])
        place = lambda: self.driver.find_element(By.CSS_SELECTOR, ".controls .place").text
        self.assertEqual(place(), f"0 / {messages + len(protocol['epochs'])}")
        theatre = self.driver.find_element(By.CSS_SELECTOR, ".theatre")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'}); arguments[0].focus()", theatre)
        saying = lambda: self.driver.find_element(By.CSS_SELECTOR, ".saying").text
        before = saying()
        theatre.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(saying(), before)
        self.assertIn(f"{protocol['epochs'][0]['messages'][0]['bits']:,} bits", saying())
        theatre.send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, ".wires .message")), 2)
        keep(self.driver, SHOTS, "player")
        theatre.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        self.assertEqual(saying(), before)
        theatre.send_keys(Keys.END)
        heard = sum(int(box.text.split()[0].replace(",", "")) for box in self.driver.find_elements(By.CSS_SELECTOR, ".player-box .received"))
        self.assertEqual(heard, protocol["charged_bits"])
        self.driver.find_element(By.CSS_SELECTOR, "[aria-label='Back one layer']").click()
        self.assertTrue(place().startswith(str(messages + len(protocol["epochs"]) - len(protocol["epochs"][-1]["messages"]) - 1)))
        self.driver.find_elements(By.CSS_SELECTOR, ".protocol > .tabs .tab")[1].click()
        self.assertTrue(place().startswith("0 /"))
        self.assertIn(self.data["protocols"][1]["document"]["architecture"], self.driver.find_element(By.CSS_SELECTOR, ".stage").text)

    def test_figures_are_drawn_and_give_their_data(self):
        for name in FIGURES:
            figure = self.driver.find_element(By.ID, f"figure-{name}")
            self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", figure)
            self.until(lambda: self.script(INK, f"#figure-{name} canvas") > 1000)
            self.assertTrue(figure.find_elements(By.CSS_SELECTOR, ".command code"), name)
        rows = self.rows_of("depth")
        sample = {c["id"]: c for record in self.data["lab"] if record["lab"]["experiment"] == "depth" for c in record["lab"]["configurations"]}
        self.assertEqual(len(rows), len(sample))
        fff = next(row for row in rows if row["pattern"] == "FFF" and row["L"] == "2")
        self.assertEqual(float(fff["accuracy"]), sample["L2-FFF"]["accuracy"])
        self.assertEqual(fff["record"], "shipped")
        horizons = {(row["model"], row["task"]): row for row in self.rows_of("horizons")}
        self.assertEqual(horizons["falcon-mamba-7b", "eva"]["from tokens"], "12456366")
        details = self.driver.find_element(By.CSS_SELECTOR, "#figure-depth details summary")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", details)
        details.click()
        self.until(lambda: len(self.driver.find_elements(By.CSS_SELECTOR, "#figure-depth tbody tr")) == len(rows))
        keep(self.driver, SHOTS, "figures")

    def rows_of(self, name):
        link = self.driver.find_element(By.CSS_SELECTOR, f"#figure-{name} a.csv")
        self.assertEqual(link.get_attribute("download"), f"{name}.csv")
        text = urllib.parse.unquote(link.get_attribute("href").split(",", 1)[1])
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def test_runs_are_listed_with_their_curves(self):
        rows = self.driver.find_elements(By.CSS_SELECTOR, "#runs tbody tr:not(.run-curves)")
        self.assertGreater(len(rows), 0)
        button = self.driver.find_element(By.CSS_SELECTOR, "#runs button[aria-expanded]")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
        button.click()
        self.until(lambda: self.script(INK, "#runs canvas") > 500)
        # What a record says is shown as text.
        self.assertIn("</script><script>document.title='broken'</script>", self.driver.find_element(By.ID, "runs").text)
        self.assertIn("rung", self.driver.title)

    def choose(self, name, value):
        self.script("const s = document.getElementById('sweep-' + arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))", name, value)
        self.until(lambda: self.script("return Boolean(document.querySelector('#figure-sweep'))"))

    def sweep_rows(self):
        address = self.script("return document.querySelector('#figure-sweep a.csv').href")
        return list(csv.DictReader(io.StringIO(urllib.parse.unquote(address.split(",", 1)[1]))))

    def test_a_sweep_of_the_store_is_drawn_as_it_is_chosen(self):
        rows = self.sweep_rows()
        told = subprocess.run([RUNG, "runs", "plot", "--store", f"{CASES}/runs.jsonl", "--kind", "member", "--x", "size.n", "--json"],
                              check=True, capture_output=True, text=True, cwd=self.folder.name)
        points = [point for panel in json.loads(told.stdout)["panels"] for line in panel["lines"] for point in line["points"]]
        key = lambda one: (one[0], round(one[1], 9), one[2])
        self.assertEqual(sorted((float(row["size.n"]), round(float(row["accuracy"]), 9), int(row["members"])) for row in rows),
                         sorted(key((point["x"], point["mean"], point["count"])) for point in points))
        self.choose("panel", "arch")
        self.choose("y", "loss")
        self.assertGreater(len(self.script("return [...document.querySelectorAll('#figure-sweep .chart')].map(e => e.textContent)")), 1)
        self.assertIn("loss", self.sweep_rows()[0])

    def test_what_is_chosen_is_in_the_address_and_a_link_lands_there(self):
        self.choose("panel", "arch")
        address = self.script("return location.href")
        self.assertIn("#figure-sweep?", address)
        self.assertIn("panel=arch", address)
        self.driver.get("about:blank")
        self.driver.get(address)
        self.until(lambda: self.script("return document.documentElement.dataset.ready"))
        self.assertEqual(self.script("return document.getElementById('sweep-panel').value"), "arch")
        for place in ("figure-sweep?panel=arch", "figure-capacity", "runs", "horizons"):
            self.driver.get("about:blank")
            self.driver.get(f"{self.url}#{place}")
            self.until(lambda: self.script("return document.documentElement.dataset.ready"))
            top = self.script("return document.getElementById(arguments[0]).getBoundingClientRect().top", place.split("?")[0])
            bottom = self.script("return document.documentElement.scrollHeight - scrollY <= innerHeight + 2")
            self.assertTrue(0 <= top < 400 or bottom, f"{place} lies at {top}")

    def test_a_figure_is_saved_as_a_picture(self):
        self.script("document.getElementById('figure-capacity').scrollIntoView()")
        self.until(lambda: self.script("return Boolean(document.querySelector('#figure-capacity canvas[data-drawn]'))"))
        picture = self.script("const a = document.querySelector('#figure-capacity a.png'); a.addEventListener('click', e => e.preventDefault()); a.click(); return [a.href, a.download]")
        self.assertEqual(picture[1], "capacity.png")
        data = base64.b64decode(picture[0].split(",", 1)[1])
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(len(data), 5000)

    def test_everything_is_reached_by_keyboard_and_focus_is_seen(self):
        seen = set()
        self.script("document.body.focus()")
        for _ in range(40):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            seen.add(self.script("const e = document.activeElement; return e.id || e.getAttribute('href') || e.className"))
            width = self.script("const s = getComputedStyle(document.activeElement); return s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth)")
            self.assertGreaterEqual(width, 2, self.script("return document.activeElement.outerHTML.slice(0, 200)"))
        self.assertIn("theme", seen)
        self.assertTrue(any(str(name).startswith("#evidence/") for name in seen))

    def test_dark_and_light_by_preference_and_by_toggle(self):
        paper = lambda: self.script("return getComputedStyle(document.body).backgroundColor")
        light = paper()
        self.browser.wear(1280, 900, dark=True)
        self.until(lambda: paper() != light)
        dark = paper()
        keep(self.driver, SHOTS, "dark-opening")
        self.script("document.querySelector('#hierarchy').scrollIntoView({behavior: 'instant'})")
        keep(self.driver, SHOTS, "dark-table")
        button = self.driver.find_element(By.ID, "theme")
        button.click()
        self.assertEqual(paper(), light)
        button.click()
        self.assertEqual(paper(), dark)
        button.click()
        self.browser.wear(1280, 900)

    def test_a_phone_shows_all_of_it(self):
        for dark in (False, True):
            self.browser.wear(360, 740, dark)
            self.driver.refresh()
            self.until(lambda: self.script("return document.documentElement.dataset.ready"))
            self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), 360)
            self.assertEqual(self.script(OVERFLOW), [])
            for section in ("why", "hierarchy", "protocol", "figures", "horizons"):
                self.script("document.getElementById(arguments[0]).scrollIntoView({behavior: 'instant'})", section)
                time.sleep(0.15)
                keep(self.driver, SHOTS, f"phone-{'dark' if dark else 'light'}-{section}")
            self.script("location.hash = '#evidence/highlight-1-1'")
            self.until(self.open_dialog)
            self.assertLessEqual(self.script("return document.querySelector('#evidence').scrollWidth"), 360)
            keep(self.driver, SHOTS, f"phone-{'dark' if dark else 'light'}-evidence")
            self.script("document.querySelector('#evidence').close()")
            # Fingers: nothing that is pressed is smaller than 24 pixels.
            small = self.script("return [...document.querySelectorAll('button, a.cell, a.csv, summary')].filter(e => { const r = e.getBoundingClientRect(); return r.width && Math.min(r.width, r.height) < 22 }).map(e => e.outerHTML.slice(0, 80))")
            self.assertEqual(small, [])

    def open_other(self, files):
        """The page of a folder with these files, beside which there is nothing else."""
        folder = tempfile.mkdtemp(dir=self.folder.name)
        os.makedirs(os.path.join(folder, "hierarchy/protocols"))
        os.makedirs(os.path.join(folder, "results"))
        for name, document in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(document, file)
        subprocess.run([RUNG, "report", "--hierarchy", "hierarchy", "--results", "results", "--out", "page.html"], cwd=folder, check=True, capture_output=True)
        self.driver.get("file://" + os.path.join(folder, "page.html"))
        self.until(lambda: self.script("return document.documentElement.dataset.ready"))

    def test_an_empty_report_tells_the_story_and_what_to_run(self):
        self.open_other({})
        text = self.driver.find_element(By.TAG_NAME, "body").text
        for words in ("20,941.2 bits", "rung hierarchy", "rung lab constructions", "Horizons of released models"):
            self.assertIn(words, text)
        self.assertEqual(self.driver.find_elements(By.ID, "protocol"), [])

    def test_hostile_texts_and_records_that_lack_most_leave_a_page(self):
        hostile = "</script><img src=x onerror=alert(1)>"
        self.open_other({
            "hierarchy/hierarchy.json": {"schema": "rung.hierarchy/2", "rows": [{"id": "a", "title": hostile}], "columns": [{"id": "b"}],
                                         "cells": [{"row": "a", "column": "b", "state": "done", "bound": {"state": "open", "theorem": hostile, "argument": [hostile]},
                                                    "construction": {"state": "verified", "arch": hostile, "attention": {"tokens": ["1", hostile], "layers": [{"weights": [[1], [None, 0.5]]}]}},
                                                    "certificate": {"state": "verified", "arch": hostile, "first": ["1", hostile]}, "training": {"state": "trained", "curves": [[[0, 0.5]]], "record": {}}}],
                                         "highlights": [{"cells": []}]},
            "hierarchy/protocols/built.json": {"schema": "rung.protocol/1", "players": [{}], "epochs": [{"messages": [{"from": "x", "to": "later", "bits": 1}]}]},
            "results/a.json": {"schema": "rung.results/2", "lab": {"experiment": "depth", "configurations": [{"id": "L1-F", "accuracy": 0.5}, {"id": "L2-x"}], "verdicts": [{"id": hostile}]}},
            "results/b.json": {"schema": "rung.results/2", "lab": {"experiment": "attack", "configurations": [{"id": "m", "origin": "attack", "costs": [{"found": True}, {"found": True, "lg_evaluations": 3, "layers": 1, "bits": 2}]}]}},
            "results/c.json": {"schema": "rung.results/2", "lab": {"experiment": "capacity", "configurations": [{"id": "linear-8", "accuracy": 0.5, "capacity": {"n": 8, "elements": 4, "kept_bits": 2}}]}},
            "results/d.json": {"schema": "rung.build-sweep/1", "name": "eva", "rows": [{"n": 2, "p_measured": 3}]}})
        self.assertEqual(self.script("return document.querySelectorAll('img').length"), 0)
        self.assertEqual(self.script("return document.querySelectorAll('.notice').length"), 0)
        self.script("location.hash = '#evidence/a-b'")
        self.until(self.open_dialog)
        for name in ("accuracy", "depth", "attack", "precision"):
            self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", self.driver.find_element(By.ID, f"figure-{name}"))
            self.until(lambda: self.script(INK, f"#figure-{name} canvas") > 100)

    def test_prints_on_paper(self):
        printed = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
        pdf = base64.b64decode(printed["data"])
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(len(pdf), 100_000)
        with open(os.path.join(SHOTS, "report.pdf"), "wb") as file:
            file.write(pdf)
        self.assertEqual(self.script("return document.querySelectorAll('figure canvas').length"), len(FIGURES) + 1)  # and the sweep


if __name__ == "__main__":
    os.makedirs(SHOTS, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=1)
