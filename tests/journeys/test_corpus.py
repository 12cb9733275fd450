"""The whole corpus of a machine that has one: everything gets an outcome, everything else a class."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path

import pytest

from appliance.media.reasons import Reason
from tests.journeys import witness
from tests.journeys.instance import instance
from tests.journeys.shape import IMPORT
from tests.journeys.test_import import report_of


CORPUS = os.environ.get("VITRINE_TEST_CORPUS", "")


def test_every_file_of_the_corpus_has_its_outcome(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not CORPUS:
        with capsys.disabled():
            print("\ncorpus: NOT RUN")  # noqa: T201
        pytest.skip("VITRINE_TEST_CORPUS names no folder")
    corpus = Path(CORPUS).resolve()
    before = witness.look(corpus)
    there = sum(1 for mode, *_ in before.values() if not stat.S_ISDIR(mode))
    with instance(place) as alone:
        done = alone.run("import", str(corpus), "--each", "--json", limit=600)
        again = report_of(alone.run("import", str(corpus), "--wait", "--json", limit=120))
    report = report_of(done)
    files = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert [fault for file in files for fault in IMPORT.faults(file, "file")] == []
    assert len(files) == report["files"] == there
    bad = [file for file in files if file["outcome"] in {"failed", "skipped"}]
    assert Counter(file["reason"] for file in bad) == report["reasons"]
    assert all(file["reason"] in set(Reason) for file in bad)
    assert not {Reason.CRASHED, Reason.TIMEOUT} & report["reasons"].keys()
    assert (again["hashed"], again["decoded"]) == (0, 0)
    assert again["reasons"] == report["reasons"]
    assert witness.look(corpus) == before
    assert not witness.digests(corpus) & witness.digests(alone.data)
    with capsys.disabled():
        print(f"\ncorpus: {len(files)} of {there}, {report}")  # noqa: T201
