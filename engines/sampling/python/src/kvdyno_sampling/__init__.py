"""Independent weighted samples from a set of records that changes.

    import kvdyno_sampling

    index = kvdyno_sampling.Index()
    index.insert([7, 8], weights=[2.5, 0.5])
    keys = index.sample(1000)["key"]

Any thread may call. Calls release the interpreter's lock while they work in the index.
"""

from ._columns import RECORD
from ._files import read
from ._index import Index

__all__ = ["RECORD", "Index", "read"]
