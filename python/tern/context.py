"""Contexts: one use of tern over one communicator, and the memory of its ranks."""

import atexit
import ctypes
import sys
from collections import namedtuple
from ctypes import byref

from ._data import Numbers, Plain, View, as_bytes, reduction
from ._library import (DOMAIN_GLOBAL, ERR_EMPTY, NUMA_ANY, PROBE_LOCAL, PROBE_REMOTE, Error, NotifyOptions, Pointer,
                       RawEvent, WorkerId, library)
from .request import both
from .section import Section, close_gaps, described
from .updates import Updates
from .waits import Waits

Event = namedtuple("Event", "rank cid size is_get")
Event.__doc__ = """What put_notify, get_notify or notify of another rank tells this one: rank is that rank, cid
the bytes that it passed, size the bytes of data, and is_get is true for get_notify."""

_THREAD_SERIALIZED = 2  # of MPI_Init_thread, with MPICH and Open MPI


def _start_mpi():
    """For programs without mpi4py. MPI ends with the program."""
    running, level = ctypes.c_int(), ctypes.c_int()
    library.MPI_Initialized(byref(running))
    if not running.value:
        library.MPI_Init_thread(None, None, _THREAD_SERIALIZED, byref(level))
        atexit.register(_end_mpi)
    return library.tern_comm_world_f()


def _end_mpi():
    # After an exception MPI_Finalize would wait for the other ranks. The launcher ends them instead.
    if not hasattr(sys, "last_type"):
        library.MPI_Finalize()


def _fetching(name):
    def atomic(self, pointer, operand, width=8):
        return self._atomic(name, pointer, width, operand)
    atomic.__doc__ = "Atomic; returns the word before, without a sign. width: its bytes, 8 or 4."
    return atomic


