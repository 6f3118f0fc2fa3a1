"""Hash tables that are spread over all ranks."""

import ctypes
from ctypes import byref

from ._data import Codec, buffer
from ._library import VISIT, HashTableFile, HashTableOptions, library
from ._object import Keyed, absent
from .modify import modify_options


class HashTable(Keyed):
    """All ranks create it together. Used like a dict, by each rank alone:

        table = tern.HashTable(context, key="q", value="d", capacity=1000)
        table[7] = 0.5

    key, value: formats of the module struct (tern._data.Codec). counter: the table has counters in
    place of values, for add. capacity: keys of the whole table; it grows beyond that unless grow is
    False. flags, of any operation: tern.WRITE_ONLY and others (include/tern/container.h). path: a file that
    save wrote, with the same formats, whose keys the table begins with; note is then that of the file."""

    def __init__(self, context, key, value=None, counter=False, capacity=1024, grow=True, call_only=False,
                 path=None):
        self._key = Codec(key)
        self._value = Codec("Q" if counter else value if value is not None else "0s")
        options = HashTableOptions(key_bytes=self._key.bytes, counter=counter, capacity=capacity, grow=grow,
                                   value_bytes=0 if counter else self._value.bytes, call_only=call_only)
        super().__init__(context, library.tern_hashtable_create, library.tern_hashtable_destroy, options,
                         library.tern_hashtable_load, path, HashTableFile())

    def save(self, path, note=b""):
        """Collective: stores the table in a file, with a note of up to 256 bytes or text."""
        self._save(library.tern_hashtable_save, path, note)

    def insert(self, key, value, flags=0):
        """Stores value under key. Returns whether the key is new."""
        existed = ctypes.c_int()
        library.tern_hashtable_insert(self._worker, self._object, self._key.encode(key),
                                      self._value.encode(value), flags, byref(existed))
        return not existed.value

    def insert_new(self, key, value, flags=0):
        """The same, but a value that is there is left alone."""
        existed = ctypes.c_int()
        library.tern_hashtable_insert_new(self._worker, self._object, self._key.encode(key),
                                          self._value.encode(value), flags, byref(existed))
        return not existed.value

    def add(self, key, delta=1, flags=0):
        """Adds to the counter of key, which is 0 at first. Returns the counter before."""
        before = ctypes.c_uint64()
        library.tern_hashtable_add(self._worker, self._object, self._key.encode(key), delta, flags,
                                   byref(before))
        return before.value

    def compare_swap(self, key, expected, desired, flags=0):
        """Makes the counter of key desired if it is expected. Returns the counter before. KeyError: there
        is no such key."""
        before = ctypes.c_uint64()
        with absent(key):
            library.tern_hashtable_compare_swap(self._worker, self._object, self._key.encode(key), expected,
                                                desired, flags, byref(before))
        return before.value

    def modify(self, key, modifier, *arguments, insert=False, flags=0):
        """Has the owner of key make its value modifier(value, *arguments) (tern.modifier). insert: a key
        that is not there is inserted, and value is None. KeyError: there is no such key."""
        options = modify_options(self._value.form, arguments, insert)
        with absent(key):
            library.tern_hashtable_modify(self._worker, self._object, self._key.encode(key),
                                          byref(modifier._of_tables), byref(options), flags, None)

    def find(self, key, flags=0):
        """The value or counter of key. KeyError: there is no such key."""
        found = ctypes.create_string_buffer(max(self._value.bytes, 1))
        with absent(key):
            library.tern_hashtable_find(self._worker, self._object, self._key.encode(key), flags, found)
        return self._value.decode(found.raw[:self._value.bytes])

    def erase(self, key, flags=0):
        """KeyError: there is no such key."""
        with absent(key):
            library.tern_hashtable_erase(self._worker, self._object, self._key.encode(key), flags)

    def owner(self, key):
        """The rank that owns key."""
        return library.tern_hashtable_owner(self._object, self._key.encode(key))

    # ---- many keys: buffers with one key, or value, behind the other ----

    def add_many(self, keys, delta=1, flags=0):
        with buffer(keys) as (address, size):
            library.tern_hashtable_add_many(self._worker, self._object, address, self._count(size), delta,
                                            flags, None)

    def insert_many(self, keys, values, flags=0):
        with buffer(keys) as (address, size), buffer(values) as (source, room):
            count = self._count(size)
            self._fits(room, count)
            library.tern_hashtable_insert_many(self._worker, self._object, address, source, count, flags, None)

    def find_many(self, keys, values, flags=0):
        """Fills the writable buffer values. Returns a bytes object with 1 for each key that is there;
        the values of others stay as they are."""
        with buffer(keys) as (address, size), buffer(values, writable=True) as (to, room):
            count = self._count(size)
            self._fits(room, count)
            found = (ctypes.c_uint8 * count)()
            library.tern_hashtable_find_many(self._worker, self._object, address, count, flags, to, found, None)
        return bytes(found)

    def _count(self, size):
        if size % self._key.bytes != 0:
            raise ValueError(f"{size} bytes of keys are no multiple of {self._key.bytes}")
        return size // self._key.bytes

    def _fits(self, room, count):
        if room != count * self._value.bytes:
            raise ValueError(f"{count} keys have {count * self._value.bytes} bytes of values, not {room}")

    # ---- all keys; no rank may change the table meanwhile ----

    def _walk(self, walk):
        items = []

        def visit(key, value, _argument):
            items.append((ctypes.string_at(key, self._key.bytes), ctypes.string_at(value, self._value.bytes)))
            return 0

        walk(self._worker, self._object, VISIT(visit), None)
        return [(self._key.decode(key), self._value.decode(value)) for key, value in items]

    def items(self):
        """A list of the keys of all ranks with their values. Any rank may call it alone, while the
        others make progress."""
        return self._walk(library.tern_hashtable_for_each_anywhere)

    def local_items(self):
        """The same of this rank's part."""
        return self._walk(library.tern_hashtable_for_each)

    def local_size(self):
        return self._number(library.tern_hashtable_local_size)

    def size(self):
        """Collective: the keys of the whole table."""
        return self._number(library.tern_hashtable_size)

    def clear(self):
        """Collective."""
        library.tern_hashtable_clear(self._worker, self._object)
