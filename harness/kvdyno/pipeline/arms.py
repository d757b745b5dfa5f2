"""The two arms of a gate: from what a person writes to engines that are built."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvdyno import builds, catalog, spec
from kvdyno.errors import UsageError
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import EngineChoice
from kvdyno.model.project import Project
from kvdyno.model.versions import split_version
from kvdyno.model.words import unknown
from kvdyno.spec.arms import ArmForm

_COMMIT_DIGITS = 9
_HASH_DIGITS = 8
_FILES_SHOWN = 3


@dataclass(frozen=True)
class Arm:
    """BASE or HEAD: what was written, and what it means to an experiment.

    `commit` is that of a git revision, or the one that a patch is for. `path` is the patch or source tree.
    `image` is the engine in an image that was named.
    """

    text: str
    choice: EngineChoice
    commit: str | None = None
    path: Path | None = None
    image: Engine | None = None


def find_arms(
    project: Project,
    texts: tuple[str, str],
    *,
    known: Collection[str],
    engine: EngineChoice,
    step: builds.Step,
) -> tuple[tuple[Arm, Arm], Mapping[str, Engine]]:
    """Both arms, and by their keys the engines that were built of sources or found in images.

    `known` are the engines that are built, `engine` is what sources are built for. An arm's settings
    replace its preset and options. Raises UsageError for an arm that is neither engine, revision nor path, or
    for a dirty tree; what `build_revision`, `build_tree` and `engine_of_image` raise.
    """
    names = {split_version(each)[0] for each in known}
    names |= {path.parent.name for path in project.adapters.glob("*/CMakeLists.txt")}
    arms = [_resolved(project, spec.read_arm(text), known=names, engine=engine) for text in texts]
    built = {
        arm.choice.key: arm.image or _built(project, arm, step=step)
        for arm in arms
        if arm.commit or arm.path or arm.image
    }
    return (arms[0], arms[1]), built


def _resolved(project: Project, form: ArmForm, *, known: Collection[str], engine: EngineChoice) -> Arm:
    """What the arm names, before anything is built."""
    if form.image:
        return _of_image(project, form)
    if form.path:
        return _of_path(project, form, form.path, engine=engine)
    name, version = split_version(form.name)
    if name in known:
        return Arm(form.text, _set(EngineChoice(engine=name, version=version), form))
    commit = _commit(project, form, known=known)
    choice = engine.model_copy(update={"version": commit[:_COMMIT_DIGITS], "runner": None})
    return Arm(form.text, _set(choice, form), commit)


def _of_path(project: Project, form: ArmForm, path: Path, *, engine: EngineChoice) -> Arm:
    """The arm of a patch on the commit that is checked out, or of another tree. Its version has a hash of
    what is built, so that two of one name are two engines."""
    path = path.resolve()
    if path.is_dir():
        name, commit = path.name, None
        content = builds.tree_key(project, path, engine.engine)
    elif path.is_file():
        name, commit = path.stem, builds.commit_of(project, "HEAD")
        if commit is None:
            raise UsageError("expected a git checkout to put a patch on, found none", where=str(project.root))
        content = hashlib.sha256(f"{commit}\n".encode() + path.read_bytes()).hexdigest()
    else:
        raise UsageError(
            "expected a source tree or a patch, found no such file or folder",
            where=form.text,
            remedy="a git revision or an engine begins with neither / nor .",
        )
    version = _version(name, content)
    choice = engine.model_copy(update={"version": version, "runner": None})
    return Arm(form.text, _set(choice, form), commit, path)


def _of_image(project: Project, form: ArmForm) -> Arm:
    """The arm of an image. Its version has the image's id, which no other image ever has."""
    engine = catalog.engine_of_image(project, form.name)
    version = _version(form.name, engine.binary_sha256)
    choice = EngineChoice(engine=engine.name, version=version)
    return Arm(form.text, _set(choice, form), image=engine)


def _version(name: str, content: str) -> str:
    """A version of what is no listed one: what a person calls it, and a hash of what it is."""
    return f"{re.sub(r'[^a-zA-Z0-9_.-]', '-', name)}-{content[:_HASH_DIGITS]}"


def _built(project: Project, arm: Arm, *, step: builds.Step) -> Engine:
    engine = arm.choice.engine
    if arm.commit:
        found = builds.build_revision(project, arm.commit, engine, patch=arm.path, step=step)
    else:
        assert arm.path
        found = builds.build_tree(project, arm.path, engine, step=step)
    return catalog.local_engine(found.driver, adapters=found.adapters)


def _set(choice: EngineChoice, form: ArmForm) -> EngineChoice:
    preset = form.preset or choice.preset
    settings = [preset if preset != "default" else "", *(f"{k}-{v}" for k, v in form.options.items())]
    label = "-".join(filter(None, [choice.key, *settings]))
    options = {**choice.options, **form.options}
    return choice.model_copy(update={"preset": preset, "options": options, "label": label})


def _commit(project: Project, form: ArmForm, *, known: Collection[str]) -> str:
    """The commit that the name stands for; one that is checked out has no changes beside it."""
    commit = builds.commit_of(project, form.name)
    if commit is None:
        raise UsageError(
            f"git knows no such revision; {unknown('engine', form.name, sorted(known))}",
            where=form.text,
        )
    if commit == builds.commit_of(project, "HEAD") and (changed := builds.changed_sources(project)):
        more = f" and {len(changed) - _FILES_SHOWN} more" if len(changed) > _FILES_SHOWN else ""
        raise UsageError(
            f"expected a tree without changes, found {', '.join(changed[:_FILES_SHOWN])}{more}: the commit "
            "lacks them",
            where=form.text,
            remedy="commit or stash them, or name the engine: its arm is the driver that `make build` made",
        )
    return commit
