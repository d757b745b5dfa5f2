"""Governor and turbo of imitated machines: set, put back, found after a kill, refused where impossible."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.runner import Frequency, frequency_set, restore_frequency
from kvdyno.runner import frequency as module

CPUS = "sys/devices/system/cpu"
GOVERNORS = ("powersave", "schedutil")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two CPUs with different governors, and turbo on."""
    files = {f"{CPUS}/intel_pstate/no_turbo": "0\n", "proc/sys/kernel/random/boot_id": "first boot\n"}
    for number, governor in enumerate(GOVERNORS):
        folder = f"{CPUS}/cpu{number}/cpufreq"
        files[f"{folder}/scaling_governor"] = f"{governor}\n"
        files[f"{folder}/scaling_available_governors"] = "performance powersave schedutil\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def settings(root: Path) -> tuple[str, ...]:
    governors = [root / f"{CPUS}/cpu{n}/cpufreq/scaling_governor" for n in range(len(GOVERNORS))]
    return tuple(path.read_text().strip() for path in (*governors, root / f"{CPUS}/intel_pstate/no_turbo"))


def state(root: Path) -> Path:
    return root / "var/lib/kvdyno/frequency.json"


AS_FOUND = (*GOVERNORS, "0")
HELD = ("performance", "performance", "1")
BOTH = Frequency("performance", no_turbo=True)


def test_settings_hold_inside_and_are_put_back_exactly(root: Path) -> None:
    seen: list[tuple[str, ...]] = []

    def interrupted() -> None:
        with frequency_set(BOTH, sweep_id="s", root=root):
            seen.append(settings(root))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert seen == [HELD]
    assert settings(root) == AS_FOUND
    assert not state(root).exists()


def test_turbo_has_two_switches(root: Path) -> None:
    (root / f"{CPUS}/intel_pstate/no_turbo").unlink()
    boost = root / f"{CPUS}/cpufreq/boost"
    boost.parent.mkdir()
    boost.write_text("1\n")
    with frequency_set(Frequency(no_turbo=True), sweep_id="s", root=root):
        assert boost.read_text() == "0"
    assert boost.read_text().strip() == "1"


def test_nothing_asked_for_changes_and_writes_nothing(root: Path) -> None:
    with frequency_set(Frequency(), sweep_id="s", root=root):
        assert settings(root) == AS_FOUND
        assert not state(root).parent.exists()


def kill_in_mid_sweep(root: Path) -> None:
    """A child that sets everything and is gone without a word."""
    child = os.fork()
    if child == 0:
        held = frequency_set(BOTH, sweep_id="killed", root=root)
        held.__enter__()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert settings(root) == HELD


def test_what_a_killed_sweep_left_is_put_back(root: Path) -> None:
    kill_in_mid_sweep(root)
    restored = restore_frequency(root=root)
    assert settings(root) == AS_FOUND
    assert f"the setting of /{CPUS}/cpu0/cpufreq/scaling_governor" in restored
    assert restore_frequency(root=root) == ()


def test_the_next_sweep_puts_back_before_it_looks(root: Path) -> None:
    kill_in_mid_sweep(root)
    with frequency_set(Frequency("schedutil"), sweep_id="next", root=root):
        assert settings(root) == ("schedutil", "schedutil", "0")
    assert settings(root) == AS_FOUND


def test_a_living_sweep_is_left_alone(root: Path) -> None:
    with frequency_set(BOTH, sweep_id="s", root=root):
        assert restore_frequency(root=root) == ()
        assert settings(root) == HELD


def test_a_reboot_has_put_everything_back(root: Path) -> None:
    kill_in_mid_sweep(root)
    (root / "proc/sys/kernel/random/boot_id").write_text("second boot\n")
    assert restore_frequency(root=root) == ()
    assert settings(root) == HELD, "whatever is in force now was chosen after the boot"
    assert not state(root).exists()


def test_what_was_in_force_is_on_disk_before_anything_changes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []

    def look(file: Path, text: str) -> None:
        seen.append(json.loads(state(root).read_text())["files"])
        file.write_text(text)

    monkeypatch.setattr(module, "_write", look)
    with frequency_set(Frequency("performance"), sweep_id="s", root=root):
        pass
    assert list(seen[0].values()) == list(GOVERNORS)


@pytest.mark.parametrize(
    ("wanted", "harm", "said"),
    [
        (Frequency("fast"), "", "expected one of performance, powersave, schedutil, found 'fast'"),
        (Frequency("performance"), "no cpufreq", "no CPU has a governor"),
        (Frequency(no_turbo=True), "no turbo", "turbo cannot be switched off"),
        (BOTH, "no state", "nothing was changed"),
    ],
)
def test_what_cannot_be_set_is_refused_with_nothing_changed(
    root: Path, wanted: Frequency, harm: str, said: str
) -> None:
    if harm == "no cpufreq":
        for path in root.glob(f"{CPUS}/cpu?/cpufreq/*"):
            path.unlink()
    elif harm == "no turbo":
        (root / f"{CPUS}/intel_pstate/no_turbo").unlink()
    elif harm == "no state":
        (root / "var").write_text("a file in the way")
    with pytest.raises(HostError, match=said), frequency_set(wanted, sweep_id="s", root=root):
        pytest.fail("it began")
    if not harm:
        assert settings(root) == AS_FOUND


def test_no_rights_are_a_clear_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(HostError, match="sudo"), frequency_set(BOTH, sweep_id="s", root=root):
        pytest.fail("it began")
    assert settings(root) == AS_FOUND


def test_a_refusal_half_way_puts_back_what_was_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._write

    def refuse_turbo(file: Path, text: str) -> None:
        if text == "1":
            raise HostError("the kernel refuses")
        real(file, text)

    monkeypatch.setattr(module, "_write", refuse_turbo)
    with pytest.raises(HostError, match="refuses"), frequency_set(BOTH, sweep_id="s", root=root):
        pytest.fail("it began")
    assert settings(root) == AS_FOUND


def test_a_state_that_cannot_be_read_is_an_error_with_its_place(root: Path) -> None:
    state(root).parent.mkdir(parents=True)
    state(root).write_text("{")
    with pytest.raises(HostError, match=r"frequency\.json"):
        restore_frequency(root=root)


def test_what_is_asked_for_is_what_records_will_say() -> None:
    assert BOTH.facts == {"cpu.governor": "performance", "cpu.turbo": False}
    assert Frequency().facts == {}
