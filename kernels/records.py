"""Records that kernel checks and benches leave in a part's data: columns with types, and the key.

A mapping {column: type}, with ? where a value may be missing; the unit is the end of a column's name.
"""

KERNEL_TIMINGS = {
    "key": ("lever", "variant", "chunk"),
    "columns": {
        "lever": "text",
        "variant": "text",
        "chunk": "integer",
        "context_tokens": "integer?",
        "calls": "integer",
        "served_us": "number",
        "changed_us": "number",
    },
}
"""One pair of timings: the served path and the changed one, the same chunk of work in one engine start.

`calls` is how many such calls one verify step makes.
"""

EQUALITY = {
    "key": ("check", "version", "call"),
    "columns": {
        "check": "text",
        "version": "text",
        "call": "integer",
        "rows": "integer",
        "mismatched_rows": "integer",
    },
}
"""One call whose output was compared byte for byte with the served kernel's."""
