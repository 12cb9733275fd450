"""A real worker process for the tests: its bodies wait for a file, so that a test can strike in between."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from appliance.core import log, settings
from queues.worker import serve
from tests.queues.conftest import INSTALLATION
from tests.queues.tables import Yard


class FileGate:
    """Says that a body has begun, and waits for the word to go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def wait(self) -> None:
        (self.folder / f"begun-{os.getpid()}").touch()
        while not (self.folder / "go").exists():
            await asyncio.sleep(0.01)


def main() -> None:
    data, group = sys.argv[1:3]
    made = settings.load(os.environ, data=data)
    settings.use(made)
    log.configure(made, process=group)
    yard = Yard(parallel=2)
    if os.environ.get("VITRINE_TEST_GATE"):
        yard.gate = FileGate(Path(os.environ["VITRINE_TEST_GATE"]))  # type: ignore[assignment]
    asyncio.run(serve(made, group, yard.register, installation=INSTALLATION))


if __name__ == "__main__":
    main()
