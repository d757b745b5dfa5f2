"""Paper: chapters and templates become LaTeX, LaTeX becomes a PDF that passes its checks. No statistics here.

Templates lie outside of this package, in the checkout's paper/: base/ is shared, a folder each has a paper's
own text. What they may call is in `context`; what they print is escaped in `templates`.
"""

from .build import build_pdf, check_tools
from .render import Rendered, render
from .report import render_report

__all__ = ["Rendered", "build_pdf", "check_tools", "render", "render_report"]
