"""A simulated year on one device: crashes, backups, clones, clocks, rotations, hostile replies.

Four collections, one of each kind; after every step: no second coin for one question, hold and
value, one report an epoch, a ledger that covers every toss and never passes its lifetime.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256, shake_256
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from deniable_client import Ceiling, Outcome
from deniable_client._recording import recorder
from deniable_client._state import keychain
from deniable_client.consent import Consent
from deniable_client.testing import FakeClock
from deniable_shared.manifest.model import Manifest
from deniable_shared.randomness.coins import Coins
from support.builders.client_world import (
    DAY,
    EVERY_ANSWER,
    START,
    URL,
    Aggregator,
    Device,
    Operator,
    toml,
)
from support.builders.manifest_text import manifest_of
from support.doubles.dying_connections import Fuse, Killed, mortal_clients
from support.oracles.coin_witness import Witness, watched
from support.tiers import by_tier, grid

pytestmark = pytest.mark.slow

BITS = 64
LABELS = [f"l{index}" for index in range(BITS)]
VALUES = (0xDEADBEEFCAFEF00D, 0x0123456789ABCDEF, 0xFEEDFACE8BADF00D)
OPERATOR = Operator()
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=2, epsilon_lifetime=12)


def wide(name: str, **fields: str) -> Manifest:
    """A collection of 64 bits: no report of it is another's by chance, nor a value a report."""
    text = toml(name, **{"valid_from": "2027-01-01", "expires": "2028-01-01", **fields})
    start = text.index("labels")
    return manifest_of(f"{text[:start]}labels = {LABELS}", ingest=[URL])


ALWAYS = {"presence": '"always"', "default": str([False] * BITS).lower()}
SHIPPED = (
    wide("once"),
    wide("fresh", repeat='"fresh"', epsilon_lifetime='"3"'),
    wide(
        "memoized",
        repeat='"memoized"',
        epsilon_lifetime='"4"',
        hold_epochs="10",
        linkable="true",
    ),
    wide(
        "always",
        repeat='"memoized"',
        epsilon='"0.5"',
        epsilon_lifetime='"3"',
        hold_epochs="6",
        sampling='"0.7"',
        mechanism='"rr-sampled/1"',
        sampled="2",
        linkable="true",
        **ALWAYS,
    ),
)
BY_NAME = {manifest.name: manifest for manifest in SHIPPED}
names = st.sampled_from(sorted(BY_NAME))
values = st.sampled_from(VALUES)
statements = st.integers(0, 16)
REPORTED = {Outcome.QUEUED, Outcome.HELD, Outcome.REPEATED}


def spelled(value: int) -> list[bool]:
    """As an app gives it."""
    return [bool(int(bit)) for bit in f"{value:0{BITS}b}"]


@dataclass(frozen=True)
class Backup:
    """The state file of a moment, and what was known of its keys."""

    file: bytes
    generation: int
    used: frozenset[bytes]


numbers = count()
"""The seed in place of chance, so that a history that fails fails again."""


def numbered_key() -> bytes:
    return sha256(b"key %d" % next(numbers)).digest()


def numbered_bytes(coins: Coins, size: int) -> bytes:
    return shake_256(b"coins %d" % next(numbers)).digest(size)


