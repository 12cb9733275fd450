"""Options that several verbs share, and parsing that complains in one line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NoReturn

from appliance.core.errors import Invalid, VitrineError
from appliance.core.settings import Settings, load


class Parser(argparse.ArgumentParser):
    """Refuses in one line, as everything here does."""

    def __init__(self, verb: str, about: str) -> None:
        super().__init__(prog=f"vitrine {verb}", description=about, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage."""
        raise Invalid(message[:1].upper() + message[1:], f"{self.prog} --help lists what is possible.")

    def with_data(self) -> Parser:
        """Add the data directory."""
        self.add_argument("--data", metavar="DIR", help="data directory")
        return self

    def with_address(self) -> Parser:
        """Add the address of the pages."""
        self.add_argument("--host", metavar="H", help="address to listen on (default: all)")
        self.add_argument("--port", metavar="N", help="port of the pages (default: 8420)")
        return self


def settings_from(arguments: argparse.Namespace) -> Settings:
    """The environment's settings, overruled by what was typed."""
    typed: dict[str, Any] = {}
    for name in ("host", "port"):
        if getattr(arguments, name, None) is not None:
            typed[name] = getattr(arguments, name)
    if arguments.data is not None:
        typed["data"] = str(Path(arguments.data).expanduser().absolute())
    return load(os.environ, **typed)


def folder_from(text: str) -> bytes:
    """A folder that was named on the command line, absolute, as the bytes that it is."""
    path = os.path.abspath(os.fsencode(text))
    if not os.path.isdir(path):
        problem = "is not a folder" if os.path.lexists(path) else "does not exist"
        raise VitrineError(f"{text} {problem}", "Name a folder with pictures.")
    return path
