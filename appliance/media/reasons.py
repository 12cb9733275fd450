"""Why a file is not an asset: one vocabulary for ingest, the pages and the command line."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """A class of failure or skip, stable in the database and in JSON."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    CORRUPT = "corrupt"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    NO_VIDEO_STREAM = "no_video_stream"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    UNREADABLE = "unreadable"
    UNWRITABLE = "unwritable"
    NO_SPACE = "no_space"
    CHANGED = "changed"
    VANISHED = "vanished"
    NOT_MEDIA = "not_media"
    SIDECAR = "sidecar"
    HIDDEN = "hidden"
    SPECIAL = "special"
    SYMLINK = "symlink"
    TOMBSTONED = "tombstoned"
    UNEXPECTED = "unexpected"

    @property
    def plain(self) -> str:
        """Say in one sentence what happened and what the person can do."""
        return _PLAIN[self]

    @property
    def skip(self) -> bool:
        """Tell whether a file with this class is passed over instead of listed as failed."""
        return self in _SKIPS


_SKIPS = frozenset(
    {Reason.NOT_MEDIA, Reason.SIDECAR, Reason.HIDDEN, Reason.SPECIAL, Reason.SYMLINK, Reason.TOMBSTONED}
)

_PLAIN: dict[Reason, str] = {
    Reason.EMPTY: "The file has no content; copy it again from where it came from.",
    Reason.TRUNCATED: "The file ends too early, so a part is missing; copy or download it again.",
    Reason.CORRUPT: "The content is damaged and cannot be shown; replace the file with an intact copy.",
    Reason.TOO_LARGE: "It has more pixels, frames or members than the limit allows; store it smaller.",
    Reason.UNSUPPORTED: "This is media of a kind that Vitrine cannot show; convert it to a common format.",
    Reason.NO_VIDEO_STREAM: "The file holds sound but no video; keep it elsewhere or ignore it here.",
    Reason.TIMEOUT: "Reading the file took longer than the limit; retry when the machine is less busy.",
    Reason.CRASHED: "The file made its decoder crash, so it was set aside; replace it or ignore it.",
    Reason.OUT_OF_MEMORY: "The file needs more memory than a decoder may use; store a smaller version.",
    Reason.UNREADABLE: "The file could not be read; check its permissions, the disk or the network share.",
    Reason.UNWRITABLE: "The result could not be written; check the permissions of the data or source folder.",
    Reason.NO_SPACE: "The disk is full; free some space and retry.",
    Reason.CHANGED: "The file changed while it was read; it is tried again when it rests.",
    Reason.VANISHED: "The file was gone when it was its turn; the next scan looks again.",
    Reason.NOT_MEDIA: "The content is neither a picture nor a video; nothing needs to be done.",
    Reason.SIDECAR: "The file describes another file and is read together with it.",
    Reason.HIDDEN: "Hidden files are passed over; rename the file to include it.",
    Reason.SPECIAL: "This is a pipe, socket or device and not a regular file; nothing needs to be done.",
    Reason.TOMBSTONED: "It was deleted here, or looks like something that was; it can be brought in anyway.",
    Reason.UNEXPECTED: "Vitrine itself made a mistake with this file; the log tells more, please report it.",
    Reason.SYMLINK: "Links are not followed; add the folder that the link points to instead.",
}


class MediaFailure(Exception):
    """One file cannot become an asset, for a reason that is known and final while it is unchanged."""

    def __init__(self, reason: Reason, detail: str = "", *, seen: tuple[int, int] | None = None) -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail
        self.seen = seen
        """Size and time of a file that is not what it was a moment ago."""
