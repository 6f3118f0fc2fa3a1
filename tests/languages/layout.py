"""Prints what tests/languages/layout.c prints, from the package tern. What the package does not repeat
it prints as the program whose name it is given does."""

import ctypes
import subprocess
import sys

from tern import _library

types = {"tern_worker_id": _library.WorkerId, "tern_ptr": _library.Pointer, "tern_event": _library.RawEvent,
         "tern_notify_options": _library.NotifyOptions, "tern_modify_options": _library.ModifyOptions,
         "tern_hashtable_options": _library.HashTableOptions, "tern_map_options": _library.MapOptions,
         "tern_map_item": _library.MapItem, "tern_map_slot": _library.MapSlot,
         "tern_queue_options": _library.QueueOptions, "tern_call_info": _library.CallInfo, "tern_function": _library.Function,
         "tern_hashtable_modify_info": _library.ModifyInfo, "tern_map_modify_info": _library.MapModifyInfo,
         "tern_hashtable_modifier": _library.Modifier, "tern_map_modifier": _library.MapModifier,
         "tern_section": _library.RawSection, "tern_word_list": _library.WordList, "tern_request": _library.RawRequest,
         "tern_hashtable_file": _library.HashTableFile, "tern_map_file": _library.MapFile}
constants = {f"TERN_{name}": value for name, value in vars(_library).items() if isinstance(value, int)}
constants.update({f"TERN_{name}": value for value, name in enumerate(_library.STATUSES)})
constants["TERN_STATUS_COUNT"] = len(_library.STATUSES)

known = 0
for line in subprocess.run(sys.argv[1], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
    name = line.split()[0]
    kind, _, field = name.partition(".")
    if kind in types:
        value = getattr(types[kind], field).offset if field else ctypes.sizeof(types[kind])
    elif name in constants:
        value = constants[name]
    else:
        print(line)
        continue
    print(name, value)
    known += 1
assert known > 170, known
