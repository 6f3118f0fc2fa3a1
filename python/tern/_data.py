"""How Python's objects become bytes for tern: buffers in place, and keys and values by struct."""

import ctypes
import struct
from contextlib import contextmanager

from ._library import (COMPLEX_DOUBLE, COMPLEX_FLOAT, DOUBLE, FLOAT, INT32, INT64, REDUCE_AND, REDUCE_MAX,
                       REDUCE_MIN, REDUCE_OR, REDUCE_PRODUCT, REDUCE_REPLACE, REDUCE_SUM, REDUCE_XOR, UINT32, UINT64)

class _Buffer(ctypes.Structure):
    """Py_buffer of Python's C interface."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_SIMPLE, _WRITABLE, _FORMAT, _STRIDES = 0, 1, 0x04, 0x18
_is_contiguous = ctypes.pythonapi.PyBuffer_IsContiguous
_is_contiguous.argtypes = [ctypes.POINTER(_Buffer), ctypes.c_char]


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


class View:
    """An object with the buffer protocol, whose memory need not be contiguous: where its elements lie. It keeps
    them there until release(), or the end of a "with"."""

    def __init__(self, data, writable=False):
        self._view = view = _Buffer()
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(view),
                                            ctypes.c_int(_FORMAT | _STRIDES | (_WRITABLE if writable else 0)))
        self.address, self.bytes, self.item_bytes = view.buf, view.len, view.itemsize
        self.is_contiguous = bool(_is_contiguous(ctypes.byref(view), b"C"))

    @property
    def format(self):
        return (self._view.format or b"B").decode()

    @property
    def shape(self):
        return _sizes(self._view.shape, self._view.ndim)

    @property
    def strides(self):
        """In bytes."""
        if not self._view.strides:
            return row_major(self.shape, self.item_bytes)
        return _sizes(self._view.strides, self._view.ndim)

    def release(self):
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(self._view))

    def __enter__(self):
        return self

    def __exit__(self, _kind, _error, _trace):
        self.release()


class Plain(View):
    """A View of contiguous memory. Other memory is a ValueError."""

    def __init__(self, data, writable=False):
        super().__init__(data, writable)
        if not self.is_contiguous:
            self.release()
            raise ValueError("the data is not contiguous: pass a copy of it")


class Numbers(Plain):
    """A View of contiguous numbers: type is their type in tern/number.h, and count how many there are."""

    def __init__(self, data, writable=False):
        super().__init__(data, writable)
        self.type = number_type(self.format, self.item_bytes)
        if self.type is None:
            form = self.format
            self.release()
            raise TypeError(f"the elements have the format {form!r}: they must be integers of 4 or 8 bytes, "
                            "or floating point or complex numbers of single or double precision")
        self.count = self.bytes // self.item_bytes


def _sizes(address, count):
    return tuple((ctypes.c_ssize_t * count).from_address(address)) if count > 0 else ()


def row_major(shape, item_bytes):
    """The strides in bytes of an array without gaps whose last index runs fastest."""
    strides = []
    for count in reversed(shape):
        strides.insert(0, item_bytes)
        item_bytes *= count
    return tuple(strides)


_NUMBERS = {("i", 4): INT32, ("i", 8): INT64, ("u", 4): UINT32, ("u", 8): UINT64, ("f", 4): FLOAT, ("f", 8): DOUBLE,
            ("Z", 8): COMPLEX_FLOAT, ("Z", 16): COMPLEX_DOUBLE}
_KINDS = {"i": "i", "l": "i", "q": "i", "n": "i", "I": "u", "L": "u", "Q": "u", "N": "u", "f": "f", "d": "f",
          "Zf": "Z", "Zd": "Z"}


def number_type(form, item_bytes):
    """The type of numbers with this format of a buffer, or None."""
    return _NUMBERS.get((_KINDS.get(form.lstrip("@=<")), item_bytes))


_REDUCTIONS = {"sum": REDUCE_SUM, "min": REDUCE_MIN, "max": REDUCE_MAX, "product": REDUCE_PRODUCT,
               "and": REDUCE_AND, "or": REDUCE_OR, "xor": REDUCE_XOR, "replace": REDUCE_REPLACE}


def reduction(name):
    """How numbers are combined, by its name."""
    if name not in _REDUCTIONS:
        raise ValueError(f"{name!r} is no operation; they are {', '.join(_REDUCTIONS)}")
    return _REDUCTIONS[name]


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
