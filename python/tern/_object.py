"""What tables, maps and queues have in common."""

import ctypes
import os
from contextlib import contextmanager
from ctypes import byref

from ._data import as_bytes
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
    """What is used like a dict; it has find, insert and erase. path: of the file that it begins with, of
    which load fills file, a structure; the note of that file becomes the attribute note."""

    def __init__(self, context, create, destroy, options, load, path, file):
        def begin(worker, options, made):
            if path is None:
                create(worker, options, made)
            else:
                load(worker, os.fsencode(path), options, byref(file), made)
        super().__init__(context, begin, destroy, options)
        self.note = bytes(file.note[:file.note_bytes])

    def _save(self, function, path, note):
        note = as_bytes(note)
        function(self._worker, self._object, os.fsencode(path), note, len(note))

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
