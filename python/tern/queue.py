"""Bounded queues in the memory of one rank, which every rank uses."""

import ctypes
from ctypes import byref
from queue import Empty, Full

from ._data import Codec, buffer
from ._library import ERR_EMPTY, ERR_FULL, ERR_TIMEOUT, Error, QueueOptions, library
from ._object import Object


class Queue(Object):
    """All ranks create it together. item: a format of the module struct (tern._data.Codec).

    Without a free slot, push raises queue.Full, as soon as it has waited for timeout seconds; None:
    it waits for one. pop does so with queue.Empty. In a phase of pushes or pops alone (flags
    tern.WRITE_ONLY and tern.READ_ONLY) neither waits."""

    def __init__(self, context, item, capacity=1024, host=0, call_only=False):
        self._item = Codec(item)
        options = QueueOptions(host=host, item_bytes=self._item.bytes, capacity=capacity, call_only=call_only)
        super().__init__(context, library.tern_queue_create, library.tern_queue_destroy, options)

    def push(self, item, timeout=None, flags=0):
        self._do("push", self._item.encode(item), timeout, flags)

    def pop(self, timeout=None, flags=0):
        item = ctypes.create_string_buffer(self._item.bytes)
        self._do("pop", item, timeout, flags)
        return self._item.decode(item.raw)

    def _do(self, name, item, timeout, flags):
        try:
            if timeout is None:
                getattr(library, f"tern_queue_{name}")(self._worker, self._object, item, flags)
            elif timeout == 0:
                getattr(library, f"tern_queue_try_{name}")(self._worker, self._object, item, flags)
            else:
                getattr(library, f"tern_queue_{name}_timed")(self._worker, self._object, item, timeout, flags)
        except Error as error:
            if error.status in (ERR_FULL, ERR_EMPTY, ERR_TIMEOUT):
                raise (Full if name == "push" else Empty) from None
            raise

    def push_many(self, items, flags=0):
        """Pushes as many items of a buffer as fit, the first ones, and returns how many those are."""
        with buffer(items) as (address, size):
            return self._many(library.tern_queue_push_many, address, size, flags)

    def pop_many(self, items, flags=0):
        """Pops up to as many items as the writable buffer has room for, and returns how many."""
        with buffer(items, writable=True) as (address, size):
            return self._many(library.tern_queue_pop_many, address, size, flags)

    def _many(self, function, address, size, flags):
        done = ctypes.c_size_t()
        try:
            function(self._worker, self._object, address, size // self._item.bytes, flags, byref(done))
        except Error as error:
            if error.status not in (ERR_FULL, ERR_EMPTY):
                raise
        return done.value

    def size(self):
        count = ctypes.c_uint64()
        library.tern_queue_size(self._worker, self._object, byref(count))
        return count.value
