# shellcheck shell=sh
# The environment that the scripts run in: `.venv` in the checkout, made on first use. Sourced, never run.
#
#   root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
#   . "$root/script/environment.sh"
#   environment dev             # or: environment runtime
#   exec "$venv/bin/python" …
#
# Needs `root`; sets `venv`. Uses uv where it is on PATH, else Python's own venv and pip. `PYTHON` chooses the
# interpreter. Packages come from requirements/*.txt, every file checked against its hash; nothing is
# fetched, and no network is needed, as long as those files and pyproject.toml stay as they were.

venv=$root/.venv
lock=$root/.venv.lock
pythons='python3.13 python3.12 python3.11 python3.14 python3 python'
oldest='(3, 11)'

say() {
    printf '%s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

has_uv() {
    command -v uv >/dev/null 2>&1
}

# Asked by running it: a name on PATH may be a shim for a version that is not there.
is_suitable() {
    "$1" -c "import sys; sys.exit(sys.version_info < $oldest)" >/dev/null 2>&1
}

identity() {
    "$1" -c 'import sys; print(sys.base_prefix, sys.version)' 2>/dev/null
}

# Sets `python` to an interpreter, or to nothing where the machine has no suitable one.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_suitable "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of version 3.11 or newer.
Point PYTHON at one that is, or unset it to have the scripts look for one."
        python=$PYTHON
        return
    fi
    for python in $pythons; do
        if is_suitable "$python"; then
            return
        fi
    done
    python=
}

no_python() {
    fail "Turnkeeper needs Python 3.11 or newer, and this machine shows none (looked for: $pythons).
Install one, then run this script again:
  Debian, Ubuntu   apt-get install python3 python3-venv
  Fedora           dnf install python3
  macOS            brew install python
or say where it is: PYTHON=/path/to/python3 $0"
}

make_venv() {
    find_python
    if has_uv; then
        # Without an interpreter of its own, uv may know one outside PATH, or fetch it.
        say "Making .venv (uv, ${python:-a Python that uv finds}) ..."
        uv venv --quiet --no-project --allow-existing --python "${python:->=3.11}" "$venv" || {
            [ -n "$python" ] || no_python
            fail "uv could not make $venv (see above)."
        }
        return
    fi
    [ -n "$python" ] || no_python
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 || fail "$python is there, but its modules venv and ensurepip are not: the system packages them apart.
Install them, then run this script again (Debian, Ubuntu: apt-get install python3-venv), or install uv."
    say "Making .venv ($python) ..."
    "$python" -m venv "$venv" || fail "$python could not make $venv (see above)."
}

# Why the .venv that is there cannot serve, if so: its interpreter is gone or too old, the checkout was moved (programs
# in a .venv name their interpreter by its full path), or PYTHON asks for another one.
defect() {
    [ -e "$venv" ] || return 0
    if ! is_suitable "$venv/bin/python"; then
        printf 'its Python does not run here'
    elif [ -f "$venv/made-in" ] && [ "$(cat "$venv/made-in")" != "$root" ]; then
        printf 'it was made in another folder'
    elif [ -n "${PYTHON:-}" ] && [ "$(identity "$PYTHON")" != "$(identity "$venv/bin/python")" ]; then
        printf 'PYTHON asks for another Python'
    fi
}

install() {
    if has_uv; then
        uv pip install --quiet --python "$venv/bin/python" "$@" && return
    else
        "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null
        PIP_USER=0 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" && return
    fi
    fail "The packages could not be installed (see above). The first run needs a package index to be reachable."
}

# The stamps: what was installed last, per layer.
state_of() {
    case $1 in
        project) cat "$root/pyproject.toml" ;;
        runtime) cat "$root/requirements/build.txt" "$root/requirements/runtime.txt" ;;
        dev) cat "$root/requirements/build.txt" "$root/requirements/dev.txt" ;;
    esac | cksum
}

is_current() {
    [ -f "$venv/installed-$1" ] && [ "$(cat "$venv/installed-$1")" = "$(state_of "$1")" ]
}

stamp() {
    state_of "$1" >"$venv/installed-$1"
}

# Two scripts started together must not write into one .venv.
take_lock() {
    waited=
    until (set -C && printf '%s\n' "$$" >"$lock") 2>/dev/null; do
        [ -e "$lock" ] || [ -w "$root" ] || fail "$root is not writable: .venv cannot be made here."
        owner=$(cat "$lock" 2>/dev/null) || owner=
        if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
            rm -f "$lock"
            continue
        fi
        [ -n "$waited" ] || say "Waiting for another script to finish .venv (if none runs, remove $lock) ..."
        waited=yes
        sleep 1
    done
    trap 'rm -f "$lock"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

drop_lock() {
    rm -f "$lock"
    trap - EXIT INT TERM
}

# environment runtime|dev: leaves a .venv with those packages and the project itself (editable) in it.
environment() {
    if [ -n "${PYTHON:-}" ]; then
        find_python
    fi
    if [ -z "$(defect)" ] && is_current "$1" && is_current project; then
        return
    fi
    take_lock
    reason=$(defect)
    if [ -n "$reason" ]; then
        say "Making .venv anew: $reason."
        rm -rf "$venv"
    fi
    [ -e "$venv/bin/python" ] || make_venv
    printf '%s\n' "$root" >"$venv/made-in"
    if ! is_current "$1"; then
        say "Installing requirements/$1.txt ..."
        install --require-hashes -r "$root/requirements/build.txt" -r "$root/requirements/$1.txt"
        stamp "$1"
        # dev.txt holds all of runtime.txt, at the same versions.
        [ "$1" = runtime ] || stamp runtime
    fi
    if ! is_current project; then
        (cd "$root" && install --no-deps --no-build-isolation --editable .) || exit 1
        stamp project
    fi
    drop_lock
}
