"""Tags, as the rest of the house knows them."""

from __future__ import annotations

from appliance.tagging.assigning import (
    Put,
    Rejected,
    Removed,
    assign,
    follow,
    put,
    reject,
    unassign,
)
from appliance.tagging.counting import Drift, fold, mend
from appliance.tagging.errors import BadKind, BadName, InUse, NoTag, Taken
from appliance.tagging.handing import Handed, carry, give, hold_all, rejected
from appliance.tagging.holding import current
from appliance.tagging.listing import (
    AliasView,
    Cover,
    TagDetail,
    TagRow,
    Totals,
    became,
    covers,
    detail,
    totals,
)
from appliance.tagging.listing import page as listed
from appliance.tagging.merging import Merged, Overlap, asked, last_asked, merge, overlap
from appliance.tagging.merging import ask as ask_merge
from appliance.tagging.names import KINDS, WITH_FANDOM, clean, kind_of, name_key, split
from appliance.tagging.naming import add_alias, delete, make, recast, remove_alias, rename
from appliance.tagging.reading import (
    AssetTagView,
    Completion,
    TagView,
    complete,
    expand,
    find,
    of_asset,
    recent,
    resolve,
    shares,
)
from appliance.tagging.resolving import named
from appliance.tagging.undoing import Moment, Restored, restore, take_back


__all__ = [
    "KINDS",
    "WITH_FANDOM",
    "AliasView",
    "AssetTagView",
    "BadKind",
    "BadName",
    "Completion",
    "Cover",
    "Drift",
    "Handed",
    "InUse",
    "Merged",
    "Moment",
    "NoTag",
    "Overlap",
    "Put",
    "Rejected",
    "Removed",
    "Restored",
    "TagDetail",
    "TagRow",
    "TagView",
    "Taken",
    "Totals",
    "add_alias",
    "ask_merge",
    "asked",
    "assign",
    "became",
    "carry",
    "clean",
    "complete",
    "covers",
    "current",
    "delete",
    "detail",
    "expand",
    "find",
    "fold",
    "follow",
    "give",
    "hold_all",
    "kind_of",
    "last_asked",
    "listed",
    "make",
    "mend",
    "merge",
    "name_key",
    "named",
    "of_asset",
    "overlap",
    "put",
    "recast",
    "recent",
    "reject",
    "rejected",
    "remove_alias",
    "rename",
    "resolve",
    "restore",
    "shares",
    "split",
    "take_back",
    "totals",
    "unassign",
]
