"""The decode child: `python -m appliance.media.child`, one file at a time over an inherited socket."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import socket
from collections.abc import Callable

import msgspec

from appliance.media import confine, decoding, opening, reading, sidecars, storing
from appliance.media.channel import frame, receive
from appliance.media.limits import Limits
from appliance.media.nested import Nested
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.sniff import Family
from appliance.media.wire import (
    Answer,
    ConvertRequest,
    DecodeRequest,
    DescribeRequest,
    Done,
    Failed,
    FramesRequest,
    Hello,
    OpenRequest,
    PlaceRequest,
    RemoveRequest,
    Request,
    Step,
)


class Bench:
    """The place of the one file in hand."""

    def __init__(self, limits: Limits, tell: Callable[[Step], None]) -> None:
        self._limits = limits
        self._tell = tell
        self._source: Source | None = None
        self._nested = Nested(limits.nested_bytes)

    def serve(self, request: Request) -> Answer:
        """Do what is asked; every failure becomes an answer with a class."""
        confine.allow_cpu(self._limits.cpu_s + _hashing_s(request))
        try:
            return self._dispatch(request)
        except MediaFailure as failure:
            return Failed(failure.reason, failure.detail, failure.seen)
        except MemoryError:
            return Failed(Reason.OUT_OF_MEMORY, "the decoder reached its memory limit")
        except OSError as error:
            return Failed(Reason.UNREADABLE, os.strerror(error.errno or 0))
        except Exception as error:  # noqa: BLE001
            # The last net: an unforeseen failure belongs to this file and must not end the child.
            return Failed(Reason.CORRUPT, f"{type(error).__name__}: {error}"[:300])

    def _dispatch(self, request: Request) -> Answer:
        match request:
            case OpenRequest():
                return self._open(request)
            case DecodeRequest(wanted=wanted, turn=turn):
                return decoding.decode(self._in_hand(), wanted, self._limits, turn=turn)
            case ConvertRequest():
                return decoding.convert(self._in_hand(), request, self._limits, self._tell)
            case FramesRequest(count=count):
                return decoding.frames(self._in_hand(), count, self._limits)
            case DescribeRequest():
                self.clear()
                return sidecars.describe(request)
            case PlaceRequest(temporary=temporary, final=final):
                storing.place(temporary, final)
            case RemoveRequest(path=path, expect=expect):
                storing.remove_source(path, expect)
        return Done()

    def _open(self, request: OpenRequest) -> Answer:
        self.clear()
        if not request.member:
            self._nested.drop()
        look = lambda source: decoding.look(source, self._limits)  # noqa: E731
        self._source, answer = reading.read(request, look, self._nested.page)
        return answer

    def _in_hand(self) -> Source:
        if self._source is None:
            raise MediaFailure(Reason.UNREADABLE, "no file is open")
        return self._source

    def tidy(self) -> None:
        """Free what a film has left in circles: decoders whose threads hold memory until someone looks."""
        if self._source is not None and self._source.sniffed.family is Family.VIDEO:
            gc.collect()

    def clear(self) -> None:
        """Let go of the file in hand."""
        source, self._source = self._source, None
        if source is not None:
            with contextlib.suppress(OSError):
                source.close()


def _hashing_s(request: Request) -> int:
    """Return how much longer a large file may be hashed: a slow core manages 100 MB a second."""
    if not isinstance(request, OpenRequest):
        return 0
    try:
        return os.lstat(request.path).st_size // 100_000_000
    except OSError:
        return 0


def main() -> None:
    """Serve one parent until it closes the channel."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--limits", required=True)
    options = parser.parse_args()
    limits = msgspec.json.decode(options.limits, type=Limits)
    # A terminal or service manager signals the whole group: the parent decides when a child ends, and
    # a death in the middle of a file would count against that file.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    opening.prepare(limits)
    tier = confine.confine(limits, options.parent)
    gc.freeze()
    with socket.socket(fileno=options.channel) as channel:
        channel.sendall(frame(Hello(tier)))
        bench = Bench(limits, lambda step: channel.sendall(frame(step)))
        while (request := receive(channel)) is not None:
            channel.sendall(frame(bench.serve(request)))
            bench.tidy()


if __name__ == "__main__":
    main()
