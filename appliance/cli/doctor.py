"""`vitrine doctor`: what is wrong with this installation and how to mend it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import msgspec

from appliance.cli import examining
from appliance.cli.examining import BAD, WARNS, Finding
from appliance.cli.options import Parser, settings_from
from appliance.runtime.composition import Factories
from appliance.runtime.standing import running
from appliance.runtime.terminal import say


_MARKS = {BAD: "WRONG", WARNS: "note", "ok": "ok"}


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:  # noqa: ARG001 - a verb's signature
    """Look at everything and change nothing; the exit status is 1 when something is wrong."""
    parser = Parser("doctor", "Say what is wrong and how to mend it.").with_data()
    parser.add_argument("--json", action="store_true", help="as JSON")
    given = parser.parse_args(arguments)
    settings = settings_from(given)
    there = running(settings)
    findings = asyncio.run(examining.examine(there.settings if there else settings))
    say(_json(findings) if given.json else _text(findings))
    return int(any(finding.state == BAD for finding in findings))


def _json(findings: list[Finding]) -> str:
    healthy = all(finding.state != BAD for finding in findings)
    return json.dumps({"healthy": healthy, "findings": msgspec.to_builtins(findings)}, indent=2)


def _text(findings: list[Finding]) -> str:
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.state]:<6} {finding.name:<10} {finding.says}")
        if finding.mend:
            lines.append(f"{'':<18}{finding.mend}")
    return "\n".join(lines)
