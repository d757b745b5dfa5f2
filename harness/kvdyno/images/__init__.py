"""Images: builds every engine into one, on a base that is pulled or made, and lists which there are.

What an image is called, holds and promises is `kvdyno.model.image`'s business.
"""

from .base import Base, base_here, can_make_base, find_base
from .build import build_engine
from .harness import HARNESS_IMAGE, build_harness
from .look import ImageState, image_states

__all__ = [
    "HARNESS_IMAGE",
    "Base",
    "ImageState",
    "base_here",
    "build_engine",
    "build_harness",
    "can_make_base",
    "find_base",
    "image_states",
]
