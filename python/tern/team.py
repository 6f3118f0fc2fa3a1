"""Teams: some ranks of a context in an order of their own, and their collectives."""

import ctypes
from ctypes import byref

from ._data import Numbers, Plain, reduction
from ._library import TEAM_ALONE, library
from .request import both


class Team:
    """An ordered set of ranks. Its members make it, each for itself, and send nothing for that:

        even = tern.Team(context, range(0, context.size, 2))
        even.allreduce(values, "max")

    ranks: a range or a sequence of ranks of the context, each once and the caller's among them, in the same order on
    every member; None: all ranks. A rank in the team is an index of that order.

    All members call its collectives, in the same order. Each has a form that starts and returns a Request, with
    _start behind its name; up to 64 of a team may be under way. Data is in contiguous buffers, which are changed in
    place; numbers and operations are those of Context.accumulate. An Error that the members differ in the function,
    the root, the type or the length is ERR_MISMATCH. If a member has died it is ERR_PEER.

    Nobody has to close a team: the context frees those that are left. rank: the caller's in the team. size: how many
    members there are."""

    def __init__(self, context, ranks=None):
        team = ctypes.c_void_p()
        if isinstance(ranks, range):
            library.tern_team_stride(context.worker, ranks.start, ranks.step, len(ranks), byref(team))
        elif ranks is not None:
            ranks = [int(rank) for rank in ranks]
            library.tern_team_create(context.worker, (ctypes.c_uint32 * len(ranks))(*ranks), len(ranks), byref(team))
        self._begin(context, team)

    def _begin(self, context, team):
        self._owner, self._handle, self._is_open = context, team, True
        self.rank = library.tern_team_rank(context.worker, team)
        self.size = library.tern_team_size(context.worker, team)

    @property
    def worker(self):
        return self._owner.worker

    @property
    def _team(self):
        # A handle of 0 stands for all ranks, so a closed team must not pass it.
        if not self._is_open:
            raise ValueError("the team is closed")
        return self._handle

    def split(self, color, key=0):
        """Collective: the members with the same color, a number, make one Team, which is returned. Their order is that
        of their keys, and for equal keys that of this team. color None: a team of the caller alone."""
        team = ctypes.c_void_p()
        library.tern_team_split(self.worker, self._team, TEAM_ALONE if color is None else color, key, byref(team))
        made = Team.__new__(Team)
        made._begin(self._owner, team)
        return made

    def close(self):
        """Frees the team here. Other members may go on with what they have started. It is an Error while collectives
        of the team are under way here."""
        if self._is_open and self.worker:
            library.tern_team_destroy(self.worker, self._handle)
        self._is_open = False

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is None:
            self.close()

    def translate(self, member):
        """The rank in the context of a rank in the team."""
        rank = ctypes.c_uint32()
        library.tern_team_translate(self.worker, self._team, member, byref(rank))
        return rank.value

    def _barrier(self, _held):
        """Returns when all members have called it. It does not complete puts, as Context.barrier does."""
        return "tern_team_barrier", (self._team,), None

    barrier, barrier_start = both(_barrier)

    def _broadcast(self, held, root, data):
        """The buffer of the member root comes to those of the others, of the same size. Returns data."""
        view = held.enter_context(Plain(data, writable=self.rank != root))
        return "tern_team_broadcast", (self._team, root, view.address, view.bytes), data

    broadcast, broadcast_start = both(_broadcast)

    def _reduce(self, held, root, values, operation="sum"):
        """The numbers of all members are combined, element by element, in the buffer of root. Those of the others are
        undefined afterwards. Returns values."""
        return self._numbers(held, "tern_team_reduce", (root,), values, operation)

    reduce, reduce_start = both(_reduce)

    def _allreduce(self, held, values, operation="sum"):
        """The numbers of all members are combined, element by element, in the buffers of all. Returns values."""
        return self._numbers(held, "tern_team_allreduce", (), values, operation)

    allreduce, allreduce_start = both(_allreduce)

    def _scan(self, held, values, operation="sum"):
        """The numbers of the members up to this one are combined in its buffer. Returns values."""
        return self._numbers(held, "tern_team_scan", (), values, operation)

    scan, scan_start = both(_scan)

    def _scan_before(self, held, values, operation="sum"):
        """The numbers of the members before this one are combined in its buffer. Those of member 0 stay as they are.
        Returns values."""
        return self._numbers(held, "tern_team_scan_before", (), values, operation)

    scan_before, scan_before_start = both(_scan_before)

    def _gather(self, held, root, mine, all=None):
        """The buffer mine of each member comes to the buffer all of root, which is as long as those of all members
        together, in their order. Returns all."""
        view = held.enter_context(Plain(mine))
        address = self._blocks(held, all, view.bytes).address if self.rank == root else None
        return "tern_team_gather", (self._team, root, view.address, address, view.bytes), all

    gather, gather_start = both(_gather)

    def _allgather(self, held, mine, all):
        """The same, on every member."""
        view = held.enter_context(Plain(mine))
        address = self._blocks(held, all, view.bytes).address
        return "tern_team_allgather", (self._team, view.address, address, view.bytes), all

    allgather, allgather_start = both(_allgather)

    def _alltoall(self, held, out, into):
        """Block i of the buffer out goes to member i, where it becomes the block of this member in the buffer into.
        Both have as many blocks as there are members, all of the same size. Returns into."""
        view = held.enter_context(Plain(out))
        size = view.bytes // self.size
        if size * self.size != view.bytes:
            raise ValueError(f"{view.bytes} bytes are not {self.size} blocks of the same size")
        address = self._blocks(held, into, size).address
        return "tern_team_alltoall", (self._team, view.address, address, size), into

    alltoall, alltoall_start = both(_alltoall)

    def _numbers(self, held, function, first, values, operation):
        view = held.enter_context(Numbers(values, writable=True))
        return function, (self._team, *first, view.type, reduction(operation), view.address, view.count), values

    def _blocks(self, held, data, size):
        """A View of a writable buffer with room for a block of each member."""
        view = held.enter_context(Plain(data, writable=True))
        if view.bytes != size * self.size:
            raise ValueError(f"{self.size} blocks of {size} bytes do not fill a buffer of {view.bytes} bytes")
        return view
