"""A checkout with an engine `tiny`: a C library in a crate's archive, and a driver that loads it."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from fakes import engines
from fakes.projects import make_project

from kvdyno.builds import Step
from kvdyno.model.project import Project

LIBRARY = """\
cmake_minimum_required(VERSION 3.22)
project(tiny VERSION 1.0 LANGUAGES C)
add_library(tiny SHARED tiny.c more.c)
"""
SOURCE = 'const char* tiny_version(void) { return "1.0"; }\n'
MORE = "int tiny_more(void) { return 1; }\n"

DRIVER_LISTS = """\
cmake_minimum_required(VERSION 3.22)
project(driver LANGUAGES C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(kvdyno-tiny engines/adapters/tiny/adapter.c)
target_include_directories(kvdyno-tiny PRIVATE ${KVDYNO_ENGINE_PREFIX}/include)
target_link_libraries(kvdyno-tiny ${KVDYNO_ENGINE_PREFIX}/lib/libtiny.so)
set_target_properties(kvdyno-tiny PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
"""

VERSIONS = """\
tiny:
  default: {default}
  engines: [tiny]
  packages: [libtiny-dev]
  tool_packages: [libflags-dev]
  target: tiny
  library: libtiny.so
  headers: include
  options: {{CMAKE_BUILD_TYPE: Release}}
  versions:
    "1.0":
      archive: {{registry: crates, name: tiny-sys, version: 0.1.0+1.0, folder: tiny}}
      sha256: "{sha256}"
      cpu_minutes: 0.1
      disk: {disk}
    "2.0":
      archive: {{registry: crates, name: tiny-sys, version: 0.1.0+2.0, folder: tiny}}
      sha256: "{other}"
      cpu_minutes: 0.1
      disk: 1MiB
"""


def crate(version: str, *, source: str = SOURCE) -> bytes:
    """An archive of the registry, as cargo stores it."""
    packed = io.BytesIO()
    files = {
        "tiny/CMakeLists.txt": LIBRARY,
        "tiny/tiny.c": source,
        "tiny/more.c": MORE,
        "tiny/include/tiny.h": "const char* tiny_version(void);\n",
    }
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"tiny-sys-{version}/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def adapter_source() -> str:
    """A driver that describes itself."""
    description = engines.describe("tiny").model_dump(mode="json", exclude_none=True)
    return (
        '#include <stdio.h>\n#include "tiny.h"\n'
        f"int main(void) {{ puts({json.dumps(json.dumps(description))}); return !tiny_version(); }}\n"
    )


def make_checkout(root: Path) -> Project:
    """The checkout; `list_versions` and `put_crate` add what is listed and what the registry gives."""
    project = make_project(root)
    adapter = project.adapters / "tiny"
    adapter.mkdir()
    (adapter / "adapter.c").write_text(adapter_source())
    (adapter / "packages.txt").write_text("")
    (adapter / "CMakeLists.txt").write_text("")
    (root / "CMakeLists.txt").write_text(DRIVER_LISTS)
    (root / "containers").mkdir()
    (root / "containers/Dockerfile").write_text("")
    return project


def list_versions(
    project: Project, *, sha256: str, other: str = "0" * 64, disk: str = "1MiB", default: str = "system"
) -> None:
    """engines/versions.yaml."""
    text = VERSIONS.format(sha256=sha256, other=other, disk=disk, default=default)
    (project.root / "engines" / "versions.yaml").write_text(text)


@dataclass
class Heard:
    """What a build prints."""

    lines: list[str] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)

    @property
    def step(self) -> Step:
        return Step(say=self.lines.append, progress=lambda done, total: self.counts.append((done, total)))
