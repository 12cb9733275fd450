"""Write one input to the standard output: `python -m tests.fuzz SEED FAMILY NUMBER >file`."""

from __future__ import annotations

import sys

from tests.fuzz.families import BY_NAME


seed, family, number = sys.argv[1:]
sys.stdout.buffer.write(BY_NAME[family].input(int(seed), int(number)))
