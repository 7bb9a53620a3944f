#!/usr/bin/env python3
"""Writes start.ld: which functions run between `exec` and the first answers, so that the linker puts them side by side
and the system reads in few pages. valgrind tells which. Needed now and then: a function that is not in the file, or no
longer in the program, costs a little time and nothing else. Run from anywhere: `python3 linker/make-start.py`."""
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import tomllib
from bisect import bisect
from collections import defaultdict

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "startup"
PROGRAM = TARGET / "x86_64-unknown-linux-gnu" / "release" / "evokore"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "layout", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "layout", "version": "1"}}
CONVERSATIONS = [
    [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    ],
    [
        {"id": 1, "method": "server/discover", "params": {"_meta": META}},
        {"id": 2, "method": "tools/list", "params": {"_meta": META}},
    ],
]
# Seconds after the answers, in which the child servers start.
QUIET = 3
# An input section in the map of lld: address, size in memory, size, alignment, file, section.
SECTION = re.compile(r"\s*([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ {9}(\S.*):\((\.text\S*)\)$")


def build(folder):
    """Builds the static executable with its symbols, and gives back the map of its sections."""
    layout = folder / "map"
    alias = tomllib.loads((ROOT / ".cargo" / "config.toml").read_text())["alias"]["static"]
    command = ["cargo", "rustc", *alias[1:], "--target-dir", TARGET, "--bin", "evokore"]
    command += ["--", "-Cstrip=none", f"-Clink-arg=-Wl,-Map={layout}"]
    environment = {**os.environ, "EVOKORE_CONFIG_DIR": "benches/config"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return layout


def functions_run(folder):
    """The symbols of all functions that run in a conversation, over sockets and over pipes."""
    names = set()
    for requests in CONVERSATIONS:
        for pair in (socket.socketpair, os.pipe):
            names |= functions_of(folder / "calls", requests, pair)
    return names


def functions_of(out, requests, pair):
    (stdin, to), (answers, stdout) = ends(pair), ends(pair)
    command = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}", PROGRAM]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    with subprocess.Popen(command, stdin=stdin, stdout=stdout, env={"HOME": "/nonexistent", "PATH": os.defpath}):
        os.close(stdin), os.close(stdout)
        os.write(to, lines.encode())
        time.sleep(QUIET)
        os.close(to)
        while os.read(answers, 1 << 20):
            pass
    os.close(answers)
    found = re.findall(r"^c?fn=\(\d+\) ([^\s']+)", out.read_text(), re.MULTILINE)
    return set(found)


def ends(pair):
    """Descriptors of a stream: where it is read, and where it is written."""
    return tuple(end if isinstance(end, int) else end.detach() for end in pair())


def pattern(section):
    """A section's name without what changes from build to build."""
    section = re.sub(r"17h[0-9a-f]{16}E", "17h*E", section)
    section = re.sub(r"Cs[0-9A-Za-z]{1,13}_", "Cs*_", section)
    return re.sub(r"\.llvm\.\d+", "*", section)


def place(file, section):
    """How a linker script names an input section; `None` if it cannot."""
    library = re.search(r"/(lib[^/]+\.a)\((.*)\)$", file)
    if library:
        # Its version may stand in the name of a library.
        return f"*{re.sub(r'-[0-9.]+', '*', library[1])}:{library[2]}({section})"
    return None if section == ".text" else f"*({pattern(section)})"


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sections = sorted(
            (int(found[1], 16), int(found[2], 16), place(found[3], found[4]))
            for found in map(SECTION.match, build(folder).read_text().splitlines())
            if found
        )
        names = functions_run(folder)
    symbols = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout.splitlines()
    addresses = {name: int(address, 16) for address, _, name in (line.split() for line in symbols if line[0] != " ")}
    starts = [start for start, _, _ in sections]
    run = {bisect(starts, addresses[name]) - 1 for name in names if name in addresses}
    wanted, all_of = defaultdict(int), defaultdict(int)
    for at, (_, size, where) in enumerate(sections):
        all_of[where] += size
        wanted[where] += size if at in run else 0
    found = sorted(where for where in wanted if where and wanted[where])
    # A name may stand for many functions, of which few run: those lie behind the others.
    dense = [where for where in found if all_of[where] < 2 * wanted[where]]
    sparse = [where for where in found if where not in set(dense)]
    print(f"{len(run)} functions in {len(found)} entries: {sum(wanted.values()):,} bytes of them run, "
          f"{sum(all_of[where] for where in dense):,} + {sum(all_of[where] for where in sparse):,} are put first")
    lines = "".join(f"    {where}\n" for where in dense + sparse)
    (HERE / "start.ld").write_text(HEAD + lines + TAIL)


HEAD = """/* Functions of the start, side by side. Written by make-start.py. */
SECTIONS {
  .text.start : {
"""
TAIL = """  }
}
INSERT BEFORE .text;
"""

if __name__ == "__main__":
    main()
