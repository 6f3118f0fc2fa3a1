"""Functions of Python that other ranks call."""

import ctypes
import functools
import pickle

from ._library import ERR_AGAIN, ERR_STATE, HANDLER, RESULT_MAX, Error, library
from ._library import Function as _Function

def failure(call, error):
    """What a handler returns for an exception. ctypes would print an exception and return 0, so none may
    leave."""
    status = error.status if isinstance(error, Error) else ERR_STATE
    # tern would run the call again for it, and the function has run.
    status = ERR_STATE if status == ERR_AGAIN else status
    return library.tern_call_fail(call, status, b"%s", f"{type(error).__name__}: {error}".encode())


_registered = []  # tern keeps their addresses until the process ends


class Function:
    """What tern.function makes of a function."""

    def __init__(self, function, result_bytes):
        functools.update_wrapper(self, function)
        self._function, self._result_bytes = function, result_bytes
        name = f"{function.__module__}.{function.__qualname__}".encode()
        self._registration = _Function(name=name, handler=HANDLER(self._handler))
        _registered.append(self)
        library.tern_function_register(ctypes.byref(self._registration))

    def __call__(self, *arguments, **named):
        return self._function(*arguments, **named)

    def _handler(self, call, arguments, size):
        try:
            positional, named = pickle.loads(ctypes.string_at(arguments, size))
            result = pickle.dumps(self._function(*positional, **named))
            if len(result) > RESULT_MAX:
                library.tern_call_result(call, len(result))
            ctypes.memmove(call.contents.result, result, len(result))
            call.contents.result_bytes = len(result)
            return 0
        except BaseException as error:
            return failure(call, error)

    def _send(self, worker, target, *arguments):
        data = pickle.dumps(arguments)
        library.tern_call(worker, target, ctypes.byref(self._registration), data, len(data))

    def _ask(self, worker, target, *arguments):
        data, size = pickle.dumps(arguments), ctypes.c_size_t()
        result = ctypes.create_string_buffer(self._result_bytes)
        library.tern_call_return(worker, target, ctypes.byref(self._registration), data, len(data), result,
                                 self._result_bytes, ctypes.byref(size))
        return pickle.loads(memoryview(result)[:size.value])


def function(made=None, *, result_bytes=1 << 16):
    """A decorator for functions that Context.call and Context.call_return run on other ranks:

        @tern.function
        def add(a, b):
            return a + b

    Every rank defines the same functions before it creates its context. Arguments and result are
    pickled; result_bytes is the room for the pickled result. The function runs while the other rank
    makes progress, with Python's lock. It may call, put and use atomics, and must not wait."""
    if made is None:
        return lambda later: Function(later, result_bytes)
    return Function(made, result_bytes)
