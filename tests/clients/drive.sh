#!/usr/bin/env bash
# Runs one of the client drivers with the interpreter that install.sh prepared for it:
#   drive.sh CLIENT --mode legacy|auto|2026-07-28 --server-cmd CMD [ARG...] < scenario.json
# Clients: ts1, ts2, py1, py2, inspector (a new process for every step), inspector-session (one connection).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
installed=${EVOKORE_IT_DIR:-$here/../../target/it}
client=${1:?which client: ts1, ts2, py1, py2, inspector or inspector-session}
shift
case $client in
    ts1 | ts2 | inspector) exec node "$here/$client/drive.mjs" "$@" ;;
    inspector-session) exec node "$here/inspector/drive.mjs" --via session "$@" ;;
    py1 | py2)
        python=$installed/clients/$client/venv/bin/python
        if [[ ! -x $python ]]; then
            printf 'the client is not installed: no `%s`\nhint: run tests/clients/install.sh\n' "$python" >&2
            exit 2
        fi
        exec "$python" "$here/$client/drive.py" "$@"
        ;;
    *)
        printf 'unknown client `%s`; known: ts1, ts2, py1, py2, inspector, inspector-session\n' "$client" >&2
        exit 2
        ;;
esac
