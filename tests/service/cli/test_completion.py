"""Shell completion: each shell gets its script, and words, options and kinds are completed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from deniable_aggregator.cli import command_client, main
from deniable_aggregator.client.service_client import ServiceClient
from support.builders.api_world import authored, opened


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_the_command(shell: str) -> None:
    runner = CliRunner(env={"_DENIABLE_COMPLETE": f"{shell}_source"})
    script = runner.invoke(main, [], prog_name="deniable").stdout
    assert f"_DENIABLE_COMPLETE={shell}_complete" in script


def completed(*words: str) -> list[str]:
    *before, incomplete = words
    shell = ShellComplete(main, {}, "deniable", "_DENIABLE_COMPLETE")
    return [item.value for item in shell.get_completions(before, incomplete)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["es"], ["estimates"]),
        (["collections", "a"], ["apply", "alerts", "archive"]),
        (["collections", "epochs", ""], ["list", "close"]),
        (["access", "tokens", "r"], ["revoke"]),
        (["releases", "make", "m"], ["mean", "median", "mwem"]),
        (["releases", "make", "top-k", "--e"], ["--epsilon"]),
        (["ledger", ""], ["show", "reconcile"]),
        (["doctor", "ver"], ["verify-log"]),
        (["relay", "serve", "--b"], ["--batch"]),
        (["estimates", "settings", "--projection", "c"], ["clip"]),
    ],
    ids=lambda part: " ".join(part),
)
def test_words_and_options_are_completed(words: list[str], found: list[str]) -> None:
    assert completed(*words) == found


def test_completing_opens_no_data_directory(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("empty")
    monkeypatch.chdir(folder)
    assert "--json" in completed("releases", "list", "theme", "--")
    assert list(folder.iterdir()) == []


def test_the_names_of_collections_come_from_a_service_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as world:
        made = world.register(authored("settings"))

        def service(*_: object, **__: object) -> ServiceClient:
            http = httpx.Client(
                base_url="http://deniable.test",
                transport=httpx.WSGITransport(app=world.app.wsgi_app),
            )
            return ServiceClient(http, address="http://deniable.test")

        monkeypatch.setattr(command_client, "running", service)
        assert completed("estimates", "set") == [made.id]
        assert completed("releases", "quote", "histogram", "") == [made.id]
        assert completed("estimates", "x") == []


def test_where_no_service_answers_no_name_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    assert completed("estimates", "") == []
    assert completed("estimates", "--url", "http://127.0.0.1:9", "") == []


PLACES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/deniable.fish"}


@pytest.fixture
def home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SHELL", "ZDOTDIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("shell", PLACES)
def test_one_command_installs_completion_once(
    home_folder: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    place = home_folder / PLACES[shell]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("# mine, without an end of line")
    first = CliRunner().invoke(main, ["--install-completion"])
    second = CliRunner().invoke(main, ["--install-completion", shell])
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "Open a new shell" in first.output
    assert second.output == f"{place} already completes `deniable`\n"
    mine, line = place.read_text().splitlines()
    assert mine == "# mine, without an end of line"
    assert f"_DENIABLE_COMPLETE={shell}_source deniable" in line


def test_folders_that_a_shell_names_are_used(
    home_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZDOTDIR", str(home_folder / "zsh"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home_folder / "conf"))
    for shell in ("zsh", "fish"):
        assert CliRunner().invoke(main, ["--install-completion", shell]).exit_code == 0
    assert (home_folder / "zsh" / ".zshrc").is_file()
    assert (home_folder / "conf/fish/completions/deniable.fish").is_file()


@pytest.mark.parametrize("shell", ["", "/bin/tcsh"])
def test_a_shell_without_completion_is_named(
    home_folder: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("SHELL", shell)
    result = CliRunner().invoke(main, ["--install-completion"])
    assert result.exit_code == 1
    assert "name one, like --install-completion bash" in result.output


def test_a_file_that_cannot_be_written_leaves_the_line_to_the_person(home_folder: Path) -> None:
    (home_folder / ".bashrc").mkdir()
    result = CliRunner().invoke(main, ["--install-completion", "bash"])
    assert result.exit_code == 1
    assert "add this line yourself: eval" in result.output
