"""What a plan fixes before the data: its constants, and what is computed from them alone."""

from collections.abc import Mapping
from typing import Any

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Undefined, parse
from campaign.analysis.rule import declarations
from campaign.engine.plan import Plan

Fixed = Mapping[str, Any]
"""Numbers and words by their id."""


def fixed(plan: Plan) -> dict[str, Any]:
    """The constants of the plan, and every expression that names nothing else."""
    known: dict[str, Any] = {name: said.value for name, said in plan.constants.items()}
    for said in declarations(plan):
        if said.get("kind") != "expr" or "for_each" in said or not isinstance(said.get("expr"), str):
            continue
        try:
            expression = parse(said["expr"])
        except ReadingError:
            continue  # it fixes nothing; whoever computes it says what is wrong with it
        if expression.ids and all(name in known for name in expression.ids):
            try:
                known[str(said["id"])] = expression.value(known.__getitem__)
            except Undefined:
                continue
    return known
