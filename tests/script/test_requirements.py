"""The pinned requirements: complete, hashed, in step with pyproject.toml, and silent about where packages come from."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "requirements"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FILES = ("build", "runtime", "dev")


def pins(name: str) -> list[tuple[str, Version, Marker | None]]:
    """The packages of one file: (name, version, marker)."""
    found: list[tuple[str, Version, Marker | None]] = []
    for line in (FOLDER / f"{name}.txt").read_text("utf-8").replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line.split(" --hash=")[0])
            (pin,) = requirement.specifier
            assert pin.operator == "==", line
            found.append((canonicalize_name(requirement.name), Version(pin.version), requirement.marker))
    return found


def wanted(name: str) -> list[Requirement]:
    """What pyproject.toml asks for, so far as it concerns that file; requests for the project itself left out."""
    project = PROJECT["project"]
    lines: list[str] = {
        "build": PROJECT["build-system"]["requires"],
        "runtime": [*project["dependencies"], *chain(*project["optional-dependencies"].values())],
        "dev": PROJECT["dependency-groups"]["dev"],
    }[name]
    return [one for one in map(Requirement, lines) if canonicalize_name(one.name) != project["name"]]


@pytest.mark.parametrize("name", FILES)
def test_every_dependency_of_the_project_is_pinned_within_its_range(name: str) -> None:
    pinned = pins(name)
    for requirement in wanted(name):
        versions = [version for package, version, _ in pinned if package == canonicalize_name(requirement.name)]
        assert versions, f"{requirement}: run script/pins"
        assert all(version in requirement.specifier for version in versions), f"{requirement}: run script/pins"


@pytest.mark.parametrize("name", FILES)
def test_every_pin_has_hashes(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text("utf-8").replace("\\\n", " ")
    bare = [line for line in text.splitlines() if "==" in line and "--hash=sha256:" not in line]
    assert pins(name)
    assert not bare


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_an_index_or_an_address(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    assert not re.search(r"://|index-url|find-links|@ ", text)


def test_the_packages_for_development_contain_those_of_the_runtime() -> None:
    def key(pin: tuple[str, Version, Marker | None]) -> tuple[str, str, str]:
        return (pin[0], str(pin[1]), str(pin[2]))

    assert {key(pin) for pin in pins("runtime")} <= {key(pin) for pin in pins("dev")}
