"""Operations that start and return."""

import ctypes
import functools
import inspect
from contextlib import ExitStack
from ctypes import byref

from ._library import ERR_PEER, Error, RawRequest, library

_lost = []  # memory that MPI may still use after the other rank has died


class Request:
    """An operation that has started; what starts one returns it. Until it is complete, its data must not be changed,
    and where data comes back not be read. The data is kept for so long, also if the program drops the request.
    Closing the context waits for requests that are left."""

    def __init__(self, owner, start, arguments, held, result):
        """start(worker, *arguments, request) starts it. held: an ExitStack that keeps its data. result: what wait
        returns."""
        self._raw, self._owner, self._result, self._error = RawRequest(), owner, result, None
        start(owner.worker, *arguments, byref(self._raw))
        self._held, self._arguments = held.pop_all(), arguments
        owner._requests.add(self)

    def wait(self):
        """Waits until it is complete, making progress. Returns what the blocking function returns, or raises its
        error."""
        if self in self._owner._requests:
            try:
                library.tern_wait(self._owner.worker, byref(self._raw))
            except Error as error:
                if not self._is_complete():  # called where nothing may wait
                    raise
                self._error = error
            self._end()
        if self._error is not None:
            raise self._error
        return self._result

    def test(self):
        """Whether it is complete. Makes progress and never waits for another rank. Raises the error of an operation
        that has failed."""
        if self in self._owner._requests and not self._is_complete():
            return False
        self.wait()
        return True

    def _is_complete(self):
        done = ctypes.c_int()
        library.tern_test(self._owner.worker, byref(self._raw), byref(done))
        return done.value != 0

    def _end(self):
        self._owner._requests.remove(self)
        if self._error is not None and self._error.status == ERR_PEER:
            _lost.append(self._held)
        else:
            self._held.close()
        self._held = self._arguments = None


def both(prepare):
    """Makes two methods of one that prepares an operation: one that waits and one that starts.
    prepare(self, held, ...) enters the views of its data into held, an ExitStack, and returns the name of a function
    of C, its arguments behind the worker, and what the operation returns."""
    name = prepare.__name__.lstrip("_")

    @functools.wraps(prepare)
    def wait(self, *arguments, **named):
        with ExitStack() as held:
            function, passed, result = prepare(self, held, *arguments, **named)
            getattr(library, function)(self.worker, *passed)
            return result

    @functools.wraps(prepare)
    def start(self, *arguments, **named):
        with ExitStack() as held:
            function, passed, result = prepare(self, held, *arguments, **named)
            return Request(self._owner, getattr(library, function + "_start"), passed, held, result)

    shown = inspect.signature(prepare)
    shown = shown.replace(parameters=[each for each in shown.parameters.values() if each.name not in ("held", "_held")])
    wait.__signature__ = start.__signature__ = shown
    wait.__name__, start.__name__ = name, name + "_start"
    start.__doc__ = f"Starts {name} and returns a Request, whose wait returns the same."
    return wait, start
