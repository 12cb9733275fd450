"""Password hashes: argon2id, off the event loop, few at a time."""

from __future__ import annotations

import asyncio
import re
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from appliance.accounts.errors import WeakPassword


LEAST, MOST = 12, 256
# 64 MiB for each hash: two at once fit the memory budget of the web process, and a flood waits its turn.
AT_ONCE = 2
_hasher = PasswordHasher(time_cost=2, memory_cost=64 * 1024, parallelism=2)
_turn = asyncio.Semaphore(AT_ONCE)
# Verified when the name is unknown, so that the answer takes as long as for a known one.
_NOBODY = "$argon2id$v=19$m=65536,t=2,p=2$c29tZXNhbHRzb21lc2FsdA$iM9XHdJdBWMIa7hpZFTWaBN5T9MKCRZ0TSwWVKvbyvY"
_COMMON = re.compile(
    r"(.)\1*|(pass(word|phrase)|qwerty(uiop)?|letmein|welcome|admin(istrator)?|vitrine|secret|changeme|abc)[\W\d_]*"
    r"|[\d\W_]{0,19}",
    re.IGNORECASE,
)


# Without 0 O 1 I L: it is read from one screen and typed on another. 16 of 31 are 79 bits.
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def generate() -> str:
    """A password that nobody could guess, in groups that can be read aloud."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(16))
    return "-".join(letters[n : n + 4] for n in range(0, 16, 4))


def check_strength(password: str, *, name: str) -> None:
    """Refuse what a guesser tries first: short, one character, a famous word with digits, the own name."""
    if len(password) < LEAST:
        raise WeakPassword(
            f"The password is too short: {len(password)} of at least {LEAST} characters",
            "Four words make a good one.",
        )
    if len(password) > MOST:
        raise WeakPassword(f"The password is longer than {MOST} characters")
    if _COMMON.fullmatch(password) or (name and password.casefold().strip("0123456789!.") == name.casefold()):
        raise WeakPassword(
            "This password is easy to guess", "Four words that do not belong together make a good one."
        )


async def make_hash(password: str) -> str:
    """The text to store."""
    async with _turn:
        return await asyncio.to_thread(_hasher.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether the password is the stored one; takes the same time when there is none."""
    async with _turn:
        right = await asyncio.to_thread(_verify, stored or _NOBODY, password[:MOST])
    return right and stored is not None


def _verify(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
