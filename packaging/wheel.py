#!/usr/bin/env python3
"""Writes the wheel of python/rung: wheel.py ROOT PROGRAMS OUT. The same inputs give the same bytes."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

root, programs, out = sys.argv[1:]
version = re.search(r"project\(rung VERSION ([\d.]+)", open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8").read()).group(1)
said = subprocess.run([os.path.join(programs, "rung"), "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
if said != version:
    sys.exit(f"wheel.py: {programs}/rung is of version {said}; expected {version}")

files = {}
package = os.path.join(root, "python", "rung")
for name in sorted(os.listdir(package)):
    if name.endswith(".py") or name == "py.typed":
        with open(os.path.join(package, name), "rb") as file:
            files[f"rung/{name}"] = (file.read(), 0o644)
for name in ("rung", "rung-check"):
    with open(os.path.join(programs, name), "rb") as file:
        files[f"rung/bin/{name}"] = (file.read(), 0o755)

info = f"rung-{version}.dist-info"
files[f"{info}/METADATA"] = (f"""Metadata-Version: 2.1
Name: rung
Version: {version}
Summary: The expressiveness theory of attention, executable
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: torch
Requires-Dist: torch; extra == "torch"
Provides-Extra: plot
Requires-Dist: matplotlib; extra == "plot"
""".encode(), 0o644)
files[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: rung\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n", 0o644)
files[f"{info}/entry_points.txt"] = (b"[console_scripts]\nrung = rung._command:main\nrung-check = rung._command:check\n", 0o644)
record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                 for name, (data, _) in files.items())
files[f"{info}/RECORD"] = ((record + f"{info}/RECORD,,\n").encode(), 0o644)

os.makedirs(out, exist_ok=True)
path = os.path.join(out, f"rung-{version}-py3-none-linux_x86_64.whl")
with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, (data, mode) in files.items():
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        wheel.writestr(entry, data)
os.replace(path + ".new", path)
print(path)