class Year(RuleBasedStateMachine):
    """One device, its backups and its clones."""

    def __init__(self) -> None:
        super().__init__()
        global numbers
        numbers = count()
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-year-"))
        self.stack = ExitStack()
        self.stack.enter_context(patch.object(keychain, "new_key", numbered_key))
        system = type(Coins.system())
        self.stack.enter_context(patch.object(system, "bytes", numbered_bytes))
        self.witness = self.stack.enter_context(watched(Witness()))
        self.fuse = Fuse()
        self.stack.enter_context(mortal_clients(self.fuse))
        self.device = Device(
            self.folder / "state.db", Aggregator(OPERATOR, FakeClock(START)), SHIPPED
        )
        self.used: set[bytes] = set()
        self.backups: list[Backup] = []
        self.generations = 0
        self.client = self.device.granted(ceiling=CEILING)

    # -- what a person, an app and an operator do

    @rule(name=names, value=values)
    def answer(self, name: str, value: int) -> None:
        self.witness.used()
        outcome = self.client.record(name, spelled(value))
        if outcome in REPORTED | {Outcome.NOT_SAMPLED}:
            self.used |= self.witness.used()

    @rule(value=values, days=st.integers(1, 9))
    def live_on(self, value: int, days: int) -> None:
        for _ in range(days):
            for name in BY_NAME:
                self.answer(name, value)
            self.client.upload_due()
            self.device.clock.advance(DAY)

    @rule(name=names, value=values, at=statements, after=st.booleans())
    def answer_and_be_killed(self, name: str, value: int, at: int, after: bool) -> None:
        self.killed(partial(self.client.record, name, spelled(value)), at, after)

    @rule(answer=st.sampled_from(sorted(EVERY_ANSWER)), early=st.booleans())
    def upload(self, answer: str, early: bool) -> None:
        self.device.aggregator.script.append(EVERY_ANSWER[answer])
        self.client.flush(early=early)
        self.device.aggregator.script.clear()

    @rule()
    def wake_up(self) -> None:
        self.client.upload_due()

    @rule(at=statements, after=st.booleans())
    def wake_up_and_be_killed(self, at: int, after: bool) -> None:
        self.killed(self.client.upload_due, at, after)

    @rule(days=st.sampled_from([-50, -3, -1, 0.1, 1, 1, 3, 20, 50]))
    def move_the_clock(self, days: float) -> None:
        self.device.clock.advance(days * DAY)

    @rule()
    def restart(self) -> None:
        self.client.close()
        self.reopen()

    @rule()
    def say_no_and_yes_again(self) -> None:
        self.client.consent("denied")
        self.client.consent("granted")
        self.generations += 1
        self.witness.generation = self.generations

    @rule(suite=st.sampled_from([1, 1, 2]))
    def rotate(self, suite: int) -> None:
        version = self.device.aggregator.key_list.version
        self.device.aggregator.rotate(version % 250 + 2, suite=suite)

    # -- what happens to a disk

    @rule()
    def back_up(self) -> None:
        self.client.close()
        file = Path(self.device.path).read_bytes()
        self.backups.append(Backup(file, self.witness.generation, frozenset(self.used)))
        self.reopen()

    @precondition(lambda self: self.backups)
    @rule(which=st.integers(0))
    def restore(self, which: int) -> None:
        backup = self.backups[which % len(self.backups)]
        self.client.close()
        Path(self.device.path).write_bytes(backup.file)
        self.witness.generation, self.used = backup.generation, set(backup.used)
        self.reopen()

    @precondition(lambda self: self.backups)
    @rule(which=st.integers(0), name=names, value=values)
    def let_a_clone_answer(self, which: int, name: str, value: int) -> None:
        backup = self.backups[which % len(self.backups)]
        path = self.folder / "clone.db"
        path.write_bytes(backup.file)
        before, self.witness.generation = self.witness.generation, backup.generation
        clone = Device(path, self.device.aggregator, SHIPPED)
        with clone.open(ceiling=CEILING) as client:
            client.record(name, spelled(value))
            client.flush(early=True)
        self.witness.generation = before

    # -- what must hold

    @invariant()
    def no_second_coin(self) -> None:
        assert self.witness.second == []

    @invariant()
    def the_ledger_covers_every_toss_and_keeps_its_lifetime(self) -> None:
        budget = self.client.budget()
        assert budget.spent <= budget.lifetime
        for name, each in budget.collections.items():
            manifest = BY_NAME[name]
            price = manifest.schedule.price
            assert each.spent.exact <= manifest.epsilon_lifetime
            assert each.spent.exact >= self.tosses(manifest) * price

    @invariant()
    def a_report_waits_once(self) -> None:
        with self.client._state.reading() as db:
            rows = db.execute("SELECT count(*), count(DISTINCT report_id) FROM outbox").fetchone()
            gone = db.execute("SELECT count(*) FROM outbox WHERE report_id IS NULL").fetchone()
        assert rows[0] == rows[1] + gone[0]

    @rule()
    def no_used_key_and_no_value_is_left_after_tidying(self) -> None:
        self.witness.used()
        self.client.close()
        assert not self.leftovers()
        self.reopen()

    def leftovers(self) -> list[bytes]:
        """Keys that were drawn from, and values, that the files still hold."""
        files = [Path(f"{self.device.path}{suffix}") for suffix in ("", "-wal")]
        content = b"".join(file.read_bytes() for file in files if file.exists())
        secrets = [*self.used, *(value.to_bytes(8, "big") for value in VALUES)]
        return [secret for secret in secrets if secret in content]

    def tosses(self, manifest: Manifest) -> int:
        """The least number of tosses that the rows of the file need."""
        with self.client._state.reading() as db:
            epochs = db.execute(
                "SELECT epoch FROM outbox WHERE collection = ?", (manifest.collection,)
            ).fetchall()
        holds = {manifest.hold_at(epoch) for (epoch,) in epochs}
        return min(len(holds), manifest.paid_holds)

    def killed(self, act: Callable[[], object], at: int, after: bool) -> None:
        self.fuse.light(at, after=after)
        try:
            act()
        except Killed:
            self.client._state.close()
            self.reopen()
        finally:
            self.fuse.put_out()
        self.witness.used()

    def reopen(self) -> None:
        self.client = self.device.open(ceiling=CEILING)
        if self.client.consent() is not Consent.GRANTED:
            self.client.consent("granted")

    def teardown(self) -> None:
        self.device.close()
        self.stack.close()
        shutil.rmtree(self.folder)


