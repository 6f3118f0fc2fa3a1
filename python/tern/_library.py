"""libtern by ctypes: where it is, its types and constants, and what turns a status into an error.

tests/languages compares the types and constants with those of the headers."""

import ctypes
import os
from ctypes import (POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint8, c_uint16,
                    c_uint32, c_uint64, c_void_p)

STATUSES = ["OK", "ERR_ARGUMENT", "ERR_CONFIG", "ERR_RANGE", "ERR_MEMORY", "ERR_FULL", "ERR_EMPTY",
            "ERR_NOT_FOUND", "ERR_EXISTS", "ERR_AGAIN", "ERR_TIMEOUT", "ERR_PEER", "ERR_STATE",
            "ERR_MISMATCH", "ERR_UNSUPPORTED", "ERR_MPI", "ERR_SYSTEM", "ERR_CORRUPT",
            "ERR_NETWORK", "ERR_DONE"]
(ERR_RANGE, ERR_FULL, ERR_EMPTY, ERR_NOT_FOUND, ERR_AGAIN, ERR_TIMEOUT, ERR_PEER, ERR_STATE, ERR_DONE) = (
    STATUSES.index("ERR_" + name)
    for name in ("RANGE", "FULL", "EMPTY", "NOT_FOUND", "AGAIN", "TIMEOUT", "PEER", "STATE", "DONE"))

DOMAIN_GLOBAL, DOMAIN_NODE, DOMAIN_OWNER = range(3)
READ_WRITE, WRITE_ONLY, READ_ONLY = 0, 1, 2
AUTO, BY_RMA, BY_CALL = 0, 8, 16
PROBE_LOCAL, PROBE_REMOTE = 1, 2
NUMA_ANY = -1
RESULT_MAX = 1024
MAP_KEY_MAX = 65536
ABSENT_FAIL, ABSENT_INSERT = 0, 1
(REDUCE_SUM, REDUCE_MIN, REDUCE_MAX, REDUCE_PRODUCT, REDUCE_AND, REDUCE_OR, REDUCE_XOR,
 REDUCE_REPLACE) = range(8)
UINT64, INT64, DOUBLE, INT32, UINT32, FLOAT, COMPLEX_FLOAT, COMPLEX_DOUBLE = range(8)
(EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, LESS_SIGNED, LESS_EQUAL_SIGNED, GREATER_SIGNED,
 GREATER_EQUAL_SIGNED) = range(10)
DIMENSIONS_MAX = 8
TEAM_UNDER_WAY = 64
TEAM_ALONE = (1 << 32) - 1
NO_WORD = c_size_t(-1).value


class Pointer(Structure):
    """A place in the memory of a rank. Plain data: bytes(pointer) may be sent to other ranks, and
    Pointer.from_buffer_copy makes a pointer of them. pointer + n is n bytes further on."""
    _fields_ = [("rank", c_uint32), ("segment", c_uint16), ("domain", c_uint16), ("offset", c_uint64)]

    def __add__(self, distance):
        return Pointer(self.rank, self.segment, self.domain, self.offset + distance)

    def on(self, rank):
        """The same place in the segment of another rank; of Context.alloc_all, that rank's piece."""
        return Pointer(rank, self.segment, self.domain, self.offset)

    def __eq__(self, other):
        return isinstance(other, Pointer) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __repr__(self):
        return f"<tern.Pointer to rank {self.rank}, offset {self.offset}>"


class RawSection(Structure):
    _fields_ = [("element_bytes", c_size_t), ("dimensions", c_uint32), ("count", c_size_t * DIMENSIONS_MAX),
                ("remote_stride", c_int64 * DIMENSIONS_MAX), ("local_stride", c_int64 * DIMENSIONS_MAX)]


class WordList(Structure):
    _fields_ = [("words", c_void_p), ("count", c_size_t), ("width", c_size_t), ("comparison", c_int),
                ("value", c_uint64), ("values", c_void_p), ("skip", c_void_p), ("peer", POINTER(c_uint32))]


class RawRequest(Structure):
    """Only its size is known here."""
    _fields_ = [("own", c_uint64 * 8)]


class NotifyOptions(Structure):
    _fields_ = [("local_cid", c_uint64), ("cid", c_char_p), ("cid_bytes", c_size_t), ("flags", c_int)]


