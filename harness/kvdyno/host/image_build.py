"""The size of a build that is in an image, counted as `build` counts one of this machine."""

from __future__ import annotations

import contextlib
from pathlib import Path

from docker.errors import APIError

from kvdyno.errors import EngineError

from .build import TRACE, loaded_bytes, own_objects, traced_objects
from .docker_engine import connect, fresh_container, read_file, run_once


def image_bytes(image: str, binary: Path) -> int:
    """`build_bytes` of a binary in the image.

    The image's dynamic loader lists the libraries. Their files are read from a container that does not start.
    Raises EngineError when that fails, HostError when no Docker Engine answers.
    """
    command = [str(binary), "--describe"]
    with contextlib.closing(connect()) as client:
        try:
            traced = run_once(client, image, command, environment=TRACE)
            with fresh_container(client, image, command) as container:
                files = (binary, *own_objects(traced_objects(traced.stdout)))
                return sum(loaded_bytes(read_file(container, str(path))) for path in files)
        except (APIError, TimeoutError) as failure:
            said = getattr(failure, "explanation", None) or failure
            raise EngineError(f"the size of {binary} cannot be read: {said}", where=image) from failure
