"""Log files that cannot fill the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


LIMIT = 20 * 1024 * 1024


def keep_small(folder: Path, *, limit: int = LIMIT) -> None:
    """Move a log that grew too long aside; its writers append and go on at the new beginning."""
    for path in folder.glob("*.log"):
        try:
            if path.stat().st_size > limit and not path.is_symlink():
                shutil.copyfile(path, path.with_suffix(".log.1"))
                os.truncate(path, 0)
        except OSError:
            continue
