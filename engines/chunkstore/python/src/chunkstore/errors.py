"""What calls raise. A key that is not there is Python's own `KeyError`.

Error
├── InvalidArgumentError (ValueError)   the caller's input is wrong, or the store is closed
├── UnsupportedError                    no such operation, or another format version
├── DiskError (OSError)                 the operating system refused
│   └── NoSpaceError                    the disk is full; may succeed later
├── ReadOnlyError                       opened for reading, or no longer writable after a failed sync
├── CorruptionError                     stored data are not what was written; names file and offset
├── BusyError                           another process or store holds the directory
└── InternalError                       a defect of the store
"""


class Error(Exception):
    """Everything that the store raises."""


class InvalidArgumentError(Error, ValueError):
    """The caller's input is wrong, or the store is closed."""


class UnsupportedError(Error):
    """No such operation, or a directory of another format version."""


class DiskError(Error, OSError):
    """The operating system refused."""


class NoSpaceError(DiskError):
    """The disk is full; the call may succeed later."""


class ReadOnlyError(Error):
    """The store was opened for reading, or takes no more writes after a failed sync."""


class CorruptionError(Error):
    """Stored data are not what was written. The message names file and offset."""


class BusyError(Error):
    """Another process or store holds the directory."""


class InternalError(Error):
    """A defect of the store."""
