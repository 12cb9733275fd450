"""Settings are strict: what is not understood is refused with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.core import settings
from appliance.core.errors import SettingsError


def test_unknown_name_is_refused_and_the_near_one_named() -> None:
    with pytest.raises(SettingsError) as refused:
        settings.load({"VITRINE_PROT": "1"})

    assert refused.value.line() == "VITRINE_PROT is not a setting. Did you mean VITRINE_PORT?"


def test_other_programs_variables_are_left_alone() -> None:
    assert settings.load({"PORT": "1", "HOME": "/"}).port == 8420


def test_arguments_win_over_the_environment() -> None:
    assert settings.load({"VITRINE_PORT": "1"}, port=2).port == 2


def test_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://u@h/n\n")

    loaded = settings.load({"VITRINE_DATABASE_URL_FILE": str(tmp_path / "url")})

    assert loaded.database_url == "postgresql://u@h/n"


def test_plain_setting_from_a_file_is_refused() -> None:
    with pytest.raises(SettingsError, match="VITRINE_PORT_FILE"):
        settings.load({"VITRINE_PORT_FILE": "/dev/null"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VITRINE_PORT", "eighty"),
        ("VITRINE_PORT", "0"),
        ("VITRINE_TZ", "Mars/Olympus"),
        ("VITRINE_LOG_LEVEL", "loud"),
        ("VITRINE_SILENCE", "5"),
        ("VITRINE_DECODE_CHILDREN", "-5"),
        ("VITRINE_DISK_FLOOR_MB", "-1"),
        ("VITRINE_DATABASE_URL", "nonsense"),
        ("VITRINE_REDIS_URL", "http://x"),
        ("VITRINE_DATABASE_URL_FILE", "/nonexistent/url"),
    ],
)
def test_unusable_value_is_one_line_that_names_it(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        settings.load({name: value})

    assert "\n" not in refused.value.line()
    assert name in refused.value.line()


def test_lists_are_comma_separated() -> None:
    assert settings.load({"VITRINE_HOSTS": "a.example, b.example,"}).hosts == ("a.example", "b.example")
