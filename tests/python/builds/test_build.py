"""Building a version: what is built, what is built again, and every way in which it fails."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from kvdyno import catalog
from kvdyno.builds import (
    Step,
    build_here,
    build_version,
    needed_packages,
    version_states,
    wanted_versions,
    wanted_without_version,
)
from kvdyno.errors import EngineError, HostError, SpecError, UsageError
from kvdyno.host.libraries import prefix_of
from kvdyno.model.project import Project
from kvdyno.model.versions import read_versions

from .fixtures import Heard, crate, list_versions, make_checkout


class Registry:
    """Cargo's cache, which holds what cargo would have fetched."""

    def __init__(self, home: Path) -> None:
        self.cache = home / "registry" / "cache" / "index"
        self.cache.mkdir(parents=True)

    def put(self, version: str, content: bytes) -> str:
        (self.cache / f"tiny-sys-{version}.crate").write_bytes(content)
        return hashlib.sha256(content).hexdigest()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    for name in ("KVDYNO_BUILD", "KVDYNO_VERSIONS"):
        monkeypatch.delenv(name, raising=False)
    return Registry(tmp_path / "cargo")


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Project:
    made = make_checkout(tmp_path / "checkout")
    one, two = registry.put("0.1.0+1.0", crate("0.1.0+1.0")), registry.put("0.1.0+2.0", crate("0.1.0+2.0"))
    list_versions(made, sha256=one, other=two)
    return made


def build(project: Project, version: str = "1.0", *, step: Step | None = None) -> Path:
    return build_version(project, "tiny", version, engines=["tiny"], step=step or Heard().step, jobs=1)


def test_two_versions_are_engines_beside_each_other(project: Project) -> None:
    build(project, "1.0")
    build(project, "2.0")
    found = catalog.discover(project)
    assert list(found) == ["tiny@1.0", "tiny@2.0"]
    assert found["tiny@1.0"].built_version == "1.0"
    assert found["tiny@1.0"].binary != found["tiny@2.0"].binary
    assert "tiny" not in found  # its bare name is the distribution's


def test_a_library_is_the_same_wherever_it_is_built(registry: Registry, tmp_path: Path) -> None:
    """Sources name themselves in messages, and debug information names folders."""
    source = "const char* tiny_version(void) { return __FILE__; }\n"
    sha256 = registry.put("0.1.0+1.0", crate("0.1.0+1.0", source=source))
    libraries = []
    for place in ("one", "another/place"):
        project = make_checkout(tmp_path / place)
        list_versions(project, sha256=sha256)
        listed = project.root / "engines" / "versions.yaml"
        listed.write_text(listed.read_text().replace("Release", "RelWithDebInfo"))
        libraries.append(build(project) / "lib" / "libtiny.so")
    one, other = (library.read_bytes() for library in libraries)
    assert str(tmp_path).encode() not in one
    assert one == other


def test_the_default_version_answers_to_the_bare_name(project: Project) -> None:
    text = project.root / "engines" / "versions.yaml"
    text.write_text(text.read_text().replace("default: system", 'default: "1.0"'))
    build(project)
    assert catalog.discover(project)["tiny"].built_version == "1.0"


