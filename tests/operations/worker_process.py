"""A real worker process that carries bulk actions out and does nothing else."""

from __future__ import annotations

import asyncio
import os
import sys

from appliance.core import log, settings
from queues import operations
from queues.declare import REGISTER
from queues.worker import serve
from tests.queues.conftest import INSTALLATION


def main() -> None:
    made = settings.load(os.environ, data=sys.argv[1])
    settings.use(made)
    log.configure(made, process="quick")
    assert REGISTER[operations.apply.name] is operations.apply
    asyncio.run(serve(made, "quick", REGISTER, installation=INSTALLATION))


if __name__ == "__main__":
    main()
