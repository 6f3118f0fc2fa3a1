"""Bounded queues: in the memory of one rank, and spread over all of them."""

import ctypes
from ctypes import byref
from queue import Empty, Full

from ._data import Codec, buffer
from ._library import ERR_DONE, ERR_EMPTY, ERR_FULL, ERR_TIMEOUT, Error, QueueOptions, library
from ._object import Object


class Done(Exception):
    """All work of a DistributedQueue is done, on all ranks."""


def _do(function, *arguments):
    """Calls a function of C. Full, Empty and Done are no tern.Error."""
    try:
        function(*arguments)
    except Error as error:
        if error.status == ERR_DONE:
            raise Done from None
        if error.status in (ERR_FULL, ERR_EMPTY, ERR_TIMEOUT):
            raise (Full if "push" in function.__name__ else Empty) from None
        raise


class _Items(Object):
    """What both kinds of queues have. kind: of the names of their functions."""

    def __init__(self, context, kind, item, **options):
        self._kind, self._item = kind, Codec(item)
        options = QueueOptions(item_bytes=self._item.bytes, **options)
        super().__init__(context, self._function("create"), self._function("destroy"), options)

    def _function(self, name):
        return getattr(library, f"tern_{self._kind}_{name}")

    def push_many(self, items, flags=0):
        """Pushes as many items of a buffer as fit, the first ones, and returns how many those are."""
        with buffer(items) as (address, size):
            return self._many("push_many", address, size, flags)

    def pop_many(self, items, flags=0):
        """Pops up to as many items as the writable buffer has room for, and returns how many. Waits for
        none."""
        with buffer(items, writable=True) as (address, size):
            return self._many("pop_many", address, size, flags)

    def _many(self, name, address, size, flags):
        done = ctypes.c_size_t()
        try:
            _do(self._function(name), self._worker, self._object, address, size // self._item.bytes, flags,
                byref(done))
        except (Full, Empty):
            pass
        return done.value

    def size(self):
        """The number of items now."""
        return self._number(self._function("size"))


class Queue(_Items):
    """All ranks create it together. item: a format of the module struct (tern._data.Codec).

    Without a free slot, push raises queue.Full, as soon as it has waited for timeout seconds; None:
    it waits for one. pop does so with queue.Empty. In a phase of pushes or pops alone (flags
    tern.WRITE_ONLY and tern.READ_ONLY) neither waits."""

    def __init__(self, context, item, capacity=1024, host=0, call_only=False):
        super().__init__(context, "queue", item, host=host, capacity=capacity, call_only=call_only)

    def push(self, item, timeout=None, flags=0):
        self._one("push", self._item.encode(item), timeout, flags)

    def pop(self, timeout=None, flags=0):
        item = ctypes.create_string_buffer(self._item.bytes)
        self._one("pop", item, timeout, flags)
        return self._item.decode(item.raw)

    def _one(self, name, item, timeout, flags):
        if timeout is None:
            _do(self._function(name), self._worker, self._object, item, flags)
        elif timeout == 0:
            _do(self._function(f"try_{name}"), self._worker, self._object, item, flags)
        else:
            _do(self._function(f"{name}_timed"), self._worker, self._object, item, timeout, flags)


class DistributedQueue(_Items):
    """A part in the memory of each rank. All ranks create it together. A rank pops from its own part,
    and from the others' when that is empty. Each rank pushes its first items, and then takes items
    until all work is done on all ranks:

        work = tern.DistributedQueue(context, item="iq")
        work.push((1, 2))
        for item in work:
            ...  # may push

    A rank works on an item until it pops again, and pushes only while it works on one, before it pops
    for the first time, or while it holds the queue. item: as of Queue. capacity: items of each part."""

    def __init__(self, context, item, capacity=1024, call_only=False):
        super().__init__(context, "distributed_queue", item, capacity=capacity, call_only=call_only)

    def push(self, item, rank=None, flags=0):
        """To the part of a rank; None: to the own part, or to another if that is full. Full: there is no
        room."""
        if rank is None:
            _do(self._function("try_push"), self._worker, self._object, self._item.encode(item), flags)
        else:
            part = ctypes.c_void_p()
            library.tern_distributed_queue_part(self._object, rank, byref(part))
            _do(library.tern_queue_try_push, self._worker, part, self._item.encode(item), flags)

    def pop(self, timeout=None, flags=0):
        """Waits for an item. Done: all work is done. Empty: timeout seconds are over."""
        item = ctypes.create_string_buffer(self._item.bytes)
        if timeout is None:
            _do(self._function("pop"), self._worker, self._object, item, flags)
        else:
            _do(self._function("pop_timed"), self._worker, self._object, item, 1, timeout, flags,
                byref(ctypes.c_size_t()))
        return self._item.decode(item.raw)

    def __iter__(self):
        """The items that this rank gets until all work is done."""
        while True:
            try:
                item = self.pop()
            except Done:
                return
            yield item

    def hold(self):
        """Keeps the work from ending, until somebody calls release as often, on any rank."""
        self._function("hold")(self._worker, self._object)

    def release(self):
        self._function("release")(self._worker, self._object)