class Context(Updates, Waits):
    """All ranks create it together, with one worker each, and close it together.

    comm: a communicator of mpi4py; None: MPI_COMM_WORLD, and MPI is started if it does not run yet.
    options: such as "TERN_WORKERS=2 TERN_SEGMENT_SIZE=1G", before the environment."""

    def __init__(self, comm=None, options=None):
        self._context, self.worker = ctypes.c_void_p(), ctypes.c_void_p()
        self._objects = []
        self._requests = set()  # those under way
        self._under_way = {}  # the data of notified transfers, by the number of each
        self._transfers = 0
        handle = _start_mpi() if comm is None else comm.py2f()
        library.tern_context_create_f(handle, (options or "").encode(), byref(self._context))
        library.tern_worker_adopt(self._context, 0, byref(self.worker))

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _trace):
        # After an error the other ranks may be anywhere; a collective function would wait for them.
        if kind is None:
            self.close()

    def close(self):
        """Collective: waits for the requests that are left, and closes the tables and queues that are left, the
        youngest first, then this."""
        while self._requests:
            next(iter(self._requests)).wait()
        while self._objects:
            self._objects[-1].close()
        if self._context:
            library.tern_context_destroy(self._context)
            self._context = self.worker = None
            self._under_way.clear()

    @property
    def _owner(self):
        return self

    @property
    def rank(self):
        return library.tern_context_rank(self._context)

    @property
    def size(self):
        return library.tern_context_size(self._context)

    # ---- memory ----

    def alloc(self, size, rank=None, alignment=0, domain=DOMAIN_GLOBAL):
        """A Pointer to size bytes in the memory of this rank, or of another, whose progress is waited
        for. Their content is undefined."""
        pointer = Pointer()
        if rank is None:
            library.tern_alloc(self.worker, size, alignment, domain, byref(pointer))
        else:
            library.tern_alloc_on(self.worker, rank, NUMA_ANY, size, alignment, domain, byref(pointer))
        return pointer

    def free(self, pointer):
        library.tern_free(self.worker, pointer)

    def alloc_all(self, size, alignment=0, domain=DOMAIN_GLOBAL):
        """Collective: size bytes in the memory of each rank. A Pointer to those of this rank; on(rank) of
        it is a pointer to those of another."""
        pointer = Pointer()
        library.tern_alloc_all(self.worker, size, alignment, domain, byref(pointer))
        return pointer

    def free_all(self, pointer):
        """Collective: frees what alloc_all gave; pointer is any rank's."""
        library.tern_free_all(self.worker, pointer)

    def local(self, pointer, size):
        """A memoryview of memory that this process reaches by load and store, else None."""
        address = library.tern_local(self._context, pointer)
        return memoryview((ctypes.c_char * size).from_address(address)).cast("B") if address else None

    def put(self, pointer, data):
        """Copies the elements of a buffer to a place, which is a Pointer or a Section of the same shape and element;
        dimensions of one element do not count. At a Pointer they come to lie side by side, the last index fastest.
        The buffer may be a slice of a NumPy array, of up to 8 dimensions: nothing is copied before. It may be changed
        afterwards."""
        with View(data) as view:
            pointer, section = described(pointer, view)
            if section is None:
                library.tern_put(self.worker, pointer, view.address, view.bytes)
            else:
                library.tern_put_strided(self.worker, pointer, view.address, byref(section))

    def get(self, pointer, data):
        """Copies from a place until the writable buffer is full, and returns the buffer. Otherwise as put."""
        with View(data, writable=True) as view:
            pointer, section = described(pointer, view)
            if section is None:
                library.tern_get(self.worker, view.address, pointer, view.bytes)
            else:
                library.tern_get_strided(self.worker, view.address, pointer, byref(section))
        return data

    def _put(self, held, pointer, data):
        view = held.enter_context(View(data))
        pointer, section = described(pointer, view)
        if section is None:
            return "tern_put", (pointer, view.address, view.bytes), data
        return "tern_put_strided", (pointer, view.address, byref(section)), data

    def _get(self, held, pointer, data):
        view = held.enter_context(View(data, writable=True))
        pointer, section = described(pointer, view)
        if section is None:
            return "tern_get", (view.address, pointer, view.bytes), data
        return "tern_get_strided", (view.address, pointer, byref(section)), data

    put_start = both(_put)[1]
    get_start = both(_get)[1]

    # ---- notified transfer ----

    def put_notify(self, rank, pointer, data, cid=b""):
        """Copies a buffer to a place of rank, as put does, and tells that rank, where event_wait or probe returns
        an Event. cid: bytes for it, up to 256, or text. The buffer may be changed afterwards.

        An Error may be that of an earlier one. ERR_AGAIN: rank has not taken its events for long."""
        self._reap()
        copy = bytes(memoryview(data))
        if isinstance(pointer, Section):
            with View(data) as view:
                first, section = described(pointer, view)
            close_gaps(section)  # of the copy
            self._transfer(library.tern_put_strided_notify, rank, first, copy, byref(section), cid, copy)
        else:
            self._transfer(library.tern_put_notify, rank, pointer, copy, len(copy), cid, copy)

    def get_notify(self, rank, pointer, data, cid=b""):
        """Copies from a place of rank, as get does, until the writable buffer is full, tells that rank that its
        memory has been read, and returns the buffer."""
        outcome = 0
        with View(data, writable=True) as view:
            first, section = described(pointer, view)
            function = library.tern_get_notify if section is None else library.tern_get_strided_notify
            size = view.bytes if section is None else byref(section)
            number = self._transfer(function, rank, view.address, first, size, cid, data)
            while number in self._under_way:
                outcome = self._complete(library.tern_event_wait) or outcome
        if outcome != 0:
            raise Error(outcome)
        return data

    def notify(self, rank, cid=b""):
        """Tells rank, without data."""
        self.put_notify(rank, Pointer(), b"", cid)

    def event_wait(self):
        """Waits for the next Event of another rank. Those of one rank come in their order."""
        self._reap()
        event = RawEvent()
        library.tern_event_wait(self.worker, PROBE_REMOTE, byref(event))
        return self._told(event)

    def probe(self):
        """The next Event of another rank, or None."""
        self._reap()
        event = RawEvent()
        try:
            library.tern_probe(self.worker, PROBE_REMOTE, byref(event))
        except Error as error:
            if error.status == ERR_EMPTY:
                return None
            raise
        return self._told(event)

    def _told(self, event):
        if event.status != 0:
            raise Error(event.status)
        return Event(event.peer.rank, bytes(event.cid[:event.cid_bytes]), event.bytes, event.is_get != 0)

    def _transfer(self, function, rank, to, source, size, cid, data):
        """Starts one and returns its number. tern reads or writes data until the local event."""
        cid = as_bytes(cid)
        self._transfers += 1
        number = self._transfers
        self._under_way[number] = data
        try:
            function(self.worker, WorkerId(rank, 0), to, source, size,
                     byref(NotifyOptions(number, cid, len(cid), 0)))
        except Error:
            del self._under_way[number]
            raise
        return number

    def _complete(self, look):
        """Takes a local event, lets go of the data, and returns the status of the transfer."""
        event = RawEvent()
        look(self.worker, PROBE_LOCAL, byref(event))
        del self._under_way[event.local_cid]
        return event.status

    def _reap(self):
        """Lets go of the data of all transfers that are complete."""
        while self._under_way:
            try:
                outcome = self._complete(library.tern_probe)
            except Error as error:
                if error.status == ERR_EMPTY:
                    return
                raise
            if outcome != 0:
                raise Error(outcome)

    # ---- calls ----

    def call(self, rank, function, *arguments, **named):
        """Runs a function (tern.function) on rank, once, and returns at once. Its result is dropped, and
        its error is logged there."""
        function._send(self.worker, WorkerId(rank, 0), arguments, named)

    def call_return(self, rank, function, *arguments, **named):
        """Runs a function on rank and waits for what it returns. An exception there is an Error here,
        with the text of the exception."""
        return function._ask(self.worker, WorkerId(rank, 0), arguments, named)

    def quiesce(self):
        """Collective: returns when all calls of all ranks have run."""
        library.tern_quiesce(self.worker)

    def phase(self):
        """Collective: the same, and no call that another rank makes afterwards runs here before this
        returns."""
        library.tern_phase(self.worker)

    # ---- completion and order ----

    def flush(self, rank):
        """Puts and atomics to rank are complete there."""
        library.tern_flush(self.worker, rank)

    def flush_all(self):
        library.tern_flush_all(self.worker)

    def fence(self, rank):
        """Earlier puts and atomics to rank come before later ones."""
        library.tern_fence(self.worker, rank)

    def barrier(self):
        """Collective."""
        library.tern_barrier(self.worker)

    def broadcast(self, root, data):
        """Collective: root's buffer comes to the buffers of the other ranks, of the same size. A
        Pointer is a buffer."""
        with Plain(data, writable=True) as view:
            library.tern_team_broadcast(self.worker, None, root, view.address, view.bytes)
        return data

    def allreduce(self, values, operation="sum"):
        """Collective: the sum, "min" or "max" over all ranks, element by element, comes to the writable
        buffer values. Returns values. Team has all collectives."""
        with Numbers(values, writable=True) as view:
            library.tern_team_allreduce(self.worker, None, view.type, reduction(operation), view.address, view.count)
        return values

    def progress(self):
        """Serves other ranks. A rank that computes for long calls it now and then."""
        return library.tern_progress(self.worker)

    # ---- atomics ----

    def _atomic(self, name, pointer, width, *operands):
        word = ctypes.c_uint64 if width == 8 else ctypes.c_uint32
        before = word()
        getattr(library, f"tern_atomic_{name}{'' if width == 8 else '32'}")(
            self.worker, pointer, *(word(operand) for operand in operands), byref(before))
        return before.value

    fetch_add = _fetching("fetch_add")
    fetch_and = _fetching("fetch_and")
    fetch_or = _fetching("fetch_or")
    fetch_xor = _fetching("fetch_xor")
    swap = _fetching("swap")

    def compare_swap(self, pointer, expected, desired, width=8):
        """Stores desired if the word is expected; returns the word before."""
        return self._atomic("cas", pointer, width, expected, desired)

    def load(self, pointer, width=8):
        return self._atomic("load", pointer, width)

    def store(self, pointer, word, width=8):
        if width == 8:
            library.tern_atomic_store(self.worker, pointer, ctypes.c_uint64(word))
        else:
            library.tern_atomic_store32(self.worker, pointer, ctypes.c_uint32(word))
