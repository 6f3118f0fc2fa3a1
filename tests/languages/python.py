"""The package tern on two ranks. With --mpi4py its communicators come from mpi4py; otherwise tern
starts MPI. NumPy is used where it is."""

import array
import os
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
        raises(ValueError, context.allreduce, numpy.zeros((4, 4))[:, 1])  # not contiguous
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


def notifications(context):
    me, other = context.rank, 1 - context.rank
    places = [context.alloc(1 << 17) if me == root else tern.Pointer() for root in range(2)]
    for root in range(2):
        context.broadcast(root, places[root])
    mine, theirs = places[me], places[other]
    context.put_notify(other, theirs, b"hello", cid=struct.pack("=iq", me, 1 << 40))
    event = context.event_wait()
    assert event == (other, struct.pack("=iq", other, 1 << 40), 5, False)
    assert bytes(context.local(mine, 5)) == b"hello"
    assert context.probe() is None
    context.barrier()

    large = bytearray(b"%d" % me * 100000)  # not with its record
    context.put_notify(other, theirs, large)
    large[:] = b"x" * 100000  # the put has a copy
    assert context.event_wait() == (other, b"", 100000, False)
    assert bytes(context.local(mine, 100000)) == b"%d" % other * 100000
    context.barrier()
    assert context.get_notify(other, theirs, large, "read") is large and large == b"%d" % me * 100000
    assert context.event_wait() == (other, b"read", 100000, True)
    context.notify(other, "go")
    assert context.event_wait() == (other, b"go", 0, False)

    error = raises(tern.Error, context.put_notify, other, theirs + (1 << 40), b"far")
    assert error.name == "ERR_RANGE"
    raises(tern.Error, context.get_notify, other, theirs + (1 << 40), large)
    raises(tern.Error, context.notify, other, b"c" * 257)
    context.barrier()
    assert context.probe() is None
    context.free(mine)


noted = []


@tern.function
def note(number, sign=1):
    noted.append(number * sign)


@tern.function
def divide(a, b):
    return a / b


@tern.function(result_bytes=1 << 20)
def squares(count):
    return [i * i for i in range(count)]


@tern.function(result_bytes=100)
def too_long():
    return "x" * 100


@tern.function
def wait():
    shared.barrier()


shared = None  # the context, for functions that are called


def calls(context):
    global shared
    shared = context
    other = 1 - context.rank
    for i in range(10):
        context.call(other, note, i, sign=-1)
    context.call(other, divide, 1, 0)  # nobody asks for its result
    context.phase()
    assert noted == [-i for i in range(10)]
    noted.clear()
    context.call(other, note, 7)
    context.quiesce()
    assert noted == [7]
    assert context.call_return(other, divide, 1, 4) == 0.25 and divide(1, 2) == 0.5
    assert context.call_return(other, note, 5) is None
    assert context.call_return(other, squares, 10000)[9999] == 9999 * 9999
    assert context.call_return(other, squares, range(3).stop) == [0, 1, 4]
    error = raises(tern.Error, context.call_return, other, divide, 1, 0)
    assert error.name == "ERR_STATE" and "ZeroDivisionError: division by zero" in str(error)
    error = raises(tern.Error, context.call_return, other, wait)
    assert error.name == "ERR_STATE" and "handler" in str(error)
    error = raises(tern.Error, context.call_return, other, too_long)
    assert error.name == "ERR_RANGE"
    assert raises(tern.Error, tern.function, divide._function).name == "ERR_EXISTS"
    late = tern.function(lambda: 1)
    assert raises(tern.Error, context.call, other, late).name == "ERR_NOT_FOUND"
    context.barrier()


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


@tern.modifier
def scale(value, by):
    return by if value is None else value * by


@tern.modifier
def append(value, more):
    return (value or b"") + more


@tern.modifier
def refuse(value):
    raise ValueError("it stays")


