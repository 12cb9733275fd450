"""Running the program as another account, whose Python may have to be a copy of ours."""

from __future__ import annotations

import atexit
import contextlib
import pwd
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import msgspec


LIBRARIES = str(Path(msgspec.__file__).parents[1])


def identity_of(user: str) -> dict[str, Any]:
    """Arguments of `subprocess` that turn a child into that account."""
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@cache
def interpreter_for(user: str) -> str:
    """Our Python for that account: a copy of it where ours lies in a home that is closed to others."""
    if not user or _runs(sys.executable, user):
        return sys.executable
    copied = _copy_of_python()
    assert _runs(copied, user), f"{user} cannot run a copy of {sys.base_prefix}"
    return copied


def environ_of(python: str) -> dict[str, str]:
    """Where a copied interpreter finds its own library, before an older one of the system."""
    return {"LD_LIBRARY_PATH": str(Path(python).parents[1] / "lib")}


def _runs(python: str, user: str) -> bool:
    with contextlib.suppress(OSError):
        environ = {"PYTHONDONTWRITEBYTECODE": "1"} | environ_of(python)
        test = [python, "-c", "import ssl, asyncpg, msgspec"]
        return subprocess.run(test, check=False, env=environ, cwd="/", **identity_of(user)).returncode == 0
    return False


def _copy_of_python() -> str:
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base, place = Path(sys.base_prefix), Path(tempfile.mkdtemp(prefix="vp-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    place.chmod(0o755)
    unneeded = shutil.ignore_patterns("test", "site-packages", "__pycache__", "*.a")
    shutil.copytree(base / "lib" / name, place / "lib" / name, ignore=unneeded)
    # Children of the product set the search path anew, as is right where the libraries are beside Python.
    packages = place / "lib" / name / "site-packages"
    packages.mkdir()
    (packages / "vitrine.pth").write_text(LIBRARIES + "\n", encoding="utf-8")
    (place / "bin").mkdir()
    for found in (base / "bin" / name, *(base / "lib").glob("libpython*.so*")):
        shutil.copy2(found, place / found.relative_to(base))
    return str(place / "bin" / name)
