"""What a worker and its decode child say to each other."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from appliance.media.hops import Hop
from appliance.media.reasons import Reason
from appliance.media.said import Said
from appliance.media.sniff import Sniffed


class Stat(msgspec.Struct, frozen=True):
    """What a scan saw of a file; enough to know it again without opening it."""

    size: int
    mtime_ns: int


class Fit(msgspec.Struct, frozen=True):
    """The box that a rendition fits into; pictures are never enlarged."""

    width: int
    height: int


GRID_240, GRID_480, PREVIEW, FULL, PLAY = "grid-240", "grid-480", "preview", "full", "play"
FITS = {
    GRID_240: Fit(4 * 240, 240),
    GRID_480: Fit(4 * 480, 480),
    PREVIEW: Fit(1440, 1440),
    # The longest side that a JPEG can have.
    FULL: Fit(65_500, 65_500),
}


class Wanted(msgspec.Struct, frozen=True):
    """A rendition to make: its name, the box it must fit, and where it goes."""

    name: str
    fit: Fit
    path: bytes

    @classmethod
    def named(cls, name: str, path: bytes) -> Wanted:
        """Ask for one of the known renditions."""
        return cls(name, FITS[name], path)


RawPath = bytes


class Made(msgspec.Struct, frozen=True):
    """A rendition that was written."""

    name: str
    width: int
    height: int
    bytes: int
    mime: str
    path: RawPath


class Tier(msgspec.Struct, frozen=True):
    """Which confinements are in force in a child on this machine."""

    death_signal: bool
    no_new_privileges: bool
    no_network: bool
    memory_limit: bool
    cpu_limit: bool

    @property
    def full(self) -> bool:
        """True when nothing is missing."""
        return all(msgspec.structs.astuple(self))


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first word of a child: it is confined and ready."""

    tier: Tier


class OpenRequest(msgspec.Struct, frozen=True, tag="open"):
    """Open and sniff a file; hash it when asked, and copy it on the way when a path is given.

    With a way into it, the file is an archive and what is taken into the hand is one page of it.
    """

    path: bytes
    expect: Stat | None
    digest: bool
    copy_to: bytes | None
    member: list[Hop] = []
    anything: bool = False
    """Whatever its content is: its bytes alone are asked for."""


class DecodeRequest(msgspec.Struct, frozen=True, tag="decode"):
    """Decode the open file and make renditions, turned clockwise by a person's wish."""

    wanted: list[Wanted]
    turn: int = 0


class ConvertRequest(msgspec.Struct, frozen=True, tag="convert"):
    """Make the open video into one that browsers play, turned clockwise by a person's wish."""

    path: bytes
    turn: int
    part: tuple[int, int] | None = None
    """Where in the file the video lies, first byte and length; None for the whole file."""


class FramesRequest(msgspec.Struct, frozen=True, tag="frames"):
    """Hash frames that are spread over the open video."""

    count: int


class DescribeRequest(msgspec.Struct, frozen=True, tag="describe"):
    """Read a small file that describes another one; `kind` is xmp, json or txt."""

    path: bytes
    kind: str
    expect: Stat | None = None


class PlaceRequest(msgspec.Struct, frozen=True, tag="place"):
    """Give a synced temporary file its final name, durably."""

    temporary: bytes
    final: bytes


class RemoveRequest(msgspec.Struct, frozen=True, tag="remove"):
    """Unlink a `move` source that is still the file that was read."""

    path: bytes
    expect: Stat


Request = (
    OpenRequest
    | DecodeRequest
    | ConvertRequest
    | FramesRequest
    | DescribeRequest
    | PlaceRequest
    | RemoveRequest
)


class Read(msgspec.Struct, frozen=True, tag="read"):
    """A file that was opened (and hashed, unless that was not asked)."""

    sha256: bytes
    size: int
    mtime_ns: int
    inode: int
    device: int
    sniffed: Sniffed

    @property
    def stat(self) -> Stat:
        """The state in which the file was read."""
        return Stat(self.size, self.mtime_ns)


class Page(msgspec.Struct, frozen=True):
    """One page of a volume: its name in the archive, the way to its bytes, and what they begin like."""

    name: bytes
    hops: list[Hop]
    mime: str
    """Empty where it is damaged from its first bytes on."""


class Fingerprint(msgspec.Struct, frozen=True):
    """The perceptual hash of one picture and of its mirror image, as signed 64-bit numbers."""

    hash: int
    mirror: int
    reach: int
    """In how many bits a copy of it may differ; fewer where it shows little."""


class Decoded(msgspec.Struct, tag="decoded", kw_only=True):
    """Everything that one decode found out."""

    kind: str
    mime: str
    width: int
    height: int
    frames: int | None = None
    duration_s: float | None = None
    taken_at: datetime | None = None
    taken_offset: int | None = None
    date_source: str | None = None
    title: str | None = None
    rating: int | None = None
    tags: list[tuple[str, str]] = []
    """Keywords of the file: a kind, mostly empty, and a name."""
    dominant: int | None = None
    flags: list[str] = []
    notes: list[str] = []
    facts: dict[str, Any] = {}
    renditions: list[Made] = []
    rendition_errors: list[tuple[str, Reason, str]] = []
    fingerprint: Fingerprint | None = None
    """None where the picture shows too little to be told from others."""
    pages: list[Page] = []
    """Of a volume, in their order."""


class Frame(msgspec.Struct, frozen=True):
    """One frame of a video that shows enough to be told from others."""

    at_ms: int
    fingerprint: Fingerprint


class Frames(msgspec.Struct, frozen=True, tag="hashed"):
    """Frames of a video, in their order."""

    frames: list[Frame]


class Step(msgspec.Struct, frozen=True, tag="step"):
    """Not the answer yet: how far a long request is."""

    share: float
    """Of the whole, 0 to 1; 0 where the length is not known."""
    made_s: float
    """Seconds of the film that can be watched already."""
    took_s: float


class Converted(msgspec.Struct, frozen=True, tag="converted"):
    """A playable video that was written."""

    width: int
    height: int
    bytes: int
    copied: bool
    """The pictures went over as they were, without being encoded anew."""


class Described(msgspec.Struct, frozen=True, tag="described"):
    """What a sidecar says; None, with the reason, where it makes no sense."""

    sha256: bytes
    said: Said | None
    problem: str | None = None
    damaged: bool = False
    """It is not even of the kind that its name announces; whole, it would say something."""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A step that has no result succeeded."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The request failed for a known reason; the child is fine."""

    reason: Reason
    detail: str
    seen: tuple[int, int] | None = None
    """Size and time of a file that is not the one that was meant, or changed while it was read."""


Answer = Hello | Read | Decoded | Converted | Frames | Described | Step | Done | Failed
