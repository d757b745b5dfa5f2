"""Puts this folder on the path, where helpers that several stages' tests share live."""
