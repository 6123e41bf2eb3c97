"""A report as JSON, and back: what is read back is equal to what was written, or is refused."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from campaign.notes.findings import Coverage, Finding, Report


def report_json(report: Report) -> dict[str, Any]:
    """The report as JSON can say it."""
    return asdict(report)


def report_from(said: object) -> Report:
    """The report that `report_json` gave; ValueError where it is not one of this version."""
    found = _fields(Report, said)
    findings = [Finding(**_fields(Finding, one) | {"also": tuple(one["also"])}) for one in found["findings"]]
    return Report(**found | {"coverage": Coverage(**_fields(Coverage, found["coverage"])), "findings": findings})


def _fields(kind: type[Any], said: object) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    if not isinstance(said, Mapping) or said.keys() != names:
        raise ValueError(f"not a {kind.__name__}: expected {', '.join(sorted(names))}")
    return dict(said)
