"""Workloads in words, from what their drivers were asked for: "half gets, half puts; keys zipfian (0.8)"."""

from __future__ import annotations

from collections.abc import Mapping

_OPERATIONS = {
    "read": "gets",
    "update": "puts",
    "insert": "inserts",
    "scan": "scans",
    "readmodifywrite": "reads that are then written",
    "delete": "deletes",
    "multiread": "multi-gets",
    "reversescan": "scans downwards",
}


def workload_text(properties: Mapping[str, str]) -> str:
    """What the operations are and how keys are drawn; "" where the driver has no such properties."""
    if properties.get("dotransaction") == "false":
        return "the load itself: an empty store is filled"
    shares = {name: _number(properties.get(f"{name}proportion")) for name in _OPERATIONS}
    whole = sum(shares.values())
    if not whole:
        return ""
    parts = [_share(name, share / whole, properties) for name, share in shares.items() if share]
    keys = properties.get("requestdistribution", "")
    constant = properties.get("zipfian_const", "") if keys == "zipfian" else ""
    drawn = f"; keys {keys}{f' ({constant})' if constant else ''}" if keys else ""
    writers = int(_number(properties.get("writer.threads")))
    if writers:
        return f"{writers} thread{'s' if writers > 1 else ''} put, all others get{drawn}"
    return ", ".join(parts) + drawn + _beside(properties)


def record_text(properties: Mapping[str, str]) -> str:
    """The size of a record's value, or ""."""
    fields, length = (_number(properties.get(name)) for name in ("fieldcount", "fieldlength"))
    return f"values of {fields * length:g} bytes" if fields * length else ""


def _share(name: str, share: float, properties: Mapping[str, str]) -> str:
    what = _OPERATIONS[name]
    absent = _number(properties.get("readabsentfraction")) if name == "read" else 0
    if absent:
        what += f" ({100 * absent:g} % of them of keys that no record has)"
    if name == "multiread":
        what += f" of {properties['multireadsize']} keys" if "multireadsize" in properties else ""
    if name in ("scan", "reversescan"):
        least, most = properties.get("minscanlength", ""), properties.get("maxscanlength", "")
        what += f" of {least} to {most} rows" if least and most else ""
    if name == "update" and properties.get("update.mode") == "readmodifywrite":
        what = "puts that read first"
    amount = {1.0: "only", 0.5: "half"}.get(share, f"{100 * share:g} %")
    return f"{amount} {what}"


def _beside(properties: Mapping[str, str]) -> str:
    """The writes beside the mix, or ""."""
    rate = properties.get("background.write_rate", "0")
    return "" if rate == "0" else f"; beside them puts of {rate} a second"


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
