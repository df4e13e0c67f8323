// What the page hands to spreadsheets: no formula, no control character, every cell kept. Usage: node csv_test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

// As text: without a package.json older versions of node take a .js file for CommonJS.
const text = readFileSync(new URL("../../web/csv.js", import.meta.url), "utf8");
const { csv } = await import(`data:text/javascript,${encodeURIComponent(text)}`);

assert.equal(csv(["a"], [[1]]), "a\r\n1\r\n");
for (const formula of ["=1+1", "+1", "-1", "@x", "\tx"]) assert.equal(csv(["a"], [[formula]]), `a\r\n'${formula}\r\n`);
assert.equal(csv(["=a"], [[-1.5, null, undefined, true]]), "'=a\r\n-1.5,,,true\r\n");
assert.equal(csv(["a"], [["red \u001b[31m \u007f \u0000"]]), "a\r\nred \\x1b[31m \\x7f \\x00\r\n");
assert.equal(csv(["a"], [['say "x", y\nz']]), 'a\r\n"say ""x"", y\nz"\r\n');
assert.equal(csv(["a"], [["\rx"]]), 'a\r\n"\'\rx"\r\n');
