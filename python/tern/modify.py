"""Functions of Python that change values of tables and maps where they lie."""

import ctypes
import functools
import pickle

from ._data import Codec, as_bytes
from ._library import (ABSENT_FAIL, ABSENT_INSERT, HANDLER, MAP_MODIFY, MODIFY, Function, MapModifier, Modifier,
                       ModifyOptions, library)
from .call import failure

_made = []  # tern keeps their addresses until the process ends
_codec = functools.lru_cache(None)(Codec)


def modify_options(form, arguments, insert):
    """What travels to a modifier, which is the format of the table's values and the arguments; and what
    becomes of a key that is not there."""
    data = pickle.dumps((form, arguments))
    return ModifyOptions(data, len(data), ABSENT_INSERT if insert else ABSENT_FAIL)


class modifier:
    """A decorator for functions that HashTable.modify and Map.modify run on the value of a key:

        @tern.modifier
        def scale(value, by):
            return value * by

        table.modify(7, scale, 2.0)

    The function returns the new value; value is None for a key that is inserted. For a table it runs at
    the key's owner, for a map at the owner or here. No other operation on the key comes in between. For a
    map it may run more than once, so it has no other effect. After an exception nothing has changed, and
    modify raises an Error. The rules of tern.function hold: every rank defines the same modifiers before
    it creates its context, and they must not wait, nor use the table."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        name = f"{function.__module__}.{function.__qualname__}"
        self._of_tables = self._register(Modifier, MODIFY(self._change_table), f"{name} of tables",
                                         library.tern_internal_hashtable_run_modifier)
        self._of_maps = self._register(MapModifier, MAP_MODIFY(self._change_map), f"{name} of maps",
                                       library.tern_internal_map_run_modifier)
        _made.append(self)

    def __call__(self, value, *arguments):
        return self._function(value, *arguments)

    @staticmethod
    def _register(kind, change, name, run):
        def by_call(call, message, size):
            return run(call, message, size, change)

        call = Function(name=name.encode(), handler=HANDLER(by_call))
        library.tern_function_register(ctypes.byref(call))
        return kind(function=change, call=ctypes.pointer(call))

    def _change_table(self, info, value):
        try:
            info = info.contents
            form, arguments = pickle.loads(ctypes.string_at(info.argument, info.argument_bytes))
            codec = _codec(form)
            old = codec.decode(ctypes.string_at(value, codec.bytes)) if info.existed else None
            ctypes.memmove(value, codec.encode(self._function(old, *arguments)), codec.bytes)
            return 0
        except BaseException as error:
            return failure(None, error)

    def _change_map(self, info):
        try:
            at = info.contents
            _, arguments = pickle.loads(ctypes.string_at(at.argument, at.argument_bytes))
            old = ctypes.string_at(at.value, at.value_bytes) if at.existed else None
            new = as_bytes(self._function(old, *arguments))
            library.tern_map_resize(info, len(new))
            ctypes.memmove(at.value, new, len(new))
            return 0
        except BaseException as error:
            return failure(None, error)
