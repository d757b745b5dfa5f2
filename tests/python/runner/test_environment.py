"""Facts about imitated machines, and about this one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvdyno.errors import HostError
from kvdyno.model.project import MEMORY_FILE_SYSTEMS, Project
from kvdyno.runner import Surveyor, host_id
from kvdyno.runner import disk as disk_module
from kvdyno.runner.disk import mount_of, needed_bytes
from kvdyno.runner.environment import CpuReading, others_cpus_busy, read_cpu

FILES = {
    "etc/machine-id": "0123456789abcdef\n",
    "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "proc/cpuinfo": "".join(
        f"processor\t: {n}\nmodel name\t: Imitation 3000\ncore id\t\t: {n // 2}\n"
        "flags\t\t: fpu sse4_2 avx2 hypervisor\n\n"
        for n in range(4)
    ),
    "proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    "proc/loadavg": "1.25 0.50 0.25 1/100 1234\n",
    "proc/stat": "cpu  100 0 100 700 100 0 0 0 0 0\n",
    "proc/self/mountinfo": "20 1 8:0 / / rw,relatime - ext4 /dev/sda1 rw\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/dmi/id/product_name": "KVM\n",
    "sys/devices/pci0/sda/queue/read_ahead_kb": "128\n",
    "sys/devices/pci0/sda/queue/rotational": "0\n",
    "sys/devices/pci0/sda/queue/scheduler": "none [mq-deadline] kyber\n",
    "sys/devices/pci0/sda/device/model": "Fast SSD\n",
    "sys/devices/pci0/sda/sda1/partition": "1\n",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    root = tmp_path / "machine"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/8:0").symlink_to(root / "sys/devices/pci0/sda/sda1")
    return root


def test_facts_of_an_imitated_machine(machine: Path, project: Project) -> None:
    facts = Surveyor(project, root=machine).survey().facts
    expected = {
        "os.name": "Debian GNU/Linux 12 (bookworm)",
        "os.kernel": "6.1.0-18-amd64",
        "os.virtualisation": "KVM",
        "os.clock_source": "tsc",
        "cpu.model": "Imitation 3000",
        "cpu.logical": 4,
        "cpu.physical": 2,
        "cpu.flags": ["sse4_2", "avx2"],
        "cpu.governor": "powersave",
        "cpu.turbo": True,
        "memory.bytes": 16000000 * 1024,
        "memory.available_bytes": 8000000 * 1024,
        "memory.swap_bytes": 0,
        "memory.huge_pages": "madvise",
        "disk.file_system": "ext4",
        "disk.mount_options": "rw,relatime",
        "disk.device": "sda",
        "disk.model": "Fast SSD",
        "disk.rotational": False,
        "disk.read_ahead_kb": 128,
        "disk.scheduler": "mq-deadline",
        "load.average_1min": 1.25,
        "load.cpus_busy": None,
    }
    assert {name: facts[name] for name in expected} == expected


def test_what_cannot_be_read_is_none(machine: Path, project: Project) -> None:
    for name in FILES:
        if name != "proc/self/mountinfo":
            (machine / name).unlink()
    facts = Surveyor(project, root=machine).survey().facts
    unread = {name for name, value in facts.items() if value is None}
    assert {
        "os.kernel",
        "cpu.model",
        "cpu.governor",
        "cpu.turbo",
        "memory.bytes",
        "disk.read_ahead_kb",
    } <= unread


def test_the_host_is_the_same_under_another_kernel_and_different_elsewhere(machine: Path) -> None:
    before = host_id(root=machine)
    (machine / "proc/meminfo").write_text("MemTotal: 15990000 kB\n")
    assert host_id(root=machine) == before
    (machine / "etc/machine-id").write_text("fedcba\n")
    assert host_id(root=machine) != before
    assert "0123456789abcdef" not in before


def test_records_carry_the_same_host_id(project: Project) -> None:
    assert Surveyor(project).survey().host_id == host_id()


def test_this_machine_has_a_load_and_a_disk(project: Project) -> None:
    facts = Surveyor(project).survey().facts
    assert facts["load.cpus_busy"] >= 0
    assert facts["disk.free_bytes"] > 0
    assert facts["cpu.logical"] >= 1


def test_the_innermost_mount_counts(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        "20 1 8:0 / / rw - ext4 /dev/sda1 rw\n"
        "21 20 0:5 / /data rw shared:3 - tmpfs tmpfs rw,size=1k\n"
        "22 20 8:2 / /data/my\\040disk rw - xfs /dev/sdb1 rw\n"
    )
    assert mount_of(Path("/data/x/y"), root=tmp_path).type == "tmpfs"
    assert mount_of(Path("/data/my disk/x"), root=tmp_path).type == "xfs"
    assert mount_of(Path("/database"), root=tmp_path).type == "ext4"


def test_in_a_chroot_type_and_device_come_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("")
    mount = mount_of(Path("/dev/shm/not/there/yet"), root=tmp_path)
    assert mount.type in MEMORY_FILE_SYSTEMS


def test_without_proc_there_is_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="mount -t proc"):
        mount_of(Path("/data"), root=tmp_path)


def test_a_margin_is_wanted_beside_what_is_expected() -> None:
    assert needed_bytes(0) == disk_module.MARGIN_BYTES
    assert needed_bytes(1000 << 20) > 1000 << 20


def test_others_are_all_but_our_children() -> None:
    before = CpuReading(machine=100.0, children=10.0, at=0.0)
    after = CpuReading(machine=116.0, children=22.0, at=8.0)
    assert others_cpus_busy(before, after) == 0.5
    assert others_cpus_busy(before, replace(after, children=40.0)) == 0.0, "ticks are coarse"
    assert others_cpus_busy(None, after) is None
    now = read_cpu()
    assert now is not None
    assert now.machine > 0


def test_without_proc_the_load_of_others_is_unknown(tmp_path: Path) -> None:
    assert read_cpu(root=tmp_path) is None
