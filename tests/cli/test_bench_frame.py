from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from appliance.cli import bench
from appliance.cli.benches import bare, boot, import_, pictures, processes
from appliance.cli.benches.frame import Frame, at_least, at_most, machine, table
from appliance.cli.benches.instance import Instance, free_port
from appliance.cli.benches.opened import counting
from appliance.cli.benches.stage import Stage
from appliance.core.errors import Invalid
from appliance.core.paths import PROJECT
from appliance.main import compose


def frame(*checks):
    made = Frame("boot", machine())
    made.add({"warm_s": 1.25, "by_process_mb": {"web": 40.0}}, checks)
    return made


def test_frame_has_exactly_the_promised_keys():
    plain = json.loads(msgspec.json.encode(frame(at_most("warm start, s", 1.25, 2.5)).plain()))
    assert list(plain) == ["name", "machine", "figures", "checks"]
    assert set(plain["machine"]) == {"cpu", "cores", "memory_gb", "python", "kernel"}
    assert plain["checks"] == [{"name": "warm start, s", "value": 1.25, "limit": 2.5, "ok": True}]


@pytest.mark.parametrize(
    ("checks", "status"),
    [
        ([at_most("a", 1, 2), at_least("b", 0.9, 0.8)], 0),
        ([at_most("a", 1, 2), at_least("b", 0.7, 0.8)], 1),
        ([at_most("a", 3, 2)], 1),
        ([], 1),
    ],
)
def test_status_is_one_when_a_budget_fails_or_nothing_was_checked(checks, status):
    assert frame(*checks).status == status


def test_limits_themselves_are_within_the_budget():
    assert at_most("a", 2.5, 2.5).ok
    assert at_least("b", 0.8, 0.8).ok


def test_table_names_every_figure_and_verdict():
    text = table(frame(at_most("warm start, s", 9.0, 2.5)))
    assert "by_process_mb.web" in text
    assert "FAIL  warm start, s: 9 (≤ 2.5)" in text


def test_machine_does_not_name_the_host():
    values = [str(value) for value in machine().values()]
    assert os.uname().nodename not in values


def test_unknown_part_is_refused(tmp_path):
    stage = Stage(tmp_path, tmp_path, quick=True, only=frozenset({"nonsense"}))
    with pytest.raises(Invalid, match="nonsense"):
        stage.chosen(("cold", "warm"))


def test_photos_are_made_once_and_look_like_a_camera_made_them(tmp_path):
    first = pictures.photos(tmp_path, 3, (320, 240))
    stamps = [path.stat().st_mtime_ns for path in first]
    assert [path.stat().st_mtime_ns for path in pictures.photos(tmp_path, 3, (320, 240))] == stamps
    assert len({path.read_bytes() for path in first}) == 3
    with Image.open(first[0]) as image:
        assert image.size == (320, 240)
        assert image.getexif()[0x0110] == "Bench 1"


def test_many_copies_are_distinct_files_with_the_same_picture(tmp_path):
    patterns = pictures.photos(tmp_path / "cache", 2, (64, 48))
    pictures.many(tmp_path / "many", patterns, 7, per_folder=3)
    found = sorted((tmp_path / "many").rglob("*.jpg"))
    assert len({path.read_bytes() for path in found}) == len(found) == 7
    with Image.open(found[2]) as copy, Image.open(patterns[0]) as pattern:
        assert copy.tobytes() == pattern.tobytes()


def test_bare_loop_does_every_file_once_and_names_its_stages(tmp_path):
    photos = pictures.photos(tmp_path / "cache", 5, (320, 240))
    found = bare.loop(photos, tmp_path, processes=2)
    assert set(found.stages) == {"hash", "decode", "metadata", "resize", "webp"}
    assert all(value > 0 for value in found.stages.values())
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_memory_and_cpu_of_a_tree_belong_to_the_nearest_named_process():
    owners = processes.tree(os.getppid(), {os.getpid(): "web"})
    assert owners[os.getpid()] == "web"
    assert owners[os.getppid()] == "supervisor"
    assert processes.memory({os.getpid(): "web"})["web"] > 1
    assert processes.cpu({os.getpid(): "web"})["web"] > 0


def test_instance_under_measurement_never_inherits_somebody_elses_database(tmp_path, monkeypatch):
    monkeypatch.setenv("VITRINE_DATABASE_URL", "postgresql://precious")
    monkeypatch.setenv("VITRINE_DATA", str(Path.home()))
    made = Instance(tmp_path, "a", pause="import")
    assert "VITRINE_DATABASE_URL" not in made.environment
    assert "VITRINE_DATA" not in made.environment
    assert made.environment["VITRINE_PAUSE"] == "import"
    assert made.settings.data == tmp_path / "a" / "data"


def test_free_port_can_be_bound():
    assert 1024 < free_port() < 65536


def test_opening_a_file_is_counted_and_walking_its_folder_is_not(tmp_path):
    pictures.empty(tmp_path / "many", 5, per_folder=2)
    with counting(tmp_path / "many") as opened:
        assert len([entry.stat() for entry in os.scandir(tmp_path / "many")]) == 3
        walked = opened()
        (tmp_path / "many" / "0001" / "picture-000002.jpg").read_bytes()
        assert (walked, opened()) == (0, 1)


def test_unknown_bench_is_refused_in_one_line():
    with pytest.raises(Invalid, match="nonsense"):
        bench.run(["nonsense"], compose)


def test_every_part_in_the_documentation_exists():
    told = (PROJECT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"`boot`: `{' '.join(boot.PARTS)}`" in told
    assert f"`import`: `{' '.join(import_.PARTS)}`" in told
