#!/usr/bin/env bash
# Installs the MCP clients and child servers that the integration tests drive, exactly as the lock files beside
# them say, into $EVOKORE_IT_DIR (default: target/it in the repository). A set whose lock has not changed since
# it was installed is left alone. Needs Node 20 with npm and Python 3.11 with venv.
#   install.sh [SET...]     sets: clients/ts1 clients/ts2 clients/inspector clients/py1 clients/py2
#                                 children/npm children/pip1 children/pip2 (default: all)
set -uo pipefail

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
base=${EVOKORE_IT_DIR:-$tests/../target/it}
npm_sets=(clients/ts1 clients/ts2 clients/inspector children/npm)
pip_sets=(clients/py1 clients/py2 children/pip1 children/pip2)

fail() {
    printf 'install: %s\n' "$1" >&2
    [[ $# -lt 2 ]] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

check_node() {
    command -v node >/dev/null && command -v npm >/dev/null || fail 'node or npm is missing' 'install Node 20 or newer'
    local major
    major=$(node -p 'process.versions.node.split(".")[0]')
    ((major >= 20)) || fail "node $major is too old" 'install Node 20 or newer'
}

check_python() {
    command -v python3 >/dev/null || fail 'python3 is missing' 'install Python 3.11 or newer'
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$(python3 --version) is too old" 'install Python 3.11 or newer'
    python3 -c 'import venv, ensurepip' 2>/dev/null || fail 'python3 has no venv module' 'on Debian: apt-get install python3-venv'
}

# What an installed set depends on: its lock files and the interpreter that it was installed for.
fingerprint() {
    local interpreter=$1
    shift
    { "$interpreter" --version && cat "$@"; } | sha256sum | cut -d ' ' -f 1
}

# $1 set, $2 fingerprint, $3 the function that installs it. The stamp is written last, so that a broken
# installation is made anew.
install_set() {
    local set=$1 print=$2 how=$3 target=$base/$1 log begun=$SECONDS
    if [[ -f $target/.stamp && $(<"$target/.stamp") == "$print" ]]; then
        echo "$set: up to date"
        return
    fi
    rm -rf "$target" && mkdir -p "$target" || fail "$set: cannot write to $target"
    log=$target/install.log
    if ! "$how" "$set" "$target" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        fail "$set: not installed; the whole output is in $log" 'run it again if a download failed; renew the lock file (README.md) if a checksum differs'
    fi
    echo "$print" >"$target/.stamp"
    echo "$set: installed in $((SECONDS - begun)) s"
}

npm_ci() {
    local source=$tests/$1 target=$2
    cp "$source"/package.json "$source"/package-lock.json "$source"/.npmrc "$target" &&
        npm --prefix "$target" ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

# One pip serves all environments: making a pip costs more than filling an environment with it.
make_pip() {
    "$base/pip/bin/python" -c "import pip" 2>/dev/null && return
    rm -rf "$base/pip"
    python3 -m venv "$base/pip" >"$base/pip.log" 2>&1 || fail "no pip; the whole output is in $base/pip.log"
}

venv() {
    local source=$tests/$1 target=$2
    python3 -m venv --without-pip "$target/venv" &&
        "$base/pip/bin/python" -m pip --python "$target/venv/bin/python" install --quiet --disable-pip-version-check \
            --no-compile --only-binary :all: --require-hashes -r "$source/requirements.txt"
}

install_npm() {
    local set
    for set in "$@"; do
        install_set "$set" "$(fingerprint node "$tests/$set"/{package.json,package-lock.json,.npmrc})" npm_ci
    done
}

install_pip() {
    local set
    for set in "$@"; do
        install_set "$set" "$(fingerprint python3 "$tests/$set/requirements.txt")" venv
    done
}

wanted_npm=() wanted_pip=()
(($# > 0)) || set -- "${npm_sets[@]}" "${pip_sets[@]}"
for set in "$@"; do
    if [[ " ${npm_sets[*]} " == *" $set "* ]]; then
        wanted_npm+=("$set")
    elif [[ " ${pip_sets[*]} " == *" $set "* ]]; then
        wanted_pip+=("$set")
    else
        fail "unknown set \`$set\`" "known: ${npm_sets[*]} ${pip_sets[*]}"
    fi
done

((${#wanted_npm[@]} == 0)) || check_node
((${#wanted_pip[@]} == 0)) || check_python
mkdir -p "$base" || fail "cannot write to $base"
base=$(cd "$base" && pwd)
# Two test runs at once must not install into one folder.
if command -v flock >/dev/null; then
    exec 9>"$base/.lock"
    flock 9
fi

# Lanes side by side: most of the time goes into waiting for the network and into single-threaded pip.
((${#wanted_pip[@]} == 0)) || make_pip
lanes=()
install_npm "${wanted_npm[@]}" &
lanes+=($!)
for set in "${wanted_pip[@]}"; do
    install_pip "$set" &
    lanes+=($!)
done
result=0
for lane in "${lanes[@]}"; do
    wait "$lane" || result=1
done
exit "$result"
