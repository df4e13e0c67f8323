#!/usr/bin/env bash
# The wheel goes into a virtual environment, offline and without root, and answers: wheel_test.sh SOURCE BUILD.
set -euo pipefail
source=$(realpath "$1") build=$(realpath "$2")
/usr/bin/python3 -c 'import ensurepip, venv' 2> /dev/null || { echo "Skipped: no python3-venv"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wheel=$("$source/packaging/wheel.sh" "$build" "$folder/dist")
again=$("$source/packaging/wheel.sh" "$build" "$folder/again")
cmp "$wheel" "$again"
/usr/bin/python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
cd "$folder"
env -i HOME="$folder" PATH="$folder/env/bin" python3 - << 'END'
import rung
assert rung.bound("linear", width=8, precision="16", task="eva", n=4000).rows[0].verdict == "impossible"
assert rung.task("mqar", n=4).batch(3).inputs.shape == (3, 12)
END
version=$(env -i PATH="$folder/env/bin:/usr/bin" rung --version)
[ "$version" = "$("$build/rung" --version)" ]
[ "$(env -i PATH="$folder/env/bin:/usr/bin" rung-check --version)" = "$("$build/rung-check" --version)" ]

# The whole page from the wheel: two config.json compared, a front for 48 layers, a batch in PyTorch, a model of one's own broken.
/usr/bin/python3 -m venv --system-site-packages "$folder/with-torch"
"$folder/with-torch/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
env -u PYTHONPATH "$folder/with-torch/bin/python3" "$source/tests/python/page_test.py" installed "$build/rung-check" "$source" || [ $? = 77 ]
