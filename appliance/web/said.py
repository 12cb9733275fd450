"""Bulk actions in words: what was done, what is being done, and what was met on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from appliance.operations.history import OperationView
from appliance.operations.kinds import Kind
from appliance.web import words


DONE = {
    Kind.TAG: "Tagged {n}",
    Kind.UNTAG: "Took tags off {n}",
    Kind.RATE: "Rated {n}",
    Kind.FAVOURITE: "Made {n} favourite",
    Kind.UNFAVOURITE: "Took {n} out of the favourites",
    Kind.ARCHIVE: "Archived {n}",
    Kind.KEEP: "Kept {n}",
    Kind.TRASH: "Moved {n} to the trash",
    Kind.RESTORE: "Restored {n}",
    Kind.PRIVATE: "Made {n} private",
    Kind.PUBLIC: "Made {n} visible",
    Kind.DATE: "Changed the date of {n}",
    Kind.OWN_DATE: "Gave {pictures} the date of the file",
    Kind.TITLE: "Set the title of {pictures}",
    Kind.NOTE: "Set the note of {pictures}",
    Kind.TURN: "Turned {pictures}",
    Kind.KEEP_ONE: "Kept one of {pictures}",
    Kind.ALTERNATE: "Stacked {pictures} as versions",
    Kind.DIFFERENT: "Called {pictures} different",
    Kind.PURGE: "Deleted {n} for good",
    Kind.UNDO: "Undone for {n}",
}
DOING = {
    Kind.TAG: "Tagging {n}",
    Kind.UNTAG: "Taking tags off {n}",
    Kind.RATE: "Rating {n}",
    Kind.FAVOURITE: "Making {n} favourite",
    Kind.UNFAVOURITE: "Taking {n} out of the favourites",
    Kind.ARCHIVE: "Archiving {n}",
    Kind.KEEP: "Keeping {n}",
    Kind.TRASH: "Moving {n} to the trash",
    Kind.RESTORE: "Restoring {n}",
    Kind.PRIVATE: "Making {n} private",
    Kind.PUBLIC: "Making {n} visible",
    Kind.DATE: "Changing the date of {n}",
    Kind.OWN_DATE: "Giving {pictures} the date of the file",
    Kind.TITLE: "Setting the title of {pictures}",
    Kind.NOTE: "Setting the note of {pictures}",
    Kind.TURN: "Turning {pictures}",
    Kind.KEEP_ONE: "Keeping one of {pictures}",
    Kind.ALTERNATE: "Stacking {pictures} as versions",
    Kind.DIFFERENT: "Calling {pictures} different",
    Kind.PURGE: "Deleting {n} for good",
    Kind.UNDO: "Undoing for {n}",
}
NAMES = {
    Kind.TAG: "Tag",
    Kind.UNTAG: "Take tags off",
    Kind.RATE: "Rate",
    Kind.FAVOURITE: "Favourite",
    Kind.UNFAVOURITE: "No favourite",
    Kind.ARCHIVE: "Archive",
    Kind.KEEP: "Keep",
    Kind.TRASH: "Move to trash",
    Kind.RESTORE: "Restore",
    Kind.PRIVATE: "Make private",
    Kind.PUBLIC: "Make visible",
    Kind.DATE: "Change date",
    Kind.OWN_DATE: "Use the file's own date",
    Kind.TITLE: "Set the title",
    Kind.NOTE: "Set the note",
    Kind.TURN: "Turn",
    Kind.KEEP_ONE: "Keep one of two",
    Kind.ALTERNATE: "Stack as versions",
    Kind.DIFFERENT: "Not duplicates",
    Kind.PURGE: "Delete for good",
    Kind.UNDO: "Undo",
}
NOTES = {
    "changed_since": "{n} changed since and stay as they are",
    "not_in_trash": "{n} not in the trash any more",
    "gone": "{n} deleted for good since",
    "already_gone": "{n} files were gone already",
}
ONE = {
    "changed_since": "1 changed since and stays as it is",
    "already_gone": "1 file was gone already",
}
HEALTH = {
    "pending": ("off", "Waits"),
    "running": ("run", "Running"),
    "done": ("ok", "Done"),
    "error": ("bad", "Failed"),
    "cancelled": ("off", "Stopped"),
}


def now(operation: OperationView) -> str:
    """What is being done, or was."""
    if operation.live:
        return _filled(DOING[operation.kind], operation.total)
    if operation.status == "error":
        return f"{NAMES[operation.kind]}: failed after {words.number(operation.changed)}"
    if not operation.changed and operation.kind is Kind.UNDO:
        return "Nothing was undone"
    if not operation.changed:
        return "Nothing changed" if operation.total > 1 else "Nothing to change: it is so already"
    return _filled(DONE[operation.kind], operation.changed)


def _noted(name: str, number: int) -> str:
    return ONE[name] if number == 1 and name in ONE else NOTES[name].format(n=words.number(number))


def _filled(text: str, number: int) -> str:
    return text.format(n=words.number(number), pictures=words.count(number, "picture"))


def besides(operation: OperationView) -> list[str]:
    """What else is worth a word: those that were so already, gone, or changed since."""
    met = operation.notes | ({"gone": operation.gone} if operation.gone else {})
    found = [_noted(k, v) for k, v in met.items() if k in NOTES and v]
    same = operation.done - operation.changed - _explained(operation.notes)
    if operation.changed and same > 0 and operation.kind is not Kind.UNDO:
        found.append(f"{words.number(same)} {'was' if same == 1 else 'were'} so already")
    if operation.notes.get("freed_bytes"):
        found.append(f"{words.size(operation.notes['freed_bytes'])} freed")
    return found


def _explained(notes: dict[str, int]) -> int:
    return notes.get("changed_since", 0) + notes.get("not_in_trash", 0)


def what(operation: OperationView) -> str:
    """The action and what it was about, for a table: `Rate 4`, `Tag anna, sea`."""
    name = NAMES[operation.kind]
    return Markup("{}: {}").format(name, about) if (about := _about(operation)) else name


def _about(operation: OperationView) -> str:
    given: dict[str, Any] = operation.arguments
    if operation.undone:
        return NAMES[operation.undone].lower()
    if named := given.get("names", given.get("file")):
        return (
            Markup("with {}").format(_own(named))
            if isinstance(named, str)
            else Markup(", ").join(map(_own, named))
        )
    return next((say(given[key]) for key, say in ABOUT.items() if key in given), "")


def _own(text: str) -> Markup:
    """Words of a person, which turn the direction of nothing around them."""
    return Markup("<bdi>{}</bdi>").format(text)


def _moved(seconds: int) -> str:
    sign = "−" if seconds < 0 else "+"  # noqa: RUF001 - the real minus sign
    return f"{sign}{_span(abs(seconds))}"


def _span(seconds: int) -> str:
    """A distance without its empty parts: `2 h`, `1 day 30 min`."""
    days, rest = divmod(seconds, 86_400)
    hours, minutes = rest // 3_600, rest % 3_600 // 60
    parts = [
        words.count(days, "day") if days else "",
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
    ]
    return " ".join(part for part in parts if part)


ANGLES = {90: "right", 180: "upside down", 270: "left"}
ABOUT: dict[str, Callable[[Any], str]] = {
    "rating": lambda stars: words.count(stars, "star") if stars else "none",
    "title": lambda title: Markup("“{}”").format(_own(title)) if title else "none",
    "by": ANGLES.__getitem__,
    "to": lambda to: f"to {to.replace('T', ', ')[:17]}",
    "shift": _moved,
    "before": lambda _: "after 30 days in the trash",
}
