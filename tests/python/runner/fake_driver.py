#!/usr/bin/env python3
"""A driver that speaks docs/formats.md and does what the property `fake` asks for; for tests of the runner.

It imports nothing but the standard library, so that it starts in a small cap.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

WROTE_ONCE = b"once " * 1000


def arguments():
    flags, properties = set(), {}
    words = iter(sys.argv[1:])
    for word in words:
        if word == "-P":
            lines = Path(next(words)).read_text().splitlines()
            properties.update(line.split("=", 1) for line in lines)
        elif word == "-p":
            name, value = next(words).split("=", 1)
            properties[name] = value
        else:
            flags.add(word)
    return flags, properties


def phase(name, **more):
    metrics = {"throughput": {"value": 1000.0, "unit": "op/s"}, "operations": {"value": 10, "unit": "op"}}
    return {"name": name, "started_at": 1.0, "seconds": 0.01, "metrics": metrics, **more}


def outcome(phases, *, status="ok", error=None):
    return {
        "schema_version": "kvdyno.outcome/1",
        "driver": {"name": "fake", "version": "1"},
        "engine": {
            "name": "fake",
            "version": "1",
            "summary": "a fake",
            "caveats": [],
            "write_once_files": ["*.once"],
        },
        "build": {"compiler": "none", "flags": "", "type": "none", "sanitizer": ""},
        "status": status,
        "error": error,
        "options": {},
        "properties": {},
        "phases": [phase(name) for name in phases],
        "series": None,
        "histograms": None,
    }


def finish(properties, document, code):
    Path(properties["output.dir"], "outcome.json").write_text(json.dumps(document))
    sys.exit(code)


def fail(properties, code, *, word, message):
    error = {"code": word, "phase": "measure", "message": message}
    finish(properties, outcome([], status="failed", error=error), code)


def load(store):
    (store / "sub").mkdir()
    (store / "000001.once").write_bytes(WROTE_ONCE)
    (store / "sub" / "journal").write_bytes(b"journal\n")


def tell_pid(properties):
    pid_file = Path(properties["fake.pid"])
    pid_file.with_suffix(".new").write_text(str(os.getpid()))
    pid_file.with_suffix(".new").rename(pid_file)


def behave(what, properties, store):
    """What a run does instead of working well."""
    match what:
        case "eat":
            hog = bytearray(int(properties["fake.bytes"]))
            for place in range(0, len(hog), 4096):
                hog[place] = 1
        case "eat in a child":
            if os.fork() == 0:
                behave("eat", properties, store)
                os._exit(0)
            os.wait()
        case "cache":
            block = os.urandom(1 << 20)
            with (store / "big").open("w+b") as stream:
                for _ in range(int(properties["fake.bytes"]) >> 20):
                    stream.write(block)
                os.fsync(stream.fileno())
                stream.seek(0)
                while stream.read(1 << 20):
                    pass
        case "write":
            block = os.urandom(1 << 20)
            with (store / "big").open("wb") as stream:
                for _ in range(int(properties["fake.bytes"]) >> 20):
                    stream.write(block)
                    os.fsync(stream.fileno())
            line = {"phase": "drain", "elapsed": 1, "fraction": 1, "operations": 1, "rate": 1, "unit": "op/s"}
            os.write(int(properties["progress.fd"]), json.dumps(line).encode() + b"\n")
            time.sleep(0.3)
        case "print the environment":
            sys.stdout.write(json.dumps(dict(os.environ)))
            sys.stdout.flush()
            sys.exit(2)
        case "hang":
            time.sleep(600)
        case "hang on":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                os.setsid()
            time.sleep(600)
        case "leave a child":
            if os.fork() == 0:
                os.setsid()
                tell_pid(properties)
                time.sleep(600)
            while not Path(properties["fake.pid"]).exists():
                time.sleep(0.01)
        case "be killed":
            Path(properties["output.dir"], "acknowledged.bin").write_bytes(b"writes")
            (store / "left").write_text("by the killed one")
            os.kill(os.getpid(), signal.SIGKILL)
        case "crash":
            sys.stdout.write("about to crash\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSEGV)
        case "babble":
            os.write(int(properties["progress.fd"]), b"\xff\x00 no json\n{}\n[1]\n" + b"x" * 200_000 + b"\n")
        case "wrong data":
            fail(properties, 3, word="corruption", message="key 7: expected stamp 1, found 2")
        case "unsupported":
            fail(properties, 2, word="unsupported", message="scan: hash tables have no order")
        case "full":
            fail(properties, 2, word="io error", message="write x: No space left on device")
        case "half an outcome":
            Path(properties["output.dir"], "outcome.json").write_text('{"schema_version": "kvdyno.out')
            sys.exit(0)
        case "strange outcome":
            Path(properties["output.dir"], "outcome.json").write_text('{"schema_version": "other/9"}')
            sys.exit(0)
        case "no outcome":
            sys.exit(0)
        case "change a linked file":
            path = store / "000001.once"
            path.chmod(0o644)
            path.write_bytes(b"other")


def main():
    flags, properties = arguments()
    store = Path(properties["data.dir"])
    descriptor = int(properties["progress.fd"])
    name = "load" if "-load" in flags else "measure"
    if "-run" in flags and properties.get("fake") == "hang" and "fake.pid" in properties:
        tell_pid(properties)
    line = {"phase": name, "elapsed": 0.0, "fraction": 0.0, "operations": 0, "rate": 0.0, "unit": "op/s"}
    if properties.get("fake") != "eat at once":
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    phases = []
    if "-load" in flags:
        (store / "big.once").write_bytes(os.urandom(int(properties.get("fake.load.bytes", "0"))))
        if properties.get("fake.load") == "crash":
            behave("crash", properties, store)
        load(store)
        if properties.get("fake.load") == "leave a link":
            (store / "CURRENT").symlink_to("sub")
        phases += ["load", "settle"]
    if "-run" in flags:
        reopened = "reopen.from" in properties
        what = properties.get("fake.reopened" if reopened else "fake", "")
        if reopened:
            expected = [Path(properties["reopen.from"], "acknowledged.bin"), store / "left"]
            what = what if all(path.exists() for path in expected) else "crash"
        behave(what.removesuffix(" at once"), properties, store)
        if (store / "sub" / "journal").exists():
            with (store / "sub" / "journal").open("ab") as stream:
                stream.write(b"more\n")
        phases += ["measure", "drain"]
    finish(properties, outcome(phases), 0)


if __name__ == "__main__":
    main()
