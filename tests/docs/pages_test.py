#!/usr/bin/python3
"""The pages hang together: links and anchors lead somewhere, the index names every page, every schema and every work cited has
its entry, and the files of a project say the same version and licence."""
import glob
import hashlib
import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
MENTION = re.compile(r"(?<![\w/.-])docs/[\w-]+\.(?:md|bib)\b")
ARXIV = re.compile(r"(?<![\d.])\d{4}\.\d{5}(?!\d)")
SCHEMA = re.compile(r'"(rung\.[a-z_-]+/\d+)"')
KEY = re.compile(r"^### (\w+)$", re.M)
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as page:
        return page.read()


def without_code(text):
    return re.sub(r"^(```+).*?^\1`*\s*$", "", text, flags=re.S | re.M)


def slug(heading):
    """The anchor of a heading as forges make it: lower case, punctuation dropped, blanks as hyphens."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(text):
    found, seen = set(), {}
    for heading in re.findall(r"^#{1,6} (.*)$", without_code(text), flags=re.M):
        name = slug(heading)
        found.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found


def dangling_links(path):
    """Relative links of a page to no file, or to no heading of one."""
    with open(path, encoding="utf-8") as page:
        text = page.read()
    wrong = []
    for target in LINK.findall(without_code(text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = os.path.join(os.path.dirname(path), name) if name else path
        if not os.path.exists(file):
            wrong.append(target)
        elif anchor and file.endswith(".md"):
            with open(file, encoding="utf-8") as other:
                if anchor not in anchors(other.read()):
                    wrong.append(target)
    return wrong


def pages():
    return sorted(glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "*.md"))
                  + glob.glob(os.path.join(ROOT, "tests", "cli", "*.md")) + glob.glob(os.path.join(ROOT, "bench", "**", "*.md"), recursive=True))


def sources():
    found = []
    for folder in ("rung", "cli", "check"):
        for ending in ("cc", "h", "cu", "cuh"):
            found += glob.glob(os.path.join(ROOT, folder, "**", "*." + ending), recursive=True)
    return sorted(found)


def bib_entries(text):
    """{key: {field: value}} of a BibTeX file whose entries end with a brace of their own line."""
    entries = {}
    for kind, key, body in re.findall(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}$", text, flags=re.S | re.M):
        entries[key] = {"kind": kind} | {name: value for name, value in re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, flags=re.M)}
    return entries


class Links(unittest.TestCase):
    def test_dangling_ones_are_found(self):
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, "page.md")
            with open(path, "w", encoding="utf-8") as page:
                page.write("# A heading, `rung x`!\n[a](page.md#a-heading-rung-x) [b](#no-such) [c](gone.md) [d](https://example.org/x)\n"
                           "```\n# not a heading\n[e](f.md)\n```\n[g](page.md#not-a-heading)\n")
            self.assertEqual(dangling_links(path), ["#no-such", "gone.md", "page.md#not-a-heading"])

    def test_all_lead_somewhere(self):
        self.assertIn(os.path.join(ROOT, "docs", "tour.md"), pages())
        self.assertEqual([f"{os.path.relpath(page, ROOT)}: {target}" for page in pages() for target in dangling_links(page)], [])

    def test_every_mention_of_a_page_names_one(self):
        wrong = []
        for path in pages() + sources():
            with open(path, encoding="utf-8") as source:
                for name in MENTION.findall(source.read()):
                    if not os.path.exists(os.path.join(ROOT, name)):
                        wrong.append(f"{os.path.relpath(path, ROOT)}: {name}")
        self.assertEqual(wrong, [])

    def test_the_index_has_every_page(self):
        index = {target.partition("#")[0] for target in LINK.findall(read("docs", "README.md"))}
        here = {os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "docs", "*.md"))} - {"README.md"}
        self.assertEqual(sorted(here - index), [])
        for page in ("docs/README.md", "docs/tour.md"):
            self.assertIn(page, LINK.findall(read("README.md")))


class Formats(unittest.TestCase):
    def test_page_has_every_schema_of_the_sources(self):
        listed = set(re.findall(r"`(rung\.[a-z_-]+/\d+)`", read("docs", "formats.md")))
        self.assertIn("rung.weights/2", listed)
        used = set()
        for path in sources():
            with open(path, encoding="utf-8") as source:
                used |= set(SCHEMA.findall(source.read()))
        self.assertIn("rung.bound/2", used)
        self.assertEqual(sorted(used - listed), [])


class Words(unittest.TestCase):
    def test_one_thing_is_one(self):
        things = "answer|bit|error|head|instance|layer|letter|member|multiply-add|point|prompt|seed|size|state|step|token|unit|value|word"
        plural = re.compile(rf"(?<![\w.,/+×−-])(?<![+−-] )1 (hidden )?({things})s\b(?!  )")  # and no column of units
        self.assertRegex("in 1 layers", plural)
        self.assertNotRegex("L+1 layers, n + 1 tokens, 0.1 bits, 11 words", plural)
        for path in pages():
            if os.sep + "bench" + os.sep in path:  # names of figures, the same for any number of members
                continue
            with open(path, encoding="utf-8") as file:
                self.assertEqual([line for line in file if plural.search(line)], [], path)


class Bibliography(unittest.TestCase):
    def test_page_and_bibtex_have_the_same_works(self):
        page, entries = read("docs", "bibliography.md"), bib_entries(read("docs", "bibliography.bib"))
        self.assertEqual(sorted(KEY.findall(page)), sorted(entries))
        self.assertGreater(len(entries), 15)
        for key, entry in entries.items():
            for field in ("author", "title", "year"):
                self.assertIn(field, entry, key)
            self.assertTrue(entry["kind"] in ("misc", "article", "inproceedings"), key)
        part = dict(zip(KEY.findall(page), re.split(KEY.pattern, page, flags=re.M)[2::2]))
        for key, entry in entries.items():
            if "eprint" in entry:
                self.assertIn(f"arXiv {entry['eprint']}", part[key], key)

    def test_every_number_cited_has_its_entry(self):
        known = {entry["eprint"] for entry in bib_entries(read("docs", "bibliography.bib")).values() if "eprint" in entry}
        missing = []
        for path in pages() + sources():
            if os.path.basename(path) == "bibliography.md" or os.sep + "bench" + os.sep in path:
                continue
            with open(path, encoding="utf-8") as source:
                for line in source:
                    # A number of a paper follows words or brackets; decimals of tables and weights do not look like months.
                    for number in ARXIV.findall(line):
                        if "01" <= number[2:4] <= "12" and 7 <= int(number[:2]) <= 40 and number not in known:
                            missing.append(f"{os.path.relpath(path, ROOT)}: {number}")
        self.assertEqual(missing, [])


class Project(unittest.TestCase):
    def test_licence_is_the_full_apache_text(self):
        self.assertEqual(hashlib.sha256(read("LICENSE").encode()).hexdigest(), APACHE_2)

    def test_citation_has_the_version_and_licence(self):
        citation = read("CITATION.cff")
        version = re.search(r"project\(rung VERSION ([\d.]+)", read("CMakeLists.txt")).group(1)
        for line in ("cff-version: 1.2.0", f"version: {version}", "license: Apache-2.0", 'title: "rung'):
            self.assertIn("\n" + line, "\n" + citation)
        for needed in ("message:", "authors:"):
            self.assertRegex(citation, "(?m)^" + needed)
        self.assertIn(f"## {version}", read("CHANGELOG.md"))
        self.assertNotIn("\t", citation)


if __name__ == "__main__":
    unittest.main()
