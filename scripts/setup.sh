#!/bin/sh
# Make .venv with the first suitable Python, install the locked set and the project into it, and
# leave a stamp that says so. The stamp is removed first and written last: an interrupted run leaves
# none, and the next run starts over.
#
# Run from the project's root by `make`. PYTHON=/path/to/python chooses the interpreter.
set -eu

stamp=.venv/.installed
unfinished=.venv/.unfinished

# PyMC does not run on 3.15 yet; lift the upper bound when the locked one does.
suitable='import sys; sys.exit(not (3, 12) <= sys.version_info[:2] < (3, 15))'

# A name may exist and still not run (a pyenv shim, a stub): only running it tells.
find_python() {
    for candidate in "${PYTHON:-}" python3 python3.12 python3.13 python3.14 python \
        "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.1[2-4]*/bin/python; do
        if [ -n "$candidate" ] && "$candidate" -c "$suitable" >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    echo "meantime needs Python 3.12, 3.13 or 3.14 and found none: install one, or name it with" \
        "\`make PYTHON=/path/to/python\`." >&2
    exit 1
}

# A .venv is kept unless its last installation did not finish, it was made for another folder, or its
# Python is gone or too old.
usable() {
    [ ! -e "$unfinished" ] && .venv/bin/python -c "$suitable" >/dev/null 2>&1 &&
        { [ ! -e "$stamp" ] || [ "$(cat "$stamp")" = "$(pwd -P)" ]; }
}

if ! usable; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        echo "meantime needs the venv module, which this $("$python" --version) lacks: install it" \
            "(on Debian and Ubuntu the package python3-venv)." >&2
        exit 1
    fi
    echo "Making .venv with $("$python" --version)"
    rm -rf .venv
    mkdir .venv
    touch "$unfinished"
    "$python" -m venv .venv
fi

touch "$unfinished"
rm -f "$stamp"
export PIP_DISABLE_PIP_VERSION_CHECK=1
echo "Installing the locked packages into .venv (once; a minute or three)"
.venv/bin/python -m pip install -qq --require-hashes --requirement requirements.lock
.venv/bin/python -m pip install -qq --no-deps --no-build-isolation --editable .
pwd -P >"$stamp"
rm -f "$unfinished"
