"""The whole corpus of a machine that has one: everything becomes what the oracle says."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from appliance.media.reasons import Reason
from tests.corpus import oracle
from tests.journeys import witness
from tests.journeys.instance import Instance, instance
from tests.journeys.shape import IMPORT
from tests.journeys.test_import import report_of


CORPUS = os.environ.get("VITRINE_TEST_CORPUS", "")

# Whatever a file became: its class, or its asset and how many of its grid pictures are there.
BECAME = """
SELECT e.path, e.outcome, e.reason, a.kind, a.width, a.height, a.frames, a.duration_ms, a.taken_at,
       a.date_source, (SELECT count(*) FROM rendition r WHERE r.asset_id = a.id AND r.status = 'complete'
                       AND r.name IN ('grid-240', 'grid-480')) AS drawn
FROM root_entry e LEFT JOIN asset a ON a.id = e.asset_id
"""


def test_every_file_of_the_corpus_becomes_what_is_right(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not CORPUS:
        with capsys.disabled():
            print("\ncorpus: NOT RUN")  # noqa: T201
        pytest.skip("VITRINE_TEST_CORPUS names no folder")
    corpus = Path(CORPUS).resolve()
    before = witness.look(corpus)
    names = {os.fsdecode(name) for name, (mode, *_) in before.items() if not stat.S_ISDIR(mode)}
    right = oracle.expected()
    assert right.keys() == names, "each file needs an entry, and each entry a file"
    with instance(place) as alone:
        alone.start()
        report, files = imported(alone, corpus)
        became = {os.fsdecode(row["path"]): outcome_of(row) for row in alone.rows(BECAME)}
        again = report_of(alone.run("import", str(corpus), "--wait", "--json", limit=120))
    wrong = {name: found for name in names if (found := oracle.differences(right[name], became[name]))}
    with capsys.disabled():
        print(f"\ncorpus: {len(names) - len(wrong)} of {len(names)} as they should be, {report}")  # noqa: T201
    assert wrong == {}
    assert len(files) == report["files"] == len(names)
    bad = [file for file in files if file["outcome"] in {"failed", "skipped"}]
    assert Counter(file["reason"] for file in bad) == report["reasons"]
    assert not {Reason.CRASHED, Reason.TIMEOUT, Reason.UNEXPECTED} & report["reasons"].keys()
    assert (again["hashed"], again["decoded"]) == (0, 0)
    assert again["reasons"] == report["reasons"]
    assert witness.look(corpus) == before
    assert not witness.digests(corpus) & witness.digests(alone.data)


def imported(alone: Instance, corpus: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report of the first import, and its line for each file."""
    done = alone.run("import", str(corpus), "--each", "--json", limit=600)
    files = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert [fault for file in files for fault in IMPORT.faults(file, "file")] == []
    return report_of(done), files


def outcome_of(row: Any) -> dict[str, Any]:
    """What became of one file, in the words of the oracle."""
    if row["kind"] is None:
        return {"class": row["reason"]}
    assert row["drawn"] == 2, row["path"]
    taken = row["taken_at"]
    return {
        "kind": row["kind"],
        "size": [row["width"], row["height"]],
        "frames": row["frames"],
        "duration": None if row["duration_ms"] is None else row["duration_ms"] / 1000,
        "taken_at": None if taken is None else taken.replace(microsecond=0),
        "date_source": row["date_source"],
    }