class ModifyOptions(Structure):
    _fields_ = [("argument", c_char_p), ("argument_bytes", c_size_t), ("absent", c_int),
                ("result", c_void_p), ("capacity", c_size_t), ("result_bytes", c_void_p)]


class HashTableOptions(Structure):
    _fields_ = [("key_bytes", c_size_t), ("value_bytes", c_size_t), ("counter", c_int),
                ("capacity", c_uint64), ("call_only", c_int), ("grow", c_int), ("key_hash", c_void_p),
                ("key_equal", c_void_p), ("key_owner", c_void_p), ("key_argument", c_void_p)]


class QueueOptions(Structure):
    _fields_ = [("host", c_uint32), ("item_bytes", c_size_t), ("capacity", c_uint64),
                ("call_only", c_int)]


class MapOptions(Structure):
    _fields_ = [("capacity", c_uint64), ("inline_bytes", c_size_t), ("call_only", c_int), ("grow", c_int),
                ("key_owner", c_void_p), ("key_digest", c_void_p), ("key_argument", c_void_p)]


class MapItem(Structure):
    _fields_ = [("key", c_void_p), ("value", c_void_p), ("key_bytes", c_size_t), ("value_bytes", c_size_t)]


class MapSlot(Structure):
    _fields_ = [("key", c_void_p), ("key_bytes", c_size_t), ("value", c_void_p), ("room", c_size_t),
                ("value_bytes", c_size_t), ("found", c_int)]


class HashTableFile(Structure):
    _fields_ = [("key_bytes", c_size_t), ("value_bytes", c_size_t), ("counter", c_int), ("keys", c_uint64),
                ("note_bytes", c_size_t), ("note", c_uint8 * 257)]


class MapFile(Structure):
    _fields_ = [("keys", c_uint64), ("key_bytes", c_uint64), ("value_bytes", c_uint64),
                ("note_bytes", c_size_t), ("note", c_uint8 * 257)]


class WorkerId(Structure):
    _fields_ = [("rank", c_uint32), ("index", c_uint32)]


class RawEvent(Structure):
    _fields_ = [("kind", c_int), ("status", c_int), ("peer", WorkerId), ("local_cid", c_uint64),
                ("bytes", c_uint64), ("is_get", c_uint32), ("cid_bytes", c_uint32), ("cid", c_uint8 * 256)]


class CallInfo(Structure):
    _fields_ = [("worker", c_void_p), ("origin", WorkerId), ("result", c_void_p), ("result_bytes", c_size_t),
                ("buffer", c_void_p), ("buffer_bytes", c_size_t), ("chunks", c_void_p),
                ("chunk_count", c_size_t), ("user", c_void_p)]


HANDLER = ctypes.CFUNCTYPE(c_int, POINTER(CallInfo), c_void_p, c_size_t)


class Function(Structure):
    _fields_ = [("name", c_char_p), ("handler", HANDLER), ("user", c_void_p), ("id", c_uint32)]


class ModifyInfo(Structure):
    _fields_ = [("worker", c_void_p), ("origin", WorkerId), ("key", c_void_p), ("argument", c_void_p),
                ("argument_bytes", c_size_t), ("existed", c_int), ("result", c_void_p),
                ("result_bytes", c_size_t), ("user", c_void_p)]


class MapModifyInfo(Structure):
    _fields_ = [("worker", c_void_p), ("origin", WorkerId), ("key", c_void_p), ("key_bytes", c_size_t),
                ("value", c_void_p), ("value_bytes", c_size_t), ("argument", c_void_p),
                ("argument_bytes", c_size_t), ("existed", c_int), ("result", c_void_p),
                ("result_bytes", c_size_t), ("user", c_void_p)]


MODIFY = ctypes.CFUNCTYPE(c_int, POINTER(ModifyInfo), c_void_p)
MAP_MODIFY = ctypes.CFUNCTYPE(c_int, POINTER(MapModifyInfo))


class Modifier(Structure):
    _fields_ = [("function", MODIFY), ("call", POINTER(Function)), ("any_thread", c_int)]


class MapModifier(Structure):
    _fields_ = [("function", MAP_MODIFY), ("call", POINTER(Function)), ("any_thread", c_int)]


