"""Where in a TOML file that a person typed a declaration stands."""

import re

_HEADER = re.compile(r"^\s*\[(?P<name>[^\[\]]+)\]\s*(?:#.*)?$")
_ID = re.compile(r"""^\s*id\s*=\s*(?P<quote>["'])(?P<id>.*?)(?P=quote)""")


def line_of_id(text: str, name: str) -> int:
    """The line, from 1, of `id = "name"`; 1 where there is none."""
    for number, line in enumerate(text.split("\n"), 1):
        found = _ID.match(line)
        if found and found["id"] == name:
            return number
    return 1


def line_of_table(text: str, table: str, key: str = "") -> int:
    """The line, from 1, of the header `[table."key"]`, or of `key` below `[table]`; 1 where there is none."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.match(line)
        if header:
            said = re.sub(r"[\"'\s]", "", header["name"])
            inside = said == table
            if said == (f"{table}.{key}" if key else table):
                return number
        elif inside and key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*(?:=|\.)""", line):
            return number
    return 1
