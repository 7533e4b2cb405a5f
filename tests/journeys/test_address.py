"""Real processes at addresses that are not the default: a quick start, and a service that moves."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from deniable_aggregator.cli import main
from deniable_aggregator.operations.process import running_server
from deniable_aggregator.operations.process.serving import free_port
from deniable_client import Ceiling, Client, ConfigurationError
from support.doubles.fault_proxy import Fault, FaultProxy, proxied
from support.processes.deniable_command import Deniable, wait_until

pytestmark = pytest.mark.processes

README = Path(__file__).parents[2] / "README.md"
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
ANSWER = {"dark_mode": True, "beta": False}


def quick_start() -> list[str]:
    """The commands under "Run a service", each on one line, without what is said of them."""
    page = README.read_text().partition("## Run a service")[2]
    block = re.search(r"```sh\n(.*?)^```", page, re.S | re.M)
    assert block
    lines = block[1].replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines]


@dataclass
class Quick:
    """A person who types the README's commands into an empty directory."""

    folder: Path
    real: bool = False
    """Whether each command is a process of its own; `serving` always is one."""

    def environ(self) -> dict[str, str]:
        """Nothing is set: the commands stand as the README has them."""
        kept = {name: value for name, value in os.environ.items() if "DENIABLE" not in name}
        return {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(self, line: str) -> str:
        words = shlex.split(line.removeprefix("deniable ").partition(" > ")[0])
        shown, said = self._process(words) if self.real else self._call(words)
        if " > " in line:
            (self.folder / line.partition(" > ")[2].strip()).write_text(shown)
        return shown + said

    def _process(self, words: list[str]) -> tuple[str, str]:
        command = [sys.executable, "-m", "deniable_aggregator", *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ(), capture_output=True, text=True
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout, done.stderr

    def _call(self, words: list[str]) -> tuple[str, str]:
        unset = {name: None for name in os.environ if "DENIABLE" in name}
        with chdir(self.folder):
            done = CliRunner(env=unset).invoke(main, words)
        assert done.exit_code == 0, (words, done.output)
        return done.stdout, done.stderr

    @contextmanager
    def serving(self, *options: str) -> Iterator[str]:
        command = [sys.executable, "-m", "deniable_aggregator", "serve", *options]
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environ(), stdout=subprocess.PIPE, text=True
        )
        with process:
            try:
                wait_until(
                    "it serves", lambda: running_server.find(self.folder / "data") is not None
                )
                live = running_server.find(self.folder / "data")
                assert live is not None
                yield live.address
            finally:
                process.terminate()
                process.communicate(timeout=120)

    def client(self, *urls: str, state: str = "state.db") -> Client:
        """An app that was built with these addresses."""
        self.run("deniable collections export settings > settings.manifest")
        [trust] = (self.folder / "data" / "trust").read_text().split()
        return Client(
            urls if len(urls) > 1 else urls[0],
            trust=trust,
            manifests=[self.folder / "settings.manifest"],
            state=self.folder / state,
            ceiling=CEILING,
            background=False,
            strict=True,
        )

    def counted(self) -> int:
        """Reports, by the service's own word."""
        said = self.run("deniable collections epochs list settings --json")
        return sum(int(each["n"]) for each in json.loads(said)["epochs"])


def accepted_first(quick: Quick) -> bool:
    """Whether the first report of an app that ships the README's file is counted."""
    with Client.from_file(
        quick.folder / "app.deniable",
        app="quick",
        state=quick.folder / "app.db",
        ceiling=CEILING,
        background=False,
        strict=True,
    ) as client:
        client.consent("granted")
        client.record("settings", ANSWER)
        return client.flush(60, early=True).accepted == 1


@pytest.mark.exhaustive
def test_the_readmes_quick_start_works_on_another_port(tmp_path: Path) -> None:
    quick, port = Quick(tmp_path, real=True), free_port()
    with ExitStack() as stack:
        for line in quick_start():
            if line == "deniable serve":
                address = stack.enter_context(quick.serving("--port", str(port)))
            else:
                quick.run(line)
        assert address == f"http://127.0.0.1:{port}"
        assert accepted_first(quick)
        assert quick.counted() == 1
        assert f"{address} leads here" in quick.run("deniable doctor")


@pytest.mark.exhaustive
def test_the_readmes_quick_start_works_behind_another_host_name(tmp_path: Path) -> None:
    quick, port = Quick(tmp_path), free_port()
    with proxied(("127.0.0.1", port), lambda: Fault.PASS) as proxy, ExitStack() as stack:
        public = f"http://localhost:{urlsplit(proxy.url).port}"
        for line in quick_start():
            if line == "deniable init":
                quick.run(f"{line} --public-url {public}")
            elif line == "deniable serve":
                stack.enter_context(quick.serving("--port", str(port)))
            else:
                quick.run(line)
        assert accepted_first(quick)
        assert quick.counted() == 1
        assert f"{public} leads here" in quick.run("deniable doctor")


@pytest.mark.exhaustive
def test_a_collection_made_for_another_port_is_mended_in_place(tmp_path: Path) -> None:
    """The order in which the service starts last, and not where the collection says."""
    quick = Quick(tmp_path)
    for line in quick_start():
        if line.split()[1] != "serve":
            said = quick.run(line)
            assert "does not answer with a key list" in said or "apply" not in line
    with quick.serving("--port", str(free_port())) as address:
        with pytest.raises(ConfigurationError, match="build the app with that address"):
            quick.client(address)
        assert "registered already" in quick.run("deniable collections apply settings.toml")
        assert "It moves from http://127.0.0.1:8000 to" in quick.run(
            "deniable collections apply settings.toml --replace"
        )
        quick.run("deniable collections export --app > app.deniable")
        assert accepted_first(quick)


class Device:
    """One person's app, built with both addresses before the service moved."""

    def __init__(self, quick: Quick, number: int, urls: tuple[str, ...]) -> None:
        self.client = quick.client(*urls, state=f"device-{number}.db")
        self.client.consent("granted")
        self.client.record("settings", ANSWER)

    def sent(self) -> bool:
        """Whether nothing waits any more after another attempt."""
        return self.client.flush(120, early=True).waiting == 0


@pytest.mark.exhaustive
def test_a_move_loses_no_report_that_waits_and_counts_none_twice(tmp_path: Path) -> None:
    quick, first, second = Quick(tmp_path), free_port(), free_port()
    faults = [Fault.PASS]
    with ExitStack() as stack:
        old_proxy: FaultProxy = stack.enter_context(
            proxied(("127.0.0.1", first), lambda: faults.pop(0) if faults[1:] else faults[0])
        )
        new_proxy = stack.enter_context(proxied(("127.0.0.1", second), lambda: Fault.PASS))
        old, new = old_proxy.url, f"http://localhost:{urlsplit(new_proxy.url).port}"
        for line in quick_start():
            if line == "deniable init":
                quick.run(f"{line} --public-url {old}")
            elif line.split()[1] not in ("serve", "plan"):
                quick.run(line)
        early, refreshed, unlucky, late, offline = (
            Device(quick, number, (old, new)) for number in range(5)
        )
        with quick.serving("--port", str(first)):
            assert early.sent()
            faults[:] = [Fault.PASS, Fault.DROP_REPLY]  # the keys come, the answer does not
            assert not unlucky.sent()
            assert quick.counted() == 2
        moved = quick.serving("--port", str(second))
        stack.enter_context(moved)
        old_proxy.target, faults[:] = ("127.0.0.1", second), [Fault.PASS]
        keep_public_url(quick, new)
        said = quick.run("deniable collections apply settings.toml --replace")
        assert f"It moves from {old} to {new}" in said
        assert not refreshed.client.refresh(60).problems
        assert refreshed.sent()
        assert late.sent()
        faults[:] = [Fault.DROP_REQUEST]
        for device in (unlucky, offline):
            wait_until("the report arrives", device.sent)
        assert quick.counted() == 5
        for device in (early, refreshed, unlucky, late, offline):
            device.client.close()


def keep_public_url(quick: Quick, url: str) -> None:
    """What an operator writes into deniable.toml."""
    from deniable_aggregator.base.settings_sources import keep

    keep(quick.folder / "data", {"public_url": url})


@pytest.mark.exhaustive
def test_doctor_and_serve_say_that_devices_are_sent_elsewhere(tmp_path: Path) -> None:
    deniable, elsewhere = Deniable(tmp_path), f"http://localhost:{free_port()}"
    deniable.done("init", "--public-url", elsewhere)
    with deniable.process("serve", "--port", "0") as process:
        assert process.stderr is not None
        assert f"devices send to {elsewhere}" in process.stderr.readline()
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        said = deniable.done("doctor")
        assert f"{elsewhere} does not answer with a key list" in " ".join(said.split())
