#!/bin/sh
# Install the built wheel, with the locked versions of its dependencies and nothing else, in a new
# environment, and use it from a folder outside the project. Run from the project's root by `make smoke`.
set -eu

root=$(pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The lock without its hashes: the wheel has none, and pip takes all hashes or none.
sed -e '/^ *#/d' -e '/^ *--hash/d' -e 's/ *\\$//' requirements.lock >"$work/constraints.txt"
.venv/bin/python -m venv "$work/env"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$work/env/bin/python" -m pip install -qq --constraint "$work/constraints.txt" "$root"/dist/meantime-*.whl

cd "$work"
"$work/env/bin/python" "$root/scripts/smoke.py" "$root"
"$work/env/bin/meantime" --help >/dev/null
"$work/env/bin/meantime" ettr --rate 6.5 --gpus 131072 --restart 5min --checkpoint-write 30s --checkpoint-interval optimal
"$work/env/bin/meantime" ettr --rate 6.5 --gpus 131072 --restart 5min --checkpoint-write 30s \
    --checkpoint-interval optimal --json >ettr.json
"$work/env/bin/python" "$root/scripts/smoke.py" "$root" ettr.json
