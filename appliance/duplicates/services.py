"""Duplicates and deletions, as the rest of the house knows them."""

from __future__ import annotations

from appliance.duplicates.deciding import Before, decide, take_back
from appliance.duplicates.grouping import versions
from appliance.duplicates.hashing import FRAMES, claim_when, fail, hash_one, note
from appliance.duplicates.matching import find
from appliance.duplicates.models import Verdict
from appliance.duplicates.tombstones import Deleted, alike, bury, exactly, film, films, welcome


__all__ = [
    "FRAMES",
    "Before",
    "Deleted",
    "Verdict",
    "alike",
    "bury",
    "claim_when",
    "decide",
    "exactly",
    "fail",
    "film",
    "films",
    "find",
    "hash_one",
    "note",
    "take_back",
    "versions",
    "welcome",
]
