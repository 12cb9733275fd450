"""Draft the next revision from the difference between the mapped tables and an up-to-date database.

For developers: `python -m migrations.new REVISION "What it does" DATABASE_URL`; read what it wrote.
"""

from __future__ import annotations

import asyncio
import sys

from alembic import command

from appliance.core.db import open_database
from migrations.run import config


async def draft(revision: str, message: str, url: str) -> None:
    """Write `versions/REVISION_*.py`."""
    database = open_database(url, pool=1)
    async with database.engine.begin() as connection:
        await connection.run_sync(
            lambda c: command.revision(config(c), message=message, autogenerate=True, rev_id=revision)
        )
    await database.close()


if __name__ == "__main__":
    asyncio.run(draft(*sys.argv[1:4]))
