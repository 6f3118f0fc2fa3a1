"""tern for Python: memory of other ranks, calls, hash tables, maps and queues, over libtern by ctypes.

    import tern

    with tern.Context() as context:
        counts = tern.HashTable(context, key="24s", counter=True, capacity=1000)
        counts.add("tern")
        context.barrier()
        print(context.rank, counts["tern"])

Run it by mpirun with this tern's MPI. A Context takes a communicator of an mpi4py that was built for
the same MPI, or starts MPI itself. Data is passed by the buffer protocol: bytes, bytearray, array and
NumPy arrays will do. An error is a tern.Error with the status and the detail of the C interface, whose
headers, include/tern/*.h, are the reference.

To create and to close a context, a table, a map or a queue is collective: every rank does it, in the
same order. So nothing is closed by the garbage collector. "with" or close() of the context closes all.
"""

from ._library import (AUTO, BY_CALL, BY_RMA, DOMAIN_GLOBAL, DOMAIN_NODE, DOMAIN_OWNER, READ_ONLY,
                       READ_WRITE, WRITE_ONLY, Error, Pointer)
from .call import Function, function
from .context import Context, Event
from .hashtable import HashTable
from .map import Map
from .modify import modifier
from .queue import DistributedQueue, Done, Empty, Full, Queue
from .request import Request
from .section import Section
from .team import Team

__all__ = ["AUTO", "BY_CALL", "BY_RMA", "DOMAIN_GLOBAL", "DOMAIN_NODE", "DOMAIN_OWNER", "READ_ONLY",
           "READ_WRITE", "WRITE_ONLY", "Context", "DistributedQueue", "Done", "Empty", "Error", "Event",
           "Full", "Function", "HashTable", "Map", "Pointer", "Queue", "Request", "Section", "Team", "function",
           "modifier"]
