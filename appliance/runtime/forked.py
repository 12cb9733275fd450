"""Short work in a forked child: what needs other rights or an event loop never touches the parent."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn


def answer_of(work: Callable[[], Any]) -> Any:
    """Run `work` in a child and hand back what it returned (as JSON); None when it failed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _work_and_leave(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else None


def _work_and_leave(work: Callable[[], Any], writing: int) -> NoReturn:
    status = 1
    try:
        os.write(writing, json.dumps(work()).encode())
        status = 0
    except BaseException:  # noqa: BLE001 - the child's last act, whatever happened
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)
