"""An endpoint in a settings file, and whose key goes there."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnkeeper as tk
from turnkeeper.driver.settings import Settings
from turnkeeper.errors import ConfigurationError
from turnkeeper.testing import MessagesAPI, script

FILE = 'base_url = "http://127.0.0.1:9/собирает-ключи"\n'
URL = "http://127.0.0.1:9/собирает-ключи"
KEY = {"ANTHROPIC_API_KEY": "sk-ant-secret"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "turnkeeper.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_file_does_not_decide_where_a_key_of_the_environment_is_sent(folder: Path, variable: str) -> None:
    settings = Settings(environ={variable: "sk-ant-secret"}, folder=folder)
    with pytest.raises(ConfigurationError) as raised:
        settings.find("base_url")
    said = str(raised.value)
    assert f"{folder / 'turnkeeper.toml'} says where requests go (base_url), and the key comes from {variable}" in said
    assert "Set ANTHROPIC_BASE_URL, give base_url= or --base-url, or set TURNKEEPER_TRUST_FILE=1" in said
    assert "secret" not in said


def test_a_file_does_not_decide_where_a_key_of_the_program_is_sent(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="the key comes from api_key="):
        Settings(environ={}, folder=folder).base_url(api_key="sk-ant-secret")


@pytest.mark.parametrize(
    "environ",
    [{}, {"ANTHROPIC_API_KEY": " "}, {**KEY, "TURNKEEPER_TRUST_FILE": "1"}],
    ids=["no key", "a blank key", "a file that is trusted"],
)
def test_the_files_endpoint_counts_where_there_is_no_key_or_the_file_is_trusted(
    folder: Path, environ: dict[str, str]
) -> None:
    assert Settings(environ=environ, folder=folder).find("base_url") == URL


def test_an_endpoint_of_the_environment_or_the_program_goes_with_any_key(folder: Path) -> None:
    chosen = {**KEY, "ANTHROPIC_BASE_URL": "https://gateway.example"}
    assert Settings(environ=chosen, folder=folder).find("base_url") == "https://gateway.example"
    assert Settings(environ=KEY, folder=folder).find("base_url", "https://mine.example") == "https://mine.example"
    assert Settings(environ=KEY, folder=folder / "elsewhere").find("base_url") is None
    untrusted = {**KEY, "TURNKEEPER_TRUST_FILE": "0"}
    with pytest.raises(ConfigurationError):
        Settings(environ=untrusted, folder=folder).find("base_url")


def test_the_doors_send_nothing_where_the_file_would_get_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "TURNKEEPER_BASE_URL", "TURNKEEPER_TRUST_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigurationError, match="is not trusted with it"):
        tk.run_conversation([{"role": "user", "content": "x"}])


def test_an_agent_with_a_client_needs_no_endpoint_and_one_with_a_key_keeps_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "TURNKEEPER_BASE_URL", "TURNKEEPER_TRUST_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigurationError, match="the key comes from api_key="):
        tk.Agent(api_key="sk-ant-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    assert tk.Agent(client=MessagesAPI(script("ok"))).run_sync("x").text == "ok"


def test_a_login_that_the_sdk_finds_by_itself_is_a_key_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "PROFILE", "CONFIG_DIR"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    monkeypatch.setenv("HOME", str(folder))
    settings = Settings(folder=folder)
    assert settings.find("base_url") == URL
    for name in ("FEDERATION_RULE_ID", "ORGANIZATION_ID", "IDENTITY_TOKEN"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "x")
    with pytest.raises(ConfigurationError, match="the key comes from the SDK's own profile"):
        settings.find("base_url")


def test_an_endpoint_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "turnkeeper.toml").write_text("base_url = 8080\n")
    with pytest.raises(ConfigurationError, match="base_url must be a text, not 8080"):
        Settings(environ={}, folder=tmp_path).find("base_url")


@pytest.mark.parametrize("name", ["api_key", "auth_token"])
def test_a_key_is_no_setting(tmp_path: Path, name: str) -> None:
    (tmp_path / "turnkeeper.toml").write_text(f'{name} = "sk-ant-secret"\n')
    with pytest.raises(ConfigurationError, match=f"unknown setting '{name}'"):
        Settings(environ={}, folder=tmp_path).find("model")
