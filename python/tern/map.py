"""Maps of keys and values of any size, spread over all ranks."""

import ctypes
from ctypes import byref

from ._data import as_bytes, buffer
from ._library import ERR_RANGE, MAP_KEY_MAX, MAP_VISIT, Error, MapFile, MapItem, MapOptions, MapSlot, free, library
from ._object import Keyed, absent
from .modify import modify_options


def _address(data):
    return ctypes.cast(data, ctypes.c_void_p).value


def _items(pairs):
    """An array of MapItem. The bytes of the pairs stay the caller's."""
    return (MapItem * len(pairs))(*((_address(key), _address(value), len(key), len(value))
                                    for key, value in pairs))


class Map(Keyed):
    """All ranks create it together. Used like a dict, by each rank alone:

        names = tern.Map(context)
        names["tern"] = "a sea bird"
        print(names["tern"].decode())

    A value of 8 bytes can be a number, which add and compare_swap change:

        names.add("words")
        print(int.from_bytes(names["words"], "little"))

    Keys and values are text, which becomes UTF-8, or buffers; they come back as bytes. capacity: keys
    of the whole map; it grows beyond that unless grow is False. inline_bytes: a key and value of at
    most so many bytes together lie in the table itself. flags, of any operation: as of HashTable. path: a
    file that save wrote, whose keys the map begins with; note is then that of the file."""

    def __init__(self, context, capacity=1024, grow=True, inline_bytes=0, call_only=False, path=None):
        options = MapOptions(capacity=capacity, grow=grow, inline_bytes=inline_bytes, call_only=call_only)
        super().__init__(context, library.tern_map_create, library.tern_map_destroy, options,
                         library.tern_map_load, path, MapFile())

    def save(self, path, note=b""):
        """Collective: stores the map in a file, with a note of up to 256 bytes or text."""
        self._save(library.tern_map_save, path, note)

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

    def add(self, key, delta=1, flags=0):
        """Adds to the number of key, and inserts a key that is not there. Returns the number before."""
        key, before = as_bytes(key), ctypes.c_uint64()
        library.tern_map_add(self._worker, self._object, key, len(key), delta, flags, byref(before))
        return before.value

    def compare_swap(self, key, expected, desired, flags=0):
        """Makes the number of key desired if it is expected. Returns the number before. KeyError: there
        is no such key."""
        data, before = as_bytes(key), ctypes.c_uint64()
        with absent(key):
            library.tern_map_compare_swap(self._worker, self._object, data, len(data), expected, desired,
                                          flags, byref(before))
        return before.value

    def modify(self, key, modifier, *arguments, insert=False, flags=0):
        """Makes the value of key modifier(value, *arguments) (tern.modifier). The value is bytes. insert: a
        key that is not there is inserted, and value is None. KeyError: there is no such key."""
        name, options = as_bytes(key), modify_options(None, arguments, insert)
        with absent(key):
            library.tern_map_modify(self._worker, self._object, name, len(name), byref(modifier._of_maps),
                                    byref(options), flags, None)

    def owner(self, key):
        """The rank that owns key."""
        key = as_bytes(key)
        return library.tern_map_owner(self._object, key, len(key))

    # ---- many keys ----

    def update(self, items, flags=0):
        """Stores the values of a dict, or of pairs of a key and a value."""
        pairs = [(as_bytes(key), as_bytes(value))
                 for key, value in (items.items() if hasattr(items, "items") else items)]
        library.tern_map_insert_many(self._worker, self._object, _items(pairs), len(pairs), flags, None)

    def add_many(self, keys, delta=1, flags=0):
        """Adds to the numbers of keys. One that is there twice is added to twice."""
        pairs = [(as_bytes(key), b"") for key in keys]
        library.tern_map_add_many(self._worker, self._object, _items(pairs), len(pairs), delta, flags, None)

    def find_many(self, keys, flags=0, room=64):
        """A list of the values of keys, with None for a key that is not there. A value of more than room
        bytes is looked for twice."""
        keys = [as_bytes(key) for key in keys]
        values = [None] * len(keys)
        rooms = dict.fromkeys(range(len(keys)), room)  # of the keys that are left
        while rooms:
            found = [ctypes.create_string_buffer(size) for size in rooms.values()]
            slots = (MapSlot * len(rooms))(*((_address(keys[i]), len(keys[i]), _address(to), len(to))
                                             for i, to in zip(rooms, found)))
            try:
                library.tern_map_find_many(self._worker, self._object, slots, len(slots), flags, None)
            except Error as error:
                if error.status != ERR_RANGE or max(map(len, keys)) > MAP_KEY_MAX:
                    raise
            large = {}
            for i, to, slot in zip(rooms, found, slots):
                if slot.found and slot.value_bytes > slot.room:
                    large[i] = slot.value_bytes
                elif slot.found:
                    values[i] = ctypes.string_at(to, slot.value_bytes)
            rooms = large
        return values

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
