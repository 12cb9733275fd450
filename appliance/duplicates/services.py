"""Duplicates and deletions, as the rest of the house knows them."""

from __future__ import annotations

from appliance.duplicates.hashing import FRAMES, claim_when, fail, hash_one, note
from appliance.duplicates.matching import find
from appliance.duplicates.tombstones import Deleted, alike, bury, exactly, film, films, welcome


__all__ = [
    "FRAMES",
    "Deleted",
    "alike",
    "bury",
    "claim_when",
    "exactly",
    "fail",
    "film",
    "films",
    "find",
    "hash_one",
    "note",
    "welcome",
]
