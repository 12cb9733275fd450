"""Duplicates and deletions, as the rest of the house knows them."""

from __future__ import annotations

from appliance.duplicates.deciding import decidable, decide, take_back
from appliance.duplicates.grouping import hold, versions
from appliance.duplicates.hashing import FRAMES, claim_when, fail, hash_one, looks_like, note, renew, want
from appliance.duplicates.listing import MOST, PairView, Place, Side, after, of_asset, place, sides, waiting
from appliance.duplicates.listing import one as pair
from appliance.duplicates.matching import find
from appliance.duplicates.models import Verdict
from appliance.duplicates.replaying import Before, Decision
from appliance.duplicates.tombstones import (
    Deleted,
    Remembered,
    alike,
    bury,
    exactly,
    film,
    films,
    known_as,
    lift,
    remembered,
    welcome,
)


__all__ = [
    "FRAMES",
    "MOST",
    "Before",
    "Decision",
    "Deleted",
    "PairView",
    "Place",
    "Remembered",
    "Side",
    "Verdict",
    "after",
    "alike",
    "bury",
    "claim_when",
    "decidable",
    "decide",
    "exactly",
    "fail",
    "film",
    "films",
    "find",
    "hash_one",
    "hold",
    "known_as",
    "lift",
    "looks_like",
    "note",
    "of_asset",
    "pair",
    "place",
    "remembered",
    "renew",
    "sides",
    "take_back",
    "versions",
    "waiting",
    "want",
    "welcome",
]
