"""The product's own web process for a browser test: `python -m tests.browser.serving SETTINGS.json`."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import msgspec

from appliance.core.settings import Settings
from appliance.web.app import serve


def main() -> None:
    settings = msgspec.json.decode(
        Path(sys.argv[1]).read_bytes(), type=Settings, dec_hook=lambda kind, value: kind(value)
    )
    listening = socket.create_server(("127.0.0.1", 0))
    Path(sys.argv[2]).write_text(str(listening.getsockname()[1]))
    serve(settings, [listening])


if __name__ == "__main__":
    main()
