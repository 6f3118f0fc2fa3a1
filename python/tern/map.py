"""Maps of keys and values of any size, spread over all ranks."""

import ctypes
from ctypes import byref

from ._data import as_bytes, buffer
from ._library import MAP_VISIT, MapOptions, free, library
from ._object import Keyed, absent


class Map(Keyed):
    """All ranks create it together. Used like a dict, by each rank alone:

        names = tern.Map(context)
        names["tern"] = "a sea bird"
        print(names["tern"].decode())

    Keys and values are text, which becomes UTF-8, or buffers; they come back as bytes. capacity: keys
    of the whole map; it grows beyond that unless grow is False. inline_bytes: a key and value of at
    most so many bytes together lie in the table itself. flags, of any operation: as of HashTable."""

    def __init__(self, context, capacity=1024, grow=True, inline_bytes=0, call_only=False):
        options = MapOptions(capacity=capacity, grow=grow, inline_bytes=inline_bytes, call_only=call_only)
        super().__init__(context, library.tern_map_create, library.tern_map_destroy, options)

    def insert(self, key, value, flags=0):
        """Stores value under key. Returns whether the key is new."""
        return self._insert(library.tern_map_insert, key, value, flags)

    def insert_new(self, key, value, flags=0):
        """The same, but a value that is there is left alone."""
        return self._insert(library.tern_map_insert_new, key, value, flags)

    def _insert(self, function, key, value, flags):
        key, existed = as_bytes(key), ctypes.c_int()
        with buffer(value.encode() if isinstance(value, str) else value) as (address, size):
            function(self._worker, self._object, key, len(key), address, size, flags, byref(existed))
        return not existed.value

    def find(self, key, flags=0):
        """The value of key. KeyError: there is no such key."""
        data, value, size = as_bytes(key), ctypes.c_void_p(), ctypes.c_size_t()
        with absent(key):
            library.tern_map_find_alloc(self._worker, self._object, data, len(data), flags, byref(value),
                                        byref(size))
        try:
            return ctypes.string_at(value, size.value)
        finally:
            free(value)

    def erase(self, key, flags=0):
        """KeyError: there is no such key."""
        data = as_bytes(key)
        with absent(key):
            library.tern_map_erase(self._worker, self._object, data, len(data), flags)

    def owner(self, key):
        """The rank that owns key."""
        key = as_bytes(key)
        return library.tern_map_owner(self._object, key, len(key))

    # ---- all keys; no rank may change the map meanwhile ----

    def _walk(self, walk):
        items = []

        def visit(item, _argument):
            item = item.contents
            items.append((ctypes.string_at(item.key, item.key_bytes) if item.key_bytes else b"",
                          ctypes.string_at(item.value, item.value_bytes) if item.value_bytes else b""))
            return 0

        walk(self._worker, self._object, MAP_VISIT(visit), None)
        return items

    def items(self):
        """A list of the keys of all ranks with their values. Any rank may call it alone, while the
        others make progress."""
        return self._walk(library.tern_map_for_each_anywhere)

    def local_items(self):
        """The same of the keys that this rank owns."""
        return self._walk(library.tern_map_for_each)

    def local_size(self):
        return self._number(library.tern_map_local_size)

    def size(self):
        """Collective: the keys of the whole map."""
        return self._number(library.tern_map_size)

    def clear(self):
        """Collective."""
        library.tern_map_clear(self._worker, self._object)
