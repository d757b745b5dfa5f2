"""kvdyno: a dynamometer for storage engines."""

__version__ = "0.1.0"
