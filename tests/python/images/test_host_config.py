"""containers/host-config: what a build gets of this machine, and what it does not get."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kvdyno.model.project import Project

SCRIPT = Project.find().root / "containers/host-config"

pytestmark = pytest.mark.skipif(shutil.which("apt-config") is None, reason="this machine has no apt")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """An apt configuration of the test's own, and an empty list of packages."""
    etc = tmp_path / "apt"
    for name in ("apt.conf.d", "auth.conf.d", "trusted.gpg.d", "keyrings", "lists/partial"):
        (etc / name).mkdir(parents=True)
    (etc / "auth.conf.d/mirror.conf").write_text("machine mirror.example login me password secret\n")
    (etc / "keyrings/mirror.asc").write_text("a key\n")
    (etc / "trusted.gpg.d/debian-removed-keys.gpg").write_text("an old key\n")
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc "{etc}";\nDir::State::lists "{etc}/lists";\n'
        'Acquire::http::Proxy "http://proxy.example:3142";\n'
        'Acquire::http::Proxy-Auto-Detect "/usr/bin/only-here";\n'
        'DPkg::Post-Invoke { "only-here"; };\n'
    )
    return tmp_path


def config(host: Path) -> Path:
    folder = host / "copied"
    subprocess.run(
        [SCRIPT, folder, "bookworm"],
        env={**os.environ, "APT_CONFIG": str(host / "apt.conf"), "CARGO_HOME": str(host / "cargo")},
        check=True,
    )
    return folder / "etc"


def test_proxies_credentials_and_keys_come_along(host: Path) -> None:
    etc = config(host)
    settings = (etc / "apt/apt.conf.d/90host").read_text()
    assert 'Acquire::http::Proxy "http://proxy.example:3142";' in settings
    assert "secret" in (etc / "apt/auth.conf.d/mirror.conf").read_text()
    assert (etc / "apt/trusted.gpg.d/mirror.asc").read_text() == "a key\n"


def test_hooks_scripts_and_old_keys_do_not(host: Path) -> None:
    etc = config(host)
    assert "only-here" not in (etc / "apt/apt.conf.d/90host").read_text()
    assert not list((etc / "apt/trusted.gpg.d").glob("*removed*"))


def test_without_mirrors_of_that_release_the_base_keeps_its_own(host: Path) -> None:
    assert not (config(host) / "apt/sources.list").exists()


def test_an_authority_of_this_machine_is_where_no_package_writes(host: Path) -> None:
    if not Path("/etc/ssl/certs/ca-certificates.crt").exists():
        pytest.skip("this machine has no certificate authorities")
    etc = config(host)
    assert not (etc / "ssl").exists()
    authorities = "/etc/kvdyno-host/ca-certificates.crt"
    assert f"cert = {authorities}" in (etc / "pip.conf").read_text()
    assert f'cainfo = "{authorities}"' in (etc.parent / ".cargo/config.toml").read_text()


def test_cargo_finds_this_machines_registry(host: Path) -> None:
    (host / "cargo").mkdir()
    (host / "cargo/config.toml").write_text('[registries.mirror]\nindex = "https://mirror.example"\n')
    assert "mirror.example" in (config(host).parent / "root/.cargo/config.toml").read_text()