def test_packages_can_be_the_default_of_this_process(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = project.root / "engines" / "versions.yaml"
    text.write_text(text.read_text().replace("default: system", 'default: "1.0"'))
    assert read_versions(project).resolve("tiny") == "tiny@1.0"
    assert read_versions(project).resolve("tiny@system") == "tiny"
    monkeypatch.setenv("KVDYNO_VERSIONS", "system")
    assert read_versions(project).resolve("tiny") == "tiny"
    monkeypatch.setenv("KVDYNO_VERSIONS", "newest")
    with pytest.raises(UsageError, match="KVDYNO_VERSIONS: expected 'system' or nothing, found 'newest'"):
        read_versions(project)


def test_packages_are_named_for_what_is_not_built_yet(project: Project) -> None:
    wanted = [("tiny", "1.0")]
    assert "libtiny-dev" in needed_packages(project, wanted)
    assert "libflags-dev" not in needed_packages(project, wanted)
    assert {"libtiny-dev", "libflags-dev"} <= set(needed_packages(project, wanted, tools=True))
    build(project)
    assert needed_packages(project, wanted) == ()
    assert {"libtiny-dev", "libflags-dev"} <= set(needed_packages(project, wanted, tools=True))


def test_a_library_without_tools_is_refused_before_it_is_built(project: Project) -> None:
    text = project.root / "engines" / "versions.yaml"
    text.write_text(text.read_text().replace("  tool_packages: [libflags-dev]\n", ""))
    heard = Heard()
    with pytest.raises(EngineError, match=r"tiny@1.0 comes without tools") as raised:
        build_version(project, "tiny", "1.0", engines=["tiny"], step=heard.step, tools=True)
    assert raised.value.remedy == "kvdyno engines build tiny@1.0, without --tools"
    assert heard.lines == []


def test_what_is_up_to_date_is_left_alone(project: Project) -> None:
    prefix = build(project)
    heard = Heard()
    assert build(project, step=heard.step) == prefix
    assert (heard.lines, heard.counts) == ([], [])


def test_a_driver_of_other_sources_is_stale_and_built_again(project: Project) -> None:
    build(project)
    source = project.adapters / "tiny" / "adapter.c"
    source.write_text(source.read_text() + "// changed\n")
    with pytest.raises(EngineError, match="stale") as raised:
        catalog.discover(project)["tiny@1.0"]
    assert raised.value.remedy == "kvdyno engines build tiny@1.0"
    heard = Heard()
    build(project, step=heard.step)
    assert heard.lines == ["building the driver of tiny@1.0"]
    assert "tiny@1.0" in catalog.discover(project)


def test_states_say_what_is_there(project: Project) -> None:
    build(project)
    first, second = version_states(project)
    assert (first.version, first.built, first.drivers) == ("1.0", True, ("tiny",))
    assert first.size_bytes > 0
    assert (second.version, second.built, second.drivers, second.size_bytes) == ("2.0", False, (), 0)


def test_another_archive_is_refused(project: Project, registry: Registry) -> None:
    before = build(project, "2.0")
    list_versions(project, sha256="a" * 64)
    with pytest.raises(
        EngineError, match=f"expected an archive with SHA-256 {'a' * 64}, found [0-9a-f]"
    ) as raised:
        build(project)
    assert raised.value.remedy
    assert (before / "lib" / "libtiny.so").exists()
    assert not prefix_of(project, library="tiny", version="1.0").exists()


def test_a_build_that_fails_shows_the_end_of_its_log(project: Project, registry: Registry) -> None:
    before = build(project, "2.0")
    sha256 = registry.put("0.1.0+1.0", crate("0.1.0+1.0", source="#error no luck\n"))
    other = read_versions(project).libraries["tiny"].versions["2.0"].sha256
    list_versions(project, sha256=sha256, other=other)
    with pytest.raises(EngineError, match=r"tiny@1\.0 was not built(.|\n)*no luck") as raised:
        build(project)
    assert Path(raised.value.where or "").read_text().count("no luck")
    assert "goes on" in (raised.value.remedy or "")
    assert build(project, "2.0") == before


def test_a_disk_without_space_is_seen_before(project: Project) -> None:
    listed = read_versions(project).libraries["tiny"].versions["1.0"].sha256
    list_versions(project, sha256=listed, disk="1000000GiB")
    with pytest.raises(HostError, match="of free disk, found") as raised:
        build(project)
    assert "KVDYNO_DATA" in (raised.value.remedy or "")


def test_a_disk_that_fills_up_is_named(project: Project, registry: Registry) -> None:
    sha256 = registry.put("0.1.0+1.0", crate("0.1.0+1.0", source="#error No space left on device\n"))
    list_versions(project, sha256=sha256)
    with pytest.raises(HostError, match="was not built") as raised:
        build(project)
    assert "free some disk" in (raised.value.remedy or "")


def test_an_interrupted_build_goes_on(project: Project) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(project, step=Step(say=lambda line: None, progress=stop))
    assert not prefix_of(project, library="tiny", version="1.0").exists()
    heard = Heard()
    prefix = build(project, step=heard.step)
    assert (prefix / "lib" / "libtiny.so").exists()
    # Two sources and a link make three steps; the first was done.
    assert heard.counts[0][1] < 3


def test_a_half_unpacked_archive_is_unpacked_again(project: Project) -> None:
    prefix = prefix_of(project, library="tiny", version="1.0")
    left = project.data / "engines" / "work" / prefix.name / "source" / "tiny-sys-0.1.0+1.0"
    left.mkdir(parents=True)
    (left / "half").touch()
    assert build(project) == prefix


def test_without_a_client_the_remedy_is_named(
    project: Project, registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in registry.cache.iterdir():
        path.unlink()
    prefix_of(project, library="tiny", version="1.0")  # asks the compiler, which is not on the path below
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="cargo: no such program") as raised:
        build(project)
    assert "setup.sh versions" in (raised.value.remedy or "")


def test_a_registry_that_does_not_have_it(
    project: Project, registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in registry.cache.iterdir():
        path.unlink()
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.write_text("#!/bin/sh\necho no such host >&2\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:/usr/bin:/bin")
    with pytest.raises(HostError, match=r"was not fetched(.|\n)*no such host"):
        build(project)


def test_the_recipe_is_part_of_the_key(project: Project) -> None:
    before = prefix_of(project, library="tiny", version="1.0")
    recipe = project.root / "engines" / "recipe.cmake"
    recipe.write_text("# one\n")
    text = project.root / "engines" / "versions.yaml"
    text.write_text(text.read_text().replace("  target: tiny\n", "  target: tiny\n  recipe: recipe.cmake\n"))
    first = prefix_of(project, library="tiny", version="1.0")
    recipe.write_text("# two\n")
    assert len({before, first, prefix_of(project, library="tiny", version="1.0")}) == 3


def test_names_lead_to_versions(project: Project) -> None:
    assert wanted_versions(project, ["tiny@1.0", "tiny", "tiny@system"]) == {("tiny", "1.0"): ("tiny",)}
    with pytest.raises(EngineError, match=r"unknown version of tiny '1\.1': .* did you mean '1\.0'"):
        wanted_versions(project, ["tiny@1.1"])
    with pytest.raises(EngineError, match=r"unknown engine 'tinny': .* did you mean 'tiny'"):
        wanted_versions(project, ["tinny@1.0"])


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ('"1.0":', "1.0:", "expected a text as key, found 1.0"),
        ("target: tiny", "tarrget: tiny", "did you mean 'target'"),
        ('sha256: "', 'sha256: "x', "sha256: expected 64 hexadecimal digits"),
        ("default: system", "default: 3.0", "default: expected a text, found 3.0"),
        ("tiny:", "tiny: [", "not YAML"),
    ],
)
def test_mistakes_in_the_list_are_named_with_their_line(
    project: Project, before: str, after: str, found: str
) -> None:
    path = project.root / "engines" / "versions.yaml"
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(SpecError, match=found) as raised:
        read_versions(project)
    assert f"{path}:" in str(raised.value)


