"""Names of tags: what may be one, and when two are the same."""

from __future__ import annotations

import re
import unicodedata

from appliance.tagging.errors import BadKind, BadName
from appliance.tagging.models import TagKind


LIMIT = 100
KINDS = tuple(k.value for k in TagKind)
WITH_FANDOM = frozenset({TagKind.CHARACTER, TagKind.SERIES})
_BLANKS = re.compile(r"\s+")
_JOINTS = re.compile(r"[\s_]+")
# They join letters of Indic scripts and parts of one emoji; every other unseen character is a disguise.
_JOINERS = "\u200c\u200d"


def name_key(text: str) -> str:
    """What makes two spellings one name: NFC, casefold, blanks and underscores alike, none at the ends."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return _JOINTS.sub("_", folded).strip("_")


def clean(text: str) -> str:
    """A name as it is shown; refused with the reason where it cannot be one."""
    name = _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()
    if not name_key(name):
        raise BadName("A tag needs a name")
    # The key too: casefolding makes some letters longer.
    if len(name) > LIMIT or len(name_key(name)) > 2 * LIMIT:
        raise BadName(f"A tag has at most {LIMIT} characters")
    if any(unicodedata.category(c)[0] == "C" and c not in _JOINERS for c in name):
        raise BadName("The name contains a character that cannot be seen")
    return name


def kind_of(text: str) -> str:
    """A kind by its name; refused where there is none such."""
    if text not in KINDS:
        raise BadKind("There is no such kind of tag", ", ".join(KINDS))
    return text


def split(text: str) -> tuple[str | None, str]:
    """`artist:anna` as kind and name; the kind is None where none was written."""
    before, colon, after = text.partition(":")
    kind = before.strip().casefold()
    if colon and kind in KINDS and name_key(after):
        return kind, after.strip()
    return None, text.strip()