class Error(Exception):
    """What a function of tern reported: status is a number, name such as "ERR_FULL"."""

    def __init__(self, status):
        self.status = status
        self.name = STATUSES[status] if 0 <= status < len(STATUSES) else str(status)
        meaning, detail = library.tern_strerror(status), library.tern_error_detail()
        super().__init__(b": ".join(text for text in (meaning, detail) if text).decode(errors="replace"))


def _check(status, _function, _arguments):
    if status != 0:
        raise Error(status)


VISIT = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
MAP_VISIT = ctypes.CFUNCTYPE(c_int, POINTER(MapItem), c_void_p)


def _load():
    """TERN_LIB_DIR says where libtern lies. An installed package knows its own library."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    folders = [os.environ["TERN_LIB_DIR"]] if "TERN_LIB_DIR" in os.environ else [beside]
    # Where a prefix holds a tern for each MPI, python-mpich lies beside libtern-mpich.so.
    own = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    name = "libtern%s.so" % (own[len("python"):] if own.startswith("python-") else "")
    path = next((found for folder in folders if os.path.exists(found := os.path.join(folder, name))), name)
    # Global, because parts of an MPI that are loaded later look for its symbols.
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def _declare(name, *arguments):
    """A function that returns a status."""
    function = getattr(library, name)
    function.argtypes = arguments
    function.errcheck = _check


library = _load()
_W, _O, _P, _D, _N = c_void_p, c_void_p, Pointer, c_void_p, c_size_t
library.tern_strerror.restype = library.tern_error_detail.restype = c_char_p
library.tern_error_detail.argtypes = []
for _name in "tern_context_rank", "tern_context_size":
    getattr(library, _name).argtypes = [c_void_p]
    getattr(library, _name).restype = c_uint32
library.tern_local.argtypes = [c_void_p, Pointer]
library.tern_local.restype = c_void_p
library.tern_progress.argtypes = [_W]
library.tern_progress.restype = c_size_t
library.tern_hashtable_owner.argtypes = [_O, _D]
library.tern_hashtable_owner.restype = c_uint32
library.tern_map_owner.argtypes = [_O, _D, _N]
library.tern_map_owner.restype = c_uint32
# What a handler calls; the handler returns the status.
library.tern_call_fail.argtypes = [POINTER(CallInfo), c_int, c_char_p, c_char_p]
# These return a status to C.
library.tern_internal_hashtable_run_modifier.argtypes = [POINTER(CallInfo), c_void_p, c_size_t, MODIFY]
library.tern_internal_map_run_modifier.argtypes = [POINTER(CallInfo), c_void_p, c_size_t, MAP_MODIFY]
# That of malloc, for what tern gives away.
free = ctypes.CDLL(None).free
free.argtypes, free.restype = [c_void_p], None

_declare("tern_context_create_f", c_int, c_char_p, POINTER(c_void_p))
_declare("tern_context_destroy", c_void_p)
_declare("tern_worker_adopt", c_void_p, c_uint32, POINTER(c_void_p))
_declare("tern_alloc", _W, _N, _N, c_int, POINTER(Pointer))
_declare("tern_alloc_on", _W, c_uint32, c_int, _N, _N, c_int, POINTER(Pointer))
_declare("tern_free", _W, _P)
_declare("tern_alloc_all", _W, _N, _N, c_int, POINTER(Pointer))
_declare("tern_free_all", _W, _P)
_declare("tern_put", _W, _P, _D, _N)
_declare("tern_get", _W, _D, _P, _N)
for _name in "tern_flush", "tern_fence":
    _declare(_name, _W, c_uint32)
for _name in "tern_flush_all", "tern_barrier", "tern_quiesce", "tern_phase":
    _declare(_name, _W)
for _width, _word in ("", c_uint64), ("32", c_uint32):
    for _name in "fetch_add", "fetch_and", "fetch_or", "fetch_xor", "swap":
        _declare(f"tern_atomic_{_name}{_width}", _W, _P, _word, POINTER(_word))
    _declare(f"tern_atomic_cas{_width}", _W, _P, _word, _word, POINTER(_word))
    _declare(f"tern_atomic_load{_width}", _W, _P, POINTER(_word))
    _declare(f"tern_atomic_store{_width}", _W, _P, _word)
_R = POINTER(RawRequest)
_declare("tern_test", _W, _R, POINTER(c_int))
_declare("tern_wait", _W, _R)


def _declare_both(name, *arguments):
    """A function that waits, and the one that starts and returns."""
    _declare(name, *arguments)
    _declare(name + "_start", *arguments, _R)


_declare("tern_put_start", _W, _P, _D, _N, _R)
_declare("tern_get_start", _W, _D, _P, _N, _R)
_declare_both("tern_put_strided", _W, _P, _D, POINTER(RawSection))
_declare_both("tern_get_strided", _W, _D, _P, POINTER(RawSection))
_declare("tern_put_strided_notify", _W, WorkerId, _P, _D, POINTER(RawSection), POINTER(NotifyOptions))
_declare("tern_get_strided_notify", _W, WorkerId, _D, _P, POINTER(RawSection), POINTER(NotifyOptions))
_declare_both("tern_accumulate", _W, _P, _D, _N, c_int, c_int)
_declare_both("tern_get_accumulate", _W, _P, _D, _D, _N, c_int, c_int)

for _width, _word in ("", c_uint64), ("32", c_uint32):
    _declare(f"tern_wait_until{_width}", _W, _D, c_int, _word)
    _declare(f"tern_test_until{_width}", _W, _D, c_int, _word, POINTER(c_int))
_L = POINTER(WordList)
_declare("tern_wait_until_all", _W, _L)
_declare("tern_test_until_all", _W, _L, POINTER(c_int))
for _name in "tern_wait_until", "tern_test_until":
    _declare(f"{_name}_any", _W, _L, _N, POINTER(c_size_t))
    _declare(f"{_name}_some", _W, _L, POINTER(c_size_t), POINTER(c_size_t))

_T = c_void_p
_declare("tern_team_create", _W, POINTER(c_uint32), _N, POINTER(c_void_p))
_declare("tern_team_stride", _W, c_uint32, c_int64, _N, POINTER(c_void_p))
_declare("tern_team_split", _W, _T, c_uint32, c_uint64, POINTER(c_void_p))
_declare("tern_team_destroy", _W, _T)
_declare("tern_team_translate", _W, _T, c_uint32, POINTER(c_uint32))
for _name in "tern_team_rank", "tern_team_size":
    getattr(library, _name).argtypes = [_W, _T]
    getattr(library, _name).restype = c_uint32
_declare_both("tern_team_barrier", _W, _T)
_declare_both("tern_team_broadcast", _W, _T, c_uint32, _D, _N)
_declare_both("tern_team_reduce", _W, _T, c_uint32, c_int, c_int, _D, _N)
_declare_both("tern_team_gather", _W, _T, c_uint32, _D, _D, _N)
for _name in "allreduce", "scan", "scan_before":
    _declare_both(f"tern_team_{_name}", _W, _T, c_int, c_int, _D, _N)
for _name in "allgather", "alltoall":
    _declare_both(f"tern_team_{_name}", _W, _T, _D, _D, _N)
_declare("tern_put_notify", _W, WorkerId, _P, _D, _N, POINTER(NotifyOptions))
_declare("tern_get_notify", _W, WorkerId, _D, _P, _N, POINTER(NotifyOptions))
for _name in "tern_probe", "tern_event_wait":
    _declare(_name, _W, c_int, POINTER(RawEvent))

_declare("tern_function_register", POINTER(Function))
_declare("tern_call", _W, WorkerId, POINTER(Function), _D, _N)
_declare("tern_call_return", _W, WorkerId, POINTER(Function), _D, _N, _D, _N, POINTER(c_size_t))
_declare("tern_call_result", POINTER(CallInfo), _N)

_declare("tern_hashtable_create", _W, POINTER(HashTableOptions), POINTER(c_void_p))
_declare("tern_hashtable_destroy", _W, _O)
for _name in "insert", "insert_new":
    _declare(f"tern_hashtable_{_name}", _W, _O, _D, _D, c_uint32, POINTER(c_int))
_declare("tern_hashtable_erase", _W, _O, _D, c_uint32)
_declare("tern_hashtable_add", _W, _O, _D, c_uint64, c_uint32, POINTER(c_uint64))
_declare("tern_hashtable_compare_swap", _W, _O, _D, c_uint64, c_uint64, c_uint32, POINTER(c_uint64))
_declare("tern_hashtable_find", _W, _O, _D, c_uint32, _D)
_declare("tern_hashtable_add_many", _W, _O, _D, _N, c_uint64, c_uint32, POINTER(c_size_t))
_declare("tern_hashtable_insert_many", _W, _O, _D, _D, _N, c_uint32, POINTER(c_size_t))
_declare("tern_hashtable_find_many", _W, _O, _D, _N, c_uint32, _D, POINTER(c_uint8), POINTER(c_size_t))
for _name in "for_each", "for_each_anywhere":
    _declare(f"tern_hashtable_{_name}", _W, _O, VISIT, c_void_p)
for _name in "size", "local_size":
    _declare(f"tern_hashtable_{_name}", _W, _O, POINTER(c_uint64))
_declare("tern_hashtable_clear", _W, _O)
_declare("tern_hashtable_save", _W, _O, c_char_p, _D, _N)
_declare("tern_hashtable_load", _W, c_char_p, POINTER(HashTableOptions), POINTER(HashTableFile),
         POINTER(c_void_p))
_declare("tern_hashtable_modify", _W, _O, _D, POINTER(Modifier), POINTER(ModifyOptions), c_uint32,
         POINTER(c_int))

_declare("tern_map_create", _W, POINTER(MapOptions), POINTER(c_void_p))
_declare("tern_map_destroy", _W, _O)
for _name in "insert", "insert_new":
    _declare(f"tern_map_{_name}", _W, _O, _D, _N, _D, _N, c_uint32, POINTER(c_int))
_declare("tern_map_erase", _W, _O, _D, _N, c_uint32)
_declare("tern_map_add", _W, _O, _D, _N, c_uint64, c_uint32, POINTER(c_uint64))
_declare("tern_map_compare_swap", _W, _O, _D, _N, c_uint64, c_uint64, c_uint32, POINTER(c_uint64))
_declare("tern_map_insert_many", _W, _O, POINTER(MapItem), _N, c_uint32, POINTER(c_size_t))
_declare("tern_map_add_many", _W, _O, POINTER(MapItem), _N, c_uint64, c_uint32, POINTER(c_size_t))
_declare("tern_map_find_many", _W, _O, POINTER(MapSlot), _N, c_uint32, POINTER(c_size_t))
_declare("tern_map_find_alloc", _W, _O, _D, _N, c_uint32, POINTER(c_void_p), POINTER(c_size_t))
for _name in "for_each", "for_each_anywhere":
    _declare(f"tern_map_{_name}", _W, _O, MAP_VISIT, c_void_p)
for _name in "size", "local_size":
    _declare(f"tern_map_{_name}", _W, _O, POINTER(c_uint64))
_declare("tern_map_clear", _W, _O)
_declare("tern_map_save", _W, _O, c_char_p, _D, _N)
_declare("tern_map_load", _W, c_char_p, POINTER(MapOptions), POINTER(MapFile), POINTER(c_void_p))
_declare("tern_map_modify", _W, _O, _D, _N, POINTER(MapModifier), POINTER(ModifyOptions), c_uint32,
         POINTER(c_int))
_declare("tern_map_resize", POINTER(MapModifyInfo), _N)

for _kind in "queue", "distributed_queue":
    _declare(f"tern_{_kind}_create", _W, POINTER(QueueOptions), POINTER(c_void_p))
    _declare(f"tern_{_kind}_destroy", _W, _O)
    for _name in "pop", "try_push", "try_pop":
        _declare(f"tern_{_kind}_{_name}", _W, _O, _D, c_uint32)
    for _name in "push_many", "pop_many":
        _declare(f"tern_{_kind}_{_name}", _W, _O, _D, _N, c_uint32, POINTER(c_size_t))
    _declare(f"tern_{_kind}_size", _W, _O, POINTER(c_uint64))
_declare("tern_queue_push", _W, _O, _D, c_uint32)
for _name in "push_timed", "pop_timed":
    _declare(f"tern_queue_{_name}", _W, _O, _D, c_double, c_uint32)
_declare("tern_distributed_queue_pop_timed", _W, _O, _D, _N, c_double, c_uint32, POINTER(c_size_t))
_declare("tern_distributed_queue_part", _O, c_uint32, POINTER(c_void_p))
for _name in "hold", "release":
    _declare(f"tern_distributed_queue_{_name}", _W, _O)