def changes(context):
    me = context.rank
    table = tern.HashTable(context, key="i", value="d", capacity=100)
    for key in range(me, 20, 2):  # of both owners
        raises(KeyError, table.modify, key, scale, 2.0)
        table.modify(key, scale, 2.0, insert=True)
        table.modify(key, scale, 4.0)
        error = raises(tern.Error, table.modify, key, refuse)
        assert error.name == "ERR_STATE" and "ValueError: it stays" in str(error)
        raises(tern.Error, table.modify, key, scale, "x")  # no number comes of it
        assert table[key] == 8.0
    assert scale(3, 2) == 6
    context.barrier()

    names = tern.Map(context, capacity=10)
    mine = f"rank {me}"
    raises(KeyError, names.modify, mine, append, b"te")
    names.modify(mine, append, b"te", insert=True)
    for flags in tern.BY_RMA, tern.BY_CALL:
        names.modify(mine, append, b"rn", flags=flags)
        error = raises(tern.Error, names.modify, mine, refuse, flags=flags)
        assert error.name == "ERR_STATE" and "ValueError: it stays" in str(error)
    assert names[mine] == b"ternrn"
    for _ in range(20):
        names.modify("both", append, mine.encode(), insert=True)
    context.barrier()
    assert len(names["both"]) == 240
    context.barrier()


def files(context):
    me = context.rank
    pid = context.broadcast(0, array.array("q", [os.getpid()]))[0]
    path = f"python.{pid}"
    counts = tern.HashTable(context, key="8s", counter=True, capacity=10)
    counts.add("tern", 5 + me)
    mine = f"rank {me}"
    assert counts.add(mine, 3) == 0
    assert counts.compare_swap(mine, 3, 8) == 3 and counts.compare_swap(mine, 3, 9) == 8
    raises(KeyError, counts.compare_swap, "gull", 0, 1)
    counts.save(path, "words")
    counts.close()
    with tern.HashTable(context, key="8s", counter=True, path=path) as same:
        assert same.note == b"words" and same["tern"] == 11 and same[mine] == 8 and same.size() == 3
    error = raises(tern.Error, tern.HashTable, context, key="q", value="d", path=path)
    assert error.name == "ERR_ARGUMENT"  # the file has other keys
    assert raises(tern.Error, tern.Map, context, path=path).name == "ERR_ARGUMENT"

    names = tern.Map(context)
    names[mine] = bytes(me + 1)
    names.save(path)
    names.close()
    with tern.Map(context, path=path) as same:
        assert same.note == b"" and same.size() == 2 and same[f"rank {1 - me}"] == bytes(2 - me)
    if me == 0:
        os.unlink(path)
    context.barrier()
    assert raises(tern.Error, tern.Map, context, path=path).name == "ERR_NOT_FOUND"


def shared_memory(context):
    me, other = context.rank, 1 - context.rank
    mine = context.alloc_all(64)
    assert mine.rank == me and mine.on(other).rank == other and mine.on(me) == mine
    context.put(mine.on(other), b"hello from %d" % me)
    context.barrier()
    assert bytes(context.local(mine, 12)) == b"hello from %d" % other
    context.free_all(mine.on(0))
    numbers = context.allreduce(array.array("d", [0.5, me]))
    assert list(numbers) == [1.0, 1.0]
    assert list(context.allreduce(array.array("q", [-me]), "min")) == [-1]
    assert list(context.allreduce(array.array("Q", [me]), "max")) == [1]
    raises(TypeError, context.allreduce, array.array("h", [1, 2]))


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


