"""What tables, maps and queues have in common."""

import ctypes
from contextlib import contextmanager
from ctypes import byref

from ._library import ERR_NOT_FOUND, Error


class Object:
    """An object that all ranks create and close together."""

    def __init__(self, context, create, destroy, options):
        self._object, self._destroy, self._context = ctypes.c_void_p(), destroy, context
        create(context.worker, byref(options), byref(self._object))
        context._objects.append(self)

    @property
    def _worker(self):
        return self._context.worker

    def close(self):
        """Collective."""
        if self in self._context._objects:
            self._destroy(self._worker, self._object)
            self._context._objects.remove(self)
            self._object = None

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is None:
            self.close()

    def _number(self, function):
        """A number that a function of C tells of the object."""
        number = ctypes.c_uint64()
        function(self._worker, self._object, byref(number))
        return number.value


@contextmanager
def absent(key):
    """Raises KeyError where tern says that there is no such key."""
    try:
        yield
    except Error as error:
        if error.status == ERR_NOT_FOUND:
            raise KeyError(key) from None
        raise


class Keyed(Object):
    """What is used like a dict; it has find, insert and erase."""

    def __getitem__(self, key):
        return self.find(key)

    def __setitem__(self, key, value):
        self.insert(key, value)

    def __delitem__(self, key):
        self.erase(key)

    def __contains__(self, key):
        try:
            self.find(key)
        except KeyError:
            return False
        return True

    def get(self, key, default=None):
        try:
            return self.find(key)
        except KeyError:
            return default
