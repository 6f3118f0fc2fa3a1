"""The package tern on two ranks. With --mpi4py its communicators come from mpi4py; otherwise tern
starts MPI. NumPy is used where it is."""

import array
import queue
import struct
import sys

import tern

try:
    import numpy
except ImportError:
    numpy = None


def raises(kind, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{function} raised no {kind}")


def memory(context):
    me, other = context.rank, 1 - context.rank
    places = [context.alloc(256), tern.Pointer()] if me == 0 else [tern.Pointer(), context.alloc(256)]
    mine = places[me]
    for root in range(2):
        context.broadcast(root, places[root])
    theirs = places[other]
    assert theirs.rank == other and theirs != mine and places[me] == mine
    assert tern.Pointer.from_buffer_copy(bytes(theirs)) == theirs

    context.put(theirs, b"hello from %d" % me)
    context.put(theirs + 32, array.array("d", [1.5, 2.5]))
    context.flush(other)
    assert context.get(theirs + 32, array.array("d", [0, 0]))[1] == 2.5
    context.barrier()
    assert bytes(context.local(mine, 12)) == b"hello from %d" % other
    raises(BufferError, context.get, theirs, b"read only")
    raises(TypeError, context.put, theirs, 7)
    error = raises(tern.Error, context.put, theirs + (1 << 40), b"far")
    assert error.name == "ERR_RANGE" and "segment of rank" in str(error)
    if numpy:
        context.put(theirs + 64, numpy.arange(8, dtype=numpy.float32))
        context.fence(other)
        assert context.get(theirs + 64, numpy.zeros((2, 4), numpy.float32))[1, 3] == 7
        raises(ValueError, context.put, theirs, numpy.zeros((4, 4))[:, 1])  # not contiguous
    context.barrier()

    word = places[0] + 128
    if me == 0:
        context.store(word, 0)
        context.store(word + 8, 1, width=4)
    context.barrier()
    context.fetch_add(word, 3)
    context.fetch_add(word + 8, -1, width=4)
    context.barrier()
    assert context.load(word) == 6 and context.load(word + 8, width=4) == 0xffffffff
    context.barrier()
    if me == 0:
        assert context.compare_swap(word, 6, 12) == 6 and context.swap(word, 13) == 12
        assert context.fetch_and(word, 5) == 13 and context.fetch_or(word, 3) == 5
        assert context.fetch_xor(word, 2) == 7 and context.load(word) == 5
    context.barrier()
    context.free(mine)
    assert context.alloc(64, rank=other).rank == other


def tables(context):
    me, other = context.rank, 1 - context.rank
    table = tern.HashTable(context, key="q", value="d", capacity=100)
    for i in range(200):
        assert table.insert(2 * i + me, i / 2)
    table[me] = -1.0
    assert not table.insert_new(me, 5.0) and table[me] == -1.0
    assert table.size() == 400
    assert table[2 + other] == 0.5 and 2 + other in table and 1000 not in table
    assert table.get(1000) is None and table.get(1000, 7) == 7
    raises(KeyError, lambda: table[1000])
    assert all(table.owner(key) == me for key, _ in table.local_items())
    assert table.local_size() == len(table.local_items())
    assert sorted(key for key, _ in table.items()) == list(range(400))
    context.barrier()
    del table[me]
    raises(KeyError, table.erase, me)
    values = array.array("d", [0, 0, 0])
    assert table.find_many(array.array("q", [2, 3, 5000]), values) == b"\1\1\0" and values[0] == 0.5
    raises(ValueError, table.find_many, array.array("q", [2]), values)
    raises(ValueError, table.add_many, b"123")
    context.barrier()
    table.clear()
    assert table.size() == 0
    keys, squares = array.array("q", range(10)), array.array("d", (i * i for i in range(10)))
    if me == 0:
        table.insert_many(keys, squares)
    context.barrier()
    if numpy:
        found = numpy.zeros(10)
        assert table.find_many(numpy.arange(10), found) == b"\1" * 10 and found[9] == 81
    context.barrier()
    table.close()

    counts = tern.HashTable(context, key="8s", counter=True, capacity=10)
    for word in "one two one tern".split():
        counts.add(word, flags=tern.WRITE_ONLY)
    counts.add_many(struct.pack("8s8s", b"one", b"gull"), delta=2)
    context.barrier()
    assert counts["one"] == 8 and counts[b"gull"] == 4 and counts["tern"] == 2
    assert sorted(counts.items())[0] == (b"gull", 4)
    raises(ValueError, counts.add, "much too long")
    error = raises(tern.Error, counts.insert, "one", 1)
    assert error.name == "ERR_UNSUPPORTED"
    context.barrier()  # the context closes the table


def queues(context):
    line = tern.Queue(context, item="iq", capacity=4, host=1)
    line.push((context.rank, -1))
    line.push((context.rank, 1 << 40), timeout=0)
    context.barrier()
    assert line.size() == 4
    raises(queue.Full, line.push, (0, 0), timeout=0)
    raises(queue.Full, line.push, (0, 0), timeout=0.01)
    context.barrier()
    assert line.pop()[1] in (-1, 1 << 40)
    assert line.pop(timeout=5)[0] in (0, 1)
    context.barrier()
    raises(tern.Empty, line.pop, timeout=0)
    raises(tern.Empty, line.pop, timeout=0.01)
    if context.rank == 0:
        items = bytearray(struct.pack("=iq", 1, 2) * 6)
        assert line.push_many(items) == 4 and line.pop_many(items) == 4 and line.pop_many(items) == 0
    context.barrier()


def main():
    comm = None
    if "--mpi4py" in sys.argv:
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
    raises(tern.Error, tern.Context, comm, "TERN_WORKERS=none")
    with tern.Context(comm, options="TERN_SEGMENT_SIZE=16M") as context:
        assert context.size == 2
        memory(context)
        tables(context)
        queues(context)
        context.flush_all()
        context.progress()
    if comm is not None:
        alone = comm.Split(comm.rank)
        with tern.Context(alone) as context:
            assert context.size == 1
        alone.Free()


main()