def own_build(project: Project) -> None:
    """The checkout's own build, configured for an engine `plain` that needs no library."""
    (project.adapters / "plain").mkdir()
    (project.adapters / "plain" / "CMakeLists.txt").write_text("")
    (project.adapters / "plain" / "adapter.c").write_text("int main(void) { return 0; }\n")
    (project.root / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(own LANGUAGES C)\n"
        "set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\n"
        "add_executable(kvdyno-plain engines/adapters/plain/adapter.c)\n"
    )
    where = ["-S", str(project.root), "-B", str(project.root / "build"), "-G", "Ninja"]
    subprocess.run(["cmake", *where], check=True, capture_output=True)


def test_engines_without_versions_use_the_own_build(project: Project) -> None:
    own_build(project)
    names = ["plain", "tiny@1.0", "tiny@system", "tiny"]
    assert wanted_without_version(project, names) == ("plain", "tiny")
    assert wanted_versions(project, names) == {("tiny", "1.0"): ("tiny",)}
    with pytest.raises(EngineError, match="unknown engine 'plane'"):
        wanted_without_version(project, ["plane"])


def test_the_own_build_makes_what_is_asked_for_and_names_what_it_cannot(project: Project) -> None:
    own_build(project)
    heard = Heard()
    build_here(project, ["plain", "tiny"], step=heard.step, jobs=1)
    assert (project.root / "build/bin/kvdyno-plain").is_file()
    assert any(line.startswith("tiny: left out, its library is not installed") for line in heard.lines)


def test_a_failing_own_build_shows_the_end_of_its_log(project: Project) -> None:
    own_build(project)
    (project.adapters / "plain" / "adapter.c").write_text("#error no such luck\n")
    with pytest.raises(EngineError, match="no such luck"):
        build_here(project, ["plain"], step=Heard().step, jobs=1)


def test_an_own_build_that_is_not_configured_names_the_remedy(project: Project) -> None:
    with pytest.raises(EngineError) as raised:
        build_here(project, ["tiny"], step=Heard().step, jobs=1)
    assert raised.value.remedy == "make build"
