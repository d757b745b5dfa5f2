"""The two arms of a gate: from what a person writes to engines that are built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kvdyno import builds, catalog, spec
from kvdyno.errors import UsageError
from kvdyno.model.engine import Engine
from kvdyno.model.experiment import EngineChoice
from kvdyno.model.project import Project
from kvdyno.model.versions import split_version
from kvdyno.model.words import unknown
from kvdyno.spec.arms import ArmForm

_COMMIT_DIGITS = 9
_FILES_SHOWN = 3


@dataclass(frozen=True)
class Arm:
    """BASE or HEAD: what was written, what it means to an experiment, and the commit of a git revision."""

    text: str
    choice: EngineChoice
    commit: str | None = None


def find_arms(
    project: Project,
    texts: tuple[str, str],
    *,
    known: Collection[str],
    engine: EngineChoice,
    step: builds.Step,
) -> tuple[tuple[Arm, Arm], Mapping[str, Engine]]:
    """Both arms, and the engines that were built of git revisions, by their keys.

    `known` are the engines that are built, `engine` is what revisions are built for. An arm's settings
    replace its preset and options. Raises UsageError for an arm that is neither engine nor revision, or for a
    dirty tree; what `build_revision` raises.
    """
    names = {split_version(each)[0] for each in known}
    names |= {path.parent.name for path in project.adapters.glob("*/CMakeLists.txt")}
    arms = [_resolved(project, spec.read_arm(text), known=names, engine=engine) for text in texts]
    built = {
        arm.choice.key: _built(project, arm.commit, arm.choice.engine, step=step)
        for arm in arms
        if arm.commit
    }
    return (arms[0], arms[1]), built


def _resolved(project: Project, form: ArmForm, *, known: Collection[str], engine: EngineChoice) -> Arm:
    """What the arm names, before anything is built."""
    name, version = split_version(form.name)
    if name in known:
        return Arm(form.text, _set(EngineChoice(engine=name, version=version), form))
    commit = _commit(project, form, known=known)
    choice = engine.model_copy(update={"version": commit[:_COMMIT_DIGITS], "runner": None})
    return Arm(form.text, _set(choice, form), commit)


def _built(project: Project, commit: str, engine: str, *, step: builds.Step) -> Engine:
    revision = builds.build_revision(project, commit, engine, step=step)
    return catalog.local_engine(revision.driver, adapters=revision.adapters)


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
