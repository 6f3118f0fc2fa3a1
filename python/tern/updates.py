"""Typed updates of arrays in the memory of a rank."""

import struct

from ._data import Numbers, Plain, number_type, reduction
from ._library import library
from .request import both


class Updates:
    """Part of Context. Each number is updated atomically by itself. operation: "sum", "min", "max", "product", "and",
    "or", "xor" or "replace". The numbers are integers of 4 or 8 bytes, floating point or complex numbers, of single or
    double precision, in contiguous buffers (include/tern/number.h)."""

    def _accumulate(self, held, pointer, values, operation="sum"):
        """Combines the numbers at a place with those of the buffer values. Waits if they are on another node."""
        numbers = held.enter_context(Numbers(values))
        return "tern_accumulate", (pointer, numbers.address, numbers.count, numbers.type, reduction(operation)), None

    accumulate, accumulate_start = both(_accumulate)

    def _get_accumulate(self, held, pointer, values, old, operation="sum"):
        """Does the same, stores the numbers as they were before in the writable buffer old, and returns old. It may
        be values itself."""
        numbers = held.enter_context(Numbers(values))
        before = held.enter_context(Numbers(old, writable=True))
        if (before.type, before.count) != (numbers.type, numbers.count):
            raise ValueError("values and old differ in the type of their numbers, or in how many there are")
        return ("tern_get_accumulate", (pointer, numbers.address, before.address, numbers.count, numbers.type,
                                        reduction(operation)), old)

    get_accumulate, get_accumulate_start = both(_get_accumulate)

    def fetch(self, pointer, operand, operation="sum", form=None):
        """Combines one number at a place with operand, and returns what it was. form: its format, as of a buffer: "i",
        "I", "q", "Q", "f", "d", "Zf" or "Zd"; None: "q", "d" or "Zd", by the type of operand."""
        if form is None:
            form = "q" if isinstance(operand, int) else "d" if isinstance(operand, float) else "Zd"
        is_complex = form[:1] == "Z"
        codec = struct.Struct("=2" + form[1:] if is_complex else "=" + form)
        number = number_type(form, codec.size)
        if number is None:
            raise ValueError(f"{form!r} is no format of numbers that can be updated")
        data = bytearray(codec.pack(operand.real, operand.imag) if is_complex else codec.pack(operand))
        with Plain(data, writable=True) as at:
            library.tern_get_accumulate(self.worker, pointer, at.address, at.address, 1, number, reduction(operation))
        before = codec.unpack(data)
        return complex(*before) if is_complex else before[0]
