"""Documentation that cannot rot: every setting and every verb is described."""

from __future__ import annotations

import json

from appliance.cli.verbs import VERBS
from appliance.core.paths import PROJECT
from appliance.core.settings import Settings
from appliance.media.reasons import Reason


def test_every_setting_is_documented() -> None:
    text = (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8")

    assert [f for f in Settings.__struct_fields__ if f"VITRINE_{f.upper()}`" not in text] == []


def test_every_reason_is_in_the_schema_of_reports() -> None:
    schema = json.loads((PROJECT / "docs" / "import.schema.json").read_text(encoding="utf-8"))

    assert {str(reason) for reason in Reason} <= set(schema["$defs"]["reason"]["enum"])


def test_readme_names_only_verbs_that_exist() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    named = {part.split()[0].strip("`") for part in text.split("./vitrine ")[1:]}

    assert named <= {*VERBS, "test"}
