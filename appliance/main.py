"""The entry and the composition root: the only place that knows all parts."""

from __future__ import annotations

import os


# Before any import that could load onnxruntime: its official wheels report home unless told not to.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import sys

from appliance.cli.verbs import find, overview
from appliance.core.errors import VitrineError
from appliance.runtime.composition import Factories
from appliance.runtime.terminal import complain, say


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; a refusal is one line and a status that is not zero."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in {"-h", "--help", "help"}:
        say(f"vitrine VERB …\n\n{overview()}")
        return 0 if words else 2
    try:
        return find(words[0]).run(words[1:], compose)
    except VitrineError as refusal:
        complain(f"vitrine: {refusal.line()}")
    except KeyboardInterrupt:
        complain("vitrine: interrupted")
        return 130
    except Exception as error:
        # Here, since it loads the database driver, which help and refusals do without.
        from appliance.cli import unanswered  # noqa: PLC0415

        unanswering = unanswered.refusal(error)
        if unanswering is None:
            raise
        complain(f"vitrine: {unanswering.line()}")
    return 1


def compose() -> Factories:
    """Import everything, once, before the forks: the children share the memory."""
    # Here, since they take a second that only some verbs need, and while the servers start.
    from appliance.cli import opening  # noqa: PLC0415
    from appliance.web import app  # noqa: PLC0415
    from queues import declare  # noqa: PLC0415
    from queues.worker import run_group, settle, settle_host  # noqa: PLC0415

    def preload() -> None:
        declare.load()
        app.preload()

    return Factories(
        preload=preload,
        first_contact=opening.first_contact,
        migrate=opening.migrate,
        web=app.serve,
        group=run_group,
        settle=settle,
        settle_host=settle_host,
        add_folders=opening.add_folders,
    )


if __name__ == "__main__":
    sys.exit(main())
