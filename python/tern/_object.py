"""What tables and queues have in common."""

import ctypes
from ctypes import byref


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