TestYear = Year.TestCase
TestYear.settings = settings(max_examples=by_tier(2, 20), stateful_step_count=50, deadline=None)

# Some 1 of 20 histories shows a mistake: all 3,000 miss it in no run at all (10^−66).
HUNTING = settings(
    max_examples=3_000,
    stateful_step_count=50,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def coins_that_are_new(key: bytes, **labels: object) -> Coins:
    return Coins(next(numbers).to_bytes(8, "big"))


def stays(key: bytes) -> bytes:
    return key


free = recorder._CHARGE.replace("spent + ?", "spent + 0 * ?")


def wherever_it_is(key: bytes, steps: int) -> bytes:
    """A key that depends on when the device was last asked."""
    return key


MUTANTS: dict[str, tuple[tuple[object, str, object], ...]] = {
    "the device forgets its coins": ((keychain, "coins", coins_that_are_new),),
    "the second round is drawn again": ((keychain, "renewal_coins", coins_that_are_new),),
    "the sample is drawn again": ((keychain, "sampling_coins", coins_that_are_new),),
    "an old key is not overwritten": ((keychain, "step", stays),),
    "a key depends on when the device was last used": ((keychain, "advance", wherever_it_is),),
    "an answer costs nothing": ((recorder, "_CHARGE", free),),
    "an answer is given though the budget is spent": (
        (recorder._Eligibility, "affordable", lambda *anything: True),
    ),
}


@contextmanager
def broken(mutant: str) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, wrong in MUTANTS[mutant]:
            stack.enter_context(patch.object(owner, name, wrong))
        yield


LONG_HUNTS = (
    "a key depends on when the device was last used",
    "the device forgets its coins",
    "the second round is drawn again",
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", grid(MUTANTS, by_default=[], long=LONG_HUNTS))
def test_machine_finds_what_is_broken_on_purpose(mutant: str) -> None:
    with broken(mutant), pytest.raises(AssertionError):
        run_state_machine_as_test(Year, settings=HUNTING)
