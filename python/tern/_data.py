"""How Python's objects become bytes for tern: buffers in place, and keys and values by struct."""

import ctypes
import struct
from contextlib import contextmanager


class _Buffer(ctypes.Structure):
    """Py_buffer of Python's C interface."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_SIMPLE, _WRITABLE = 0, 1


@contextmanager
def buffer(data, writable=False):
    """The address and the bytes of an object with the buffer protocol, whose memory is contiguous."""
    view = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(view),
                                        ctypes.c_int(_WRITABLE if writable else _SIMPLE))
    try:
        yield view.buf, view.len
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


def as_bytes(data):
    """Text as UTF-8, or the bytes of a buffer."""
    return data.encode() if isinstance(data, str) else bytes(memoryview(data))


class Codec:
    """Objects as bytes of one length, by a format of the module struct without padding: one item is
    the object itself, several are a tuple. Text of a single "<n>s" may be str, which becomes UTF-8;
    it comes back as bytes, without the zeros that fill it up."""

    def __init__(self, form):
        self.form = form
        self._struct = struct.Struct(form if form[:1] in "@=<>!" else "=" + form)
        self.bytes = self._struct.size
        self._single = len(self._struct.unpack(bytes(self.bytes))) == 1
        self._text = self._single and form[-1:] == "s"

    def encode(self, value):
        if self._text:
            text = value.encode() if isinstance(value, str) else bytes(value)
            if len(text) > self.bytes:
                raise ValueError(f"{value!r} has {len(text)} bytes, and the table has room for {self.bytes}")
            return text.ljust(self.bytes, b"\0")
        return self._struct.pack(value) if self._single else self._struct.pack(*value)

    def decode(self, data):
        items = self._struct.unpack(data)
        if self._text:
            return items[0].rstrip(b"\0")
        return items[0] if self._single else items