def maps(context):
    me, other = context.rank, 1 - context.rank
    table = tern.Map(context, capacity=10)
    numbers = array.array("d", range(300))
    assert table.insert(f"rank {me}", numbers) and not table.insert(f"rank {me}", numbers)
    if me == 0:
        table["name"] = "tern"
        assert not table.insert_new(b"name", b"gull")
        table[""] = b""
    assert table.size() == 4
    assert table["name"] == b"tern" and table[b""] == b"" and "nam" not in table
    assert array.array("d", table[f"rank {other}"]) == numbers
    assert table.get("gull") is None and table.get("gull", 7) == 7
    raises(KeyError, lambda: table["gull"])
    raises(TypeError, lambda: table[7])  # a number has no bytes of its own
    assert all(table.owner(key) == me for key, _ in table.local_items())
    assert table.local_size() == len(table.local_items())
    assert sorted(table.items())[:2] == [(b"", b""), (b"name", b"tern")]
    context.barrier()
    del table[f"rank {me}"]
    raises(KeyError, table.erase, f"rank {me}")
    table.clear()
    assert table.size() == 0


def map_numbers(context):
    me = context.rank
    table = tern.Map(context, capacity=10)
    text = "two for joy four for a birth in the hippopotomonstrosesquippedaliophobia".split()
    table.add_many(text[me::2])  # the words of each rank
    assert table.size() == len(set(text))
    counts = {word: int.from_bytes(number, "little") for word, number in table.items()}
    assert counts == {word.encode(): text.count(word) for word in text}
    context.barrier()

    mine = f"rank {me}"
    assert table.add(mine, 5) == 0 and table.add(mine, -1) == 5
    assert table.compare_swap(mine, 4, 9) == 4 and table.compare_swap(mine, 4, 1) == 9
    assert table[mine] == (9).to_bytes(8, "little")
    raises(KeyError, table.compare_swap, "gull", 0, 1)
    context.barrier()

    if me == 0:
        table.update({f"key {i}": bytes(i) for i in range(0, 200, 2)})
        table.update((f"key {i}", array.array("B", bytes(i))) for i in range(1, 199, 2))
        table.update([])
    context.barrier()
    for flags in tern.BY_RMA, tern.BY_CALL:
        found = table.find_many((f"key {i}" for i in range(200)), flags)
        assert found == [bytes(i) for i in range(199)] + [None]
    assert table.find_many([]) == []
    assert table.find_many([b"two", "gull"], room=0) == [(1).to_bytes(8, "little"), None]
    error = raises(tern.Error, table.find_many, ["key 150", bytes(65537)])
    assert error.name == "ERR_RANGE"
    error = raises(tern.Error, table.add, "key 150")
    assert error.name == "ERR_RANGE"  # it is no number
    context.barrier()


def work(context):
    tree = tern.DistributedQueue(context, item="i", capacity=64)
    if context.rank == 0:
        tree.push(4)
    done = 0
    for item in tree:  # an item of n is the work to push two of n - 1: 2 ** 5 - 1 items
        done += 1
        for _ in range(2 if item > 0 else 0):
            tree.push(item - 1)
    word = context.alloc(8)
    context.store(word, 0)
    context.broadcast(0, word)
    context.fetch_add(word, done)
    context.barrier()
    assert context.load(word) == 31
    raises(tern.Done, tree.pop)
    context.barrier()

    if context.rank == 0:
        tree.hold()
    context.barrier()
    raises(tern.Empty, tree.pop, timeout=0)
    context.barrier()
    if context.rank == 0:
        tree.push(7, rank=1)
        assert tree.push_many(array.array("i", range(200))) == 127  # 64 in each part
        raises(tern.Full, tree.push, 1)
        raises(tern.Full, tree.push, 1, rank=1)
        raises(tern.Error, tree.push, 1, rank=2)
        assert tree.size() == 128
        items = array.array("i", bytes(4 * 127))
        assert sum(tree.pop_many(items) for _ in range(20)) > 64
        tree.release()
    context.barrier()
    assert all(0 <= item < 200 for item in tree)
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
        notifications(context)
        calls(context)
        shared_memory(context)
        tables(context)
        changes(context)
        files(context)
        maps(context)
        map_numbers(context)
        queues(context)
        work(context)
        context.flush_all()
        context.progress()
    if comm is not None:
        alone = comm.Split(comm.rank)
        with tern.Context(alone) as context:
            assert context.size == 1
        alone.Free()


main()
