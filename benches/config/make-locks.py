#!/usr/bin/env python3
"""Writes the full locks of this folder: made-up servers with definitions of ordinary size. Run from anywhere, then
nothing else is needed: `python3 benches/config/make-locks.py`."""
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VERBS = {
    "list": ("List the {n}s of a project, newest first, one page at a time", True, False),
    "get": ("Get one {n} with its history and the people who follow it", True, False),
    "create": ("Create a {n} in a project and tell those who watch it", False, False),
    "update": ("Change fields of a {n}; fields that are not given stay as they are", False, False),
    "delete": ("Delete a {n} for good, together with what hangs on it", False, True),
    "search": ("Search {n}s by words, by who made them and by when", True, False),
}
SERVERS = {
    "tracker": ["ticket", "sprint", "milestone", "label", "comment"],
    "wiki": ["page", "space", "template", "attachment", "bookmark"],
    "deploy": ["release", "environment", "pipeline", "artifact", "rollback"],
    "metrics": ["dashboard", "alert", "panel", "query", "annotation"],
}


def definition(verb, noun):
    text, read_only, destructive = VERBS[verb]
    properties = {
        "project": {"type": "string", "description": f"Short name of the project that the {noun} belongs to"},
        f"{noun}_id": {"type": "string", "description": f"Identifier of the {noun}, as a listing gives it"},
        "fields": {
            "type": "array",
            "items": {"type": "string", "enum": ["title", "state", "owner", "created", "changed"]},
            "description": "Which fields the answer holds; all of them when it is left out",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        "cursor": {"type": "string", "description": "Where to go on, from an earlier answer"},
        "since": {"type": "string", "format": "date-time", "description": "Only what has changed after this moment"},
    }
    return {
        "name": f"{verb}_{noun}",
        "title": f"{verb.capitalize()} {noun}",
        "description": text.format(n=noun) + f". Use it when someone asks about a {noun}; ids come from list_{noun}.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["project"]},
        "annotations": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": read_only,
            "openWorldHint": True,
        },
    }


for server, nouns in SERVERS.items():
    tools = [definition(verb, noun) for noun in nouns for verb in VERBS]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"tools": tools}, file)
        file.flush()
        environment = {"EVOKORE_CONFIG_DIR": str(HERE)}
        command = ["cargo", "codegen", "lock", "--server", server, "--from", file.name]
        subprocess.run(command, cwd=ROOT, check=True, env={**__import__("os").environ, **environment})
