"""Packages: all are installed, and what one exports is hidden by no module of the same name."""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import kvdyno

#: The command line registers its commands by importing modules.
PACKAGES = [
    info.name
    for info in pkgutil.walk_packages(kvdyno.__path__, "kvdyno.")
    if info.ispkg and info.name != "kvdyno.cli"
]


@pytest.mark.parametrize("name", PACKAGES)
def test_no_module_hides_an_export(name: str) -> None:
    package = importlib.import_module(name)
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{name}.{info.name}")
    hidden = [
        each for each in getattr(package, "__all__", ()) if isinstance(getattr(package, each), ModuleType)
    ]
    assert not hidden


def test_every_package_is_installed() -> None:
    """A package that pyproject.toml lacks is there in a checkout alone, not in an image."""
    listed = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    packages = {info.name for info in pkgutil.walk_packages(kvdyno.__path__, "kvdyno.") if info.ispkg}
    assert set(listed["tool"]["setuptools"]["packages"]) == {"kvdyno", "plots", *packages}
