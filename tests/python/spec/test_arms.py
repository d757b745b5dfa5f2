"""Arms of a gate as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdyno.errors import UsageError
from kvdyno.spec import read_arm


def test_an_image_may_have_a_tag_and_settings() -> None:
    arm = read_arm("image:registry:5000/kvdyno-chunkstore:1.0,preset=published,log_limit=4MiB")
    assert (arm.name, arm.image) == ("registry:5000/kvdyno-chunkstore:1.0", True)
    assert (arm.preset, dict(arm.options)) == ("published", {"log_limit": "4MiB"})
    assert read_arm("image:sha256:ab").name == "sha256:ab"


def test_other_arms_are_no_images() -> None:
    assert not read_arm("images").image
    assert read_arm("./image:preset=published").path == Path("./image")


@pytest.mark.parametrize("text", ["", "image:", "image:,preset=published", ":preset=x"])
def test_nothing_is_no_arm(text: str) -> None:
    with pytest.raises(UsageError, match="expected an engine, a git revision or an image, found nothing"):
        read_arm(text)


@pytest.mark.parametrize(
    "text", ["image:a,preset", "image:a,preset=b,preset=c", "chunkstore:", "chunkstore:=1"]
)
def test_a_setting_has_a_name_and_a_value(text: str) -> None:
    with pytest.raises(UsageError, match="expected preset=<preset> or <option>=<value>"):
        read_arm(text)
