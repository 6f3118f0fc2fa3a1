"""Waiting for words of memory."""

import ctypes
from ctypes import byref

from ._data import Plain, number_type
from ._library import (EQUAL, GREATER, GREATER_EQUAL, GREATER_EQUAL_SIGNED, GREATER_SIGNED, INT32, INT64, LESS,
                       LESS_EQUAL, LESS_EQUAL_SIGNED, LESS_SIGNED, NO_WORD, NOT_EQUAL, UINT32, UINT64, Pointer,
                       WordList, library)

_UNSIGNED = {"==": EQUAL, "!=": NOT_EQUAL, "<": LESS, "<=": LESS_EQUAL, ">": GREATER, ">=": GREATER_EQUAL}
_SIGNED = {"==": EQUAL, "!=": NOT_EQUAL, "<": LESS_SIGNED, "<=": LESS_EQUAL_SIGNED, ">": GREATER_SIGNED,
           ">=": GREATER_EQUAL_SIGNED}


def _comparison(text, is_signed):
    names = _SIGNED if is_signed else _UNSIGNED
    if text not in names:
        raise ValueError(f"{text!r} is no comparison; they are {' '.join(names)}")
    return names[text]


class _Words(Plain):
    """A View of integers of 4 or 8 bytes."""

    def __init__(self, data):
        super().__init__(data)
        self.type = number_type(self.format, self.item_bytes)
        if self.type not in (INT32, INT64, UINT32, UINT64):
            self.release()
            raise TypeError("the words are no integers of 4 or 8 bytes")
        self.is_signed = self.type in (INT32, INT64)
        self.count = self.bytes // self.item_bytes


class Waits:
    """Part of Context. Words are integers of 4 or 8 bytes in memory of this process, which other ranks put or change by
    atomics. The waits make progress and end with ERR_PEER when a rank dies. comparison: "==", "!=", "<", "<=", ">" or
    ">=", of the word with the value."""

    def wait_until(self, word, comparison, value, width=8, signed=False):
        """Waits until a word satisfies the comparison. What its writer put before it, with a fence between, is there
        then. word: a Pointer to memory that this process reaches, of so many bytes, or a buffer with one integer,
        which has its own size and sign."""
        with _One(self._context, word, width, signed) as one:
            getattr(library, "tern_wait_until" + one.suffix)(self.worker, one.address,
                                                             _comparison(comparison, one.is_signed), int(value))

    def test_until(self, word, comparison, value, width=8, signed=False):
        """Whether a word satisfies the comparison. Makes progress and never waits for another rank."""
        holds = ctypes.c_int()
        with _One(self._context, word, width, signed) as one:
            getattr(library, "tern_test_until" + one.suffix)(
                self.worker, one.address, _comparison(comparison, one.is_signed), int(value), byref(holds))
        return holds.value != 0

    def wait_until_all(self, words, comparison, value, skip=None, peer=None):
        """Waits until each integer of the buffer words has satisfied the comparison once. value: an integer, or a
        buffer with one of the same type for each word. skip: for each word whether it is left out. peer: the rank
        that changes them, whose death ends the wait; None: that of any rank does."""
        with _Words(words) as view:
            library.tern_wait_until_all(self.worker, byref(_word_list(view, comparison, value, skip, peer)))

    def test_until_all(self, words, comparison, value, skip=None, peer=None):
        """Whether each word satisfies the comparison."""
        holds = ctypes.c_int()
        with _Words(words) as view:
            library.tern_test_until_all(self.worker, byref(_word_list(view, comparison, value, skip, peer)),
                                        byref(holds))
        return holds.value != 0

    def wait_until_any(self, words, comparison, value, skip=None, peer=None, start=0):
        """Waits until a word satisfies the comparison, and returns its index; None, without a wait, if all are left
        out. start: where the search begins."""
        return self._any(library.tern_wait_until_any, words, comparison, value, skip, peer, start)

    def test_until_any(self, words, comparison, value, skip=None, peer=None, start=0):
        """The index of a word that satisfies the comparison, or None."""
        return self._any(library.tern_test_until_any, words, comparison, value, skip, peer, start)

    def wait_until_some(self, words, comparison, value, skip=None, peer=None):
        """Waits until a word satisfies the comparison, and returns the indices of all that do."""
        return self._some(library.tern_wait_until_some, words, comparison, value, skip, peer)

    def test_until_some(self, words, comparison, value, skip=None, peer=None):
        """The indices of all words that satisfy the comparison."""
        return self._some(library.tern_test_until_some, words, comparison, value, skip, peer)

    def _any(self, function, words, comparison, value, skip, peer, start):
        index = ctypes.c_size_t()
        with _Words(words) as view:
            function(self.worker, byref(_word_list(view, comparison, value, skip, peer)), start, byref(index))
        return None if index.value == NO_WORD else index.value

    def _some(self, function, words, comparison, value, skip, peer):
        found = ctypes.c_size_t()
        with _Words(words) as view:
            indices = (ctypes.c_size_t * view.count)()
            function(self.worker, byref(_word_list(view, comparison, value, skip, peer)), indices, byref(found))
        return indices[:found.value]


class _One:
    """The word that a wait is for."""

    def __init__(self, context, word, width, signed):
        self._view = None
        if isinstance(word, Pointer):
            self.address, self.is_signed = library.tern_local(context, word), signed
            if not self.address:
                raise ValueError("this process does not reach the word")
        else:
            self._view = _Words(word)
            self.address, width, self.is_signed = self._view.address, self._view.item_bytes, self._view.is_signed
            if self._view.count != 1:
                self._view.release()
                raise ValueError("the buffer has more or less than one word")
        if width not in (4, 8):
            raise ValueError("a word has 4 or 8 bytes")
        self.suffix = "" if width == 8 else "32"

    def __enter__(self):
        return self

    def __exit__(self, _kind, _error, _trace):
        if self._view is not None:
            self._view.release()


def _word_list(view, comparison, value, skip, peer):
    """What C is told of the words. It keeps copies of the values and of what to skip."""
    told = WordList(words=view.address, count=view.count, width=view.item_bytes,
                    comparison=_comparison(comparison, view.is_signed))
    if hasattr(value, "__index__") and not getattr(value, "shape", ()):
        told.value = int(value)
    else:
        with _Words(value) as values:
            if (values.type, values.count) != (view.type, view.count):
                raise ValueError("the values differ from the words in type, or in how many there are")
            told.copy = ctypes.create_string_buffer(ctypes.string_at(values.address, values.bytes), values.bytes)
        told.values = ctypes.addressof(told.copy)
    if skip is not None:
        if len(skip) != view.count:
            raise ValueError("skip says something of more or fewer words than there are")
        told.skipped = (ctypes.c_int * view.count)(*(1 if left_out else 0 for left_out in skip))
        told.skip = ctypes.addressof(told.skipped)
    if peer is not None:
        told.peer = ctypes.pointer(ctypes.c_uint32(peer))
    return told
