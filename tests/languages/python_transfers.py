"""Slices, updates, waits and teams of the package tern, on any number of ranks, each against a model. NumPy is used
where it is."""

import array
import gc
import random

import tern

try:
    import numpy
except ImportError:
    numpy = None

AREA = 4096  # bytes of the memory that the slices are of


def raises(kind, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{function} raised no {kind}")


# ---- slices ----

def random_index(dice, shape):
    """Slices and numbers that choose elements of an array of this shape, in either direction."""
    index = []
    for count in shape:
        step = dice.choice((1, 1, 2, 3, -1, -2))
        start, stop = sorted((dice.randrange(count + 1), dice.randrange(count + 1)))
        index.append(slice(start, stop, step) if step > 0 else slice(None, None, step))
        if dice.random() < 0.1:
            index[-1] = dice.randrange(count)
    return tuple(index)


def random_shape(dice, item):
    shape = [dice.choice((1, 2, 3, 4, 5)) for _ in range(dice.randrange(1, 6))]
    while numpy.prod(shape) * item.itemsize > AREA:
        shape.pop()
    return shape


def random_view(dice, shape, item):
    """An array, and a function that gives a view of such an array with this shape. Its strides are in any order and
    direction."""
    spans = [dice.choice((1, 1, 2, 3)) for _ in shape]
    order = list(range(len(shape)))
    dice.shuffle(order)
    larger = [shape[i] * spans[i] for i in order]
    back = [order.index(i) for i in range(len(shape))]
    steps = tuple(slice(None, None, span if dice.random() < 0.5 else -span) for span in spans)
    base = numpy.array([dice.randrange(100) for _ in range(int(numpy.prod(larger)))]).astype(item).reshape(larger)

    def look(whole):
        view = whole.transpose(back)[steps + (...,)]
        assert view.shape == tuple(shape)
        return view
    return base, look


def random_slices(context):
    """Each rank puts slices to the next one and gets slices from it; an array is the model of its memory."""
    dice = random.Random(context.rank)
    place = context.alloc_all(AREA).on((context.rank + 1) % context.size)
    context.put(place, bytes(AREA))
    model = bytearray(AREA)
    empty = 0
    for turn in range(200):
        item = numpy.dtype(dice.choice(("int8", "int32", "float64", "complex128")))
        shape = random_shape(dice, item)
        section = tern.Section(place, item.itemsize, shape)
        known = numpy.frombuffer(model, item, int(numpy.prod(shape))).reshape(shape)

        index = random_index(dice, shape)
        base, look = random_view(dice, known[index].shape, item)
        data = look(base)
        empty += data.size == 0
        if turn % 2:
            context.put(section[index], data)
        else:
            assert context.put_start(section[index], data).wait() is data
        known[index] = data
        context.flush(place.rank)
        assert bytes(context.get(place, bytearray(AREA))) == model

        index = random_index(dice, shape)
        base, look = random_view(dice, known[index].shape, item)
        expected = base.copy()
        look(expected)[...] = known[index]
        if turn % 2:
            context.get(section[index], look(base))
        else:
            context.get_start(section[index], look(base)).wait()
        assert (base == expected).all()  # and no element around it has changed
    assert empty > 5
    context.barrier()
    context.free_all(place)


def notified_put(turn, rank):
    """What is put to a rank in a turn: of a section of this shape the elements of an index become those of a view."""
    dice, item = random.Random(100 * turn + rank), numpy.dtype("int32")
    shape = random_shape(dice, item)
    index = random_index(dice, shape)
    base, look = random_view(dice, numpy.empty(shape)[index].shape, item)
    return shape, index, look(base)


def notified_slices(context):
    """Each rank knows what its predecessor puts, since the same dice tell."""
    mine = context.alloc_all(AREA)
    place = mine.on((context.rank + 1) % context.size)
    model = bytearray(AREA)
    context.put(mine, model)
    context.barrier()
    for turn in range(20):
        shape, index, data = notified_put(turn, place.rank)
        context.put_notify(place.rank, tern.Section(place, 4, shape)[index], data, b"%d" % turn)
        data[...] = 0  # the put has a copy
        shape, index, data = notified_put(turn, context.rank)
        event = context.event_wait()
        assert event.cid == b"%d" % turn and event.size == 4 * data.size
        numpy.frombuffer(model, "int32", int(numpy.prod(shape))).reshape(shape)[index] = data
        assert bytes(context.local(mine, AREA)) == model
        context.barrier()

        into = numpy.zeros((2, 4), "int32")
        context.get_notify(place.rank, tern.Section(place, 4, (4, 2)), into.T)
        assert context.event_wait().is_get
        assert (into.T.ravel() == context.get(place, numpy.zeros(8, "int32"))).all()
        context.barrier()
    context.free_all(mine)


def slices(context):
    """Without NumPy: slices of a memoryview, and what is refused."""
    mine = context.alloc_all(AREA)
    place = mine.on((context.rank + 1) % context.size)
    numbers = memoryview(array.array("q", range(40)))
    context.put(place, bytes(AREA))
    context.put(tern.Section(place, "q", (8, 5))[:, 1], numbers[32::-4][:8])
    context.flush(place.rank)
    context.barrier()
    assert context.local(mine, 320).cast("q").tolist()[1::5] == [32, 28, 24, 20, 16, 12, 8, 4]
    assert sum(context.local(mine, AREA).cast("q")) == sum(range(4, 33, 4))
    context.barrier()
    into = array.array("q", bytes(8 * 20))
    assert context.get(tern.Section(place, 8, [8], [-40]).on(place.rank)[:0], into[:0]) == array.array("q")
    context.get(tern.Section(place + 8 * 36, 8, [8], [-40]), memoryview(into)[1:17:2])
    assert into.tolist() == [0] + [x for y in range(4, 33, 4) for x in (y, 0)] + [0, 0, 0]
    context.put(place, numbers[::2])  # they come to lie side by side
    context.flush(place.rank)
    assert context.get(place, array.array("q", [0] * 3)).tolist() == [0, 2, 4]

    section = tern.Section(place, "q", (8, 5))
    assert section[2, 3].pointer == place + 8 * 13 and section[-1, ..., 1:].strides == (8,)
    raises(IndexError, lambda: section[8])
    raises(IndexError, lambda: section[0, 0, 0])
    raises(ValueError, tern.Section, place, 8, (2, 2), (8,))
    raises(ValueError, context.put, section, numbers)  # another shape
    raises(ValueError, context.put, section[0], array.array("i", range(5)))  # other elements
    raises(BufferError, context.get, section[0], memoryview(bytes(40)).cast("q"))
    error = raises(tern.Error, context.put, tern.Section(place, 8, [40], [1 << 40]), numbers)
    assert error.name == "ERR_RANGE" and "dimension" in str(error)
    error = raises(tern.Error, context.put_start, tern.Section(place, 8, [40], [4]), numbers)
    assert error.name == "ERR_ARGUMENT"  # the elements overlap
    if numpy:
        raises(ValueError, context.put, place, numpy.zeros((4,) * 9, "int8")[(slice(None, None, 2),) * 9])
        context.put(place, numpy.array(7.0))
        assert context.get(tern.Section(place, 8, (1, 1)), numpy.zeros(1))[0] == 7
    context.barrier()

    request = context.put_start(place, b"dropped")
    del request
    gc.collect()
    request = context.get_start(place, bytearray(7))
    while not request.test():
        pass
    assert request.wait() == b"dropped" and request.test()
    context.barrier()
    context.free_all(mine)


# ---- updates ----

WRAP = {"i": 1 << 32, "I": 1 << 32, "q": 1 << 64, "Q": 1 << 64}


def combined(form, operation, a, b):
    """both = op(a, b), as include/tern/number.h says it."""
    both = {"sum": lambda: a + b, "product": lambda: a * b, "min": lambda: b if b < a else a,
            "max": lambda: b if a < b else a, "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b,
            "replace": lambda: b}[operation]()
    if form in WRAP:
        both %= WRAP[form]
        if form in "iq" and both >= WRAP[form] // 2:
            both -= WRAP[form]
    return both


def operations_of(form):
    return ["sum", "product", "replace"] + ["min", "max"] * (form[0] != "Z") + ["and", "or", "xor"] * (form in WRAP)


def some_numbers(dice, form, count):
    if form in WRAP:
        low, high = (-WRAP[form] // 2, WRAP[form] // 2) if form in "iq" else (0, WRAP[form])
        return [dice.randrange(low, high) for _ in range(count)]
    if form[0] == "Z":
        return [complex(dice.randrange(-9, 9), dice.randrange(-9, 9)) for _ in range(count)]
    return [float(dice.randrange(-99, 99)) for _ in range(count)]


def packed(form, numbers):
    if form[0] == "Z":
        return numpy.array(numbers, {"Zf": "complex64", "Zd": "complex128"}[form])
    return array.array(form, numbers)


def forms():
    return ["q", "Q", "i", "I", "f", "d"] + (["Zf", "Zd"] if numpy else [])


def updates(context):
    dice = random.Random(7 + context.rank)
    mine = context.alloc_all(1024)
    place = mine.on((context.rank + 1) % context.size)
    for form in forms():
        for operation in operations_of(form):
            count = dice.randrange(1, 20)
            known = some_numbers(dice, form, count)
            context.put(place, packed(form, known))
            context.flush(place.rank)
            for turn in range(3):
                values = some_numbers(dice, form, count)
                after = [combined(form, operation, a, b) for a, b in zip(known, values)]
                data, old = packed(form, values), packed(form, [0] * count)
                if turn == 0:
                    context.accumulate(place, data, operation)
                elif turn == 1:
                    assert context.get_accumulate_start(place, data, old, operation).wait() is old
                    assert list(old) == known
                else:
                    assert context.get_accumulate(place, data, data, operation) is data and list(data) == known
                known = list(packed(form, after))  # as rounded
            operand = some_numbers(dice, form, 1)[0]
            assert context.fetch(place, operand, operation, form) == known[0]
            known[0] = combined(form, operation, known[0], operand)
            assert list(context.get(place, packed(form, [0] * count))) == list(packed(form, known))
    context.put(place, array.array("d", [0.5]))
    assert context.fetch(place, 2.0) == 0.5 and context.fetch(place, 1.0, "max") == 2.5
    context.accumulate_start(place, array.array("d", [1.0])).wait()
    assert context.fetch(place, 0.0, "replace") == 3.5
    raises(TypeError, context.accumulate, place, array.array("h", [1]))
    raises(ValueError, context.accumulate, place, array.array("q", [1]), "mean")
    raises(ValueError, context.get_accumulate, place, array.array("q", [1]), array.array("q", [1, 2]))
    raises(ValueError, context.get_accumulate, place, array.array("q", [1]), array.array("d", [1]))
    raises(ValueError, context.accumulate, place, memoryview(array.array("q", range(4)))[::2])
    raises(ValueError, context.fetch, place, 1, form="h")
    assert raises(tern.Error, context.accumulate, place, array.array("d", [1]), "xor").name == "ERR_ARGUMENT"

    # All ranks update the same numbers.
    context.barrier()
    context.put(mine, array.array("q", [0] * 16))
    context.barrier()
    for _ in range(20):
        context.accumulate(mine.on(0), array.array("q", range(16)))
    context.barrier()
    if context.rank == 0:
        assert context.local(mine, 128).cast("q").tolist() == [20 * context.size * i for i in range(16)]
    context.barrier()
    context.free_all(mine)


# ---- waits ----

def waits(context):
    me = context.rank
    after, before = (me + 1) % context.size, (me - 1) % context.size
    mine = context.alloc_all(256)
    words = context.local(mine, 64).cast("q")
    words[:] = array.array("q", [0] * 8)
    context.barrier()
    for turn in range(1, 11):  # the word goes round the ranks
        if me == 0:
            context.store(mine.on(after), turn)
        context.wait_until(mine, "==", turn)
        if me != 0:
            context.store(mine.on(after), turn)
        assert context.test_until(words[:1], ">=", turn) and not context.test_until(mine, "<", turn)
    context.put(mine.on(after) + 64, b"data")
    context.fence(after)
    context.store(mine.on(after) + 8, -5 & ((1 << 32) - 1), width=4)
    context.wait_until(mine + 8, "<", -4, width=4, signed=True)
    assert bytes(context.local(mine + 64, 4)) == b"data" and not context.test_until(mine + 8, "<", 5, width=4)
    context.wait_until(context.local(mine + 8, 4).cast("i"), "!=", 0)
    context.barrier()

    words[:] = array.array("q", [0] * 8)
    context.barrier()
    order = list(range(8))
    random.Random(me).shuffle(order)
    sent = iter(order)
    context.store(mine.on(after) + 8 * next(sent), -1 & ((1 << 64) - 1))
    seen, start = set(), 0
    while len(seen) < 8:  # each word that came lets one go on
        skip = [i in seen for i in range(8)]
        start = context.wait_until_any(words, "<", 0, skip, before, start)
        assert start not in seen and context.test_until_any(words, "<", 0, skip, start=start) == start
        assert start in context.wait_until_some(words, "<", 0, skip) and not seen & set(
            context.test_until_some(words, "<", 0, skip))
        seen.add(start)
        index = next(sent, None)
        if index is not None:
            context.store(mine.on(after) + 8 * index, -1 & ((1 << 64) - 1))
    context.wait_until_all(words, "==", -1)
    context.wait_until_all(words, ">", array.array("q", [-2] * 8))
    assert context.test_until_all(words, "==", -1)
    assert not context.test_until_all(words, ">=", array.array("q", [-1] * 7 + [0]))
    assert context.wait_until_any(words, "<", 0, skip=[True] * 8) is None
    assert context.test_until_any(words, "==", 7) is None and context.test_until_some(words, "==", 7) == []
    raises(ValueError, context.test_until, mine, "=", 1)
    raises(ValueError, context.test_until, words, "==", 1)
    raises(ValueError, context.test_until, mine, "==", 1, width=2)
    raises(ValueError, context.test_until_all, words, "==", array.array("q", [1]))
    raises(ValueError, context.test_until_all, words, "==", 1, skip=[True])
    raises(TypeError, context.test_until, array.array("d", [1]), "==", 1)
    assert raises(tern.Error, context.test_until, mine + 4, "==", 1).name == "ERR_ARGUMENT"
    context.barrier()
    context.free_all(mine)


# ---- teams ----

def folded(form, operation, vectors):
    result = list(vectors[0])
    for vector in vectors[1:]:
        result = list(packed(form, [combined(form, operation, a, b) for a, b in zip(result, vector)]))
    return result


def of_member(form, member, count, turn=0):
    return list(packed(form, some_numbers(random.Random(1000 * turn + member), form, count)))


def use_team(team):
    me, size = team.rank, team.size
    team.barrier()
    for form in forms():
        for operation in operations_of(form):
            if operation == "product" and form not in WRAP:
                continue  # rounded in an order that the model does not know
            count = 3 if form != "q" else 700
            vectors = [of_member(form, member, count) for member in range(size)]
            data = packed(form, vectors[me])
            assert team.allreduce(data, operation) is data
            if operation == "replace":  # some member's
                assert list(data) in vectors
                continue
            assert list(data) == folded(form, operation, vectors)
            data = packed(form, vectors[me])
            team.reduce(size - 1, data, operation)
            assert me != size - 1 or list(data) == folded(form, operation, vectors)
            data = packed(form, vectors[me])
            assert list(team.scan(data, operation)) == folded(form, operation, vectors[:me + 1])
            data = packed(form, vectors[me])
            assert list(team.scan_before(data, operation)) == folded(form, operation, vectors[:max(me, 1)])

    for count in 1, 5000:
        parts = [of_member("i", member, count) for member in range(size)]
        for root in range(size):
            data = array.array("i", parts[me] if me == root else [0] * count)
            assert team.broadcast(root, bytes(data) if me == root else data) is not None
            assert list(data) == parts[root]
            whole = array.array("i", [0] * count * size) if me == root else None
            assert team.gather(root, array.array("i", parts[me]), whole) is whole
            assert me != root or list(whole) == sum(parts, [])
        whole = array.array("i", [0] * count * size)
        assert team.allgather(array.array("i", parts[me]), whole).tolist() == sum(parts, [])
        out = [[of_member("i", to, count, member) for to in range(size)] for member in range(size)]
        into = team.alltoall(array.array("i", sum(out[me], [])), array.array("i", [0] * count * size))
        assert into.tolist() == sum((out[member][me] for member in range(size)), [])


def start_in_team(team):
    """Many collectives are under way, and are waited for in another order."""
    me, size = team.rank, team.size
    requests = [team.barrier_start()]
    expected = [None]
    for turn in range(4):
        parts = [of_member("q", member, 200, turn) for member in range(size)]
        mine = array.array("q", parts[me])
        requests.append(team.allreduce_start(mine[:], "xor"))
        expected.append(folded("q", "xor", parts))
        requests.append(team.scan_start(mine[:]))
        expected.append(folded("q", "sum", parts[:me + 1]))
        requests.append(team.scan_before_start(mine[:]))
        expected.append(folded("q", "sum", parts[:max(me, 1)]))
        requests.append(team.broadcast_start(turn % size, mine[:]))
        expected.append(parts[turn % size])
        requests.append(team.allgather_start(mine, array.array("q", [0] * 200 * size)))
        expected.append(sum(parts, []))
        requests.append(team.gather_start(0, mine, array.array("q", [0] * 200 * size) if me == 0 else None))
        expected.append(sum(parts, []) if me == 0 else None)
        requests.append(team.reduce_start(0, mine[:], "max"))
        expected.append(folded("q", "max", parts) if me == 0 else None)
        requests.append(team.alltoall_start(mine * size, array.array("q", [0] * 200 * size)))
        expected.append(sum(parts, []))
    order = list(range(len(requests)))
    random.Random(me).shuffle(order)
    for i in order:
        result = requests[i].wait()
        assert expected[i] is None or list(result) == expected[i], i
    assert all(request.test() for request in requests)


def teams(context):
    me, size = context.rank, context.size
    everyone = tern.Team(context)
    assert (everyone.rank, everyone.size, everyone.translate(size - 1)) == (me, size, size - 1)
    back = tern.Team(context, range(size - 1, -1, -1))
    assert (back.rank, back.size, back.translate(0)) == (size - 1 - me, size, size - 1)
    listed = list(range(size))
    random.Random(size).shuffle(listed)
    shuffled = tern.Team(context, listed)
    assert shuffled.translate(shuffled.rank) == me and listed[shuffled.rank] == me
    halves = everyone.split(me % 2, key=size - me)
    assert halves.size == (size + 1 - me % 2) // 2 and [halves.translate(i) for i in range(halves.size)] == [
        rank for rank in range(size - 1, -1, -1) if rank % 2 == me % 2]
    alone = halves.split(None)
    assert (alone.size, alone.rank, alone.translate(0)) == (1, 0, me)
    for team in everyone, back, shuffled, halves, alone:
        use_team(team)
        start_in_team(team)
    if me % 2 == 0:
        with tern.Team(context, range(0, size, 2)) as even:
            use_team(even)
        raises(ValueError, even.barrier)
    shuffled.close()

    assert raises(tern.Error, everyone.translate, size).name == "ERR_ARGUMENT"
    assert raises(tern.Error, tern.Team, context, [me, me]).name == "ERR_ARGUMENT"
    raises(TypeError, everyone.allreduce, array.array("h", [1]))
    raises(ValueError, everyone.allreduce, array.array("q", [1]), "mean")
    raises(ValueError, everyone.allgather, b"12", bytearray(2 * size + 1))
    raises(ValueError, everyone.alltoall, bytes(size), bytearray(size + 1))
    raises(ValueError, everyone.scan, memoryview(array.array("q", range(4)))[::2])
    if size > 1:
        raises(ValueError, everyone.alltoall, bytes(size + 1), bytearray(size + 1))
        error = raises(tern.Error, everyone.allreduce, array.array("q", [1]), "sum" if me == 0 else "max")
        assert error.name == "ERR_MISMATCH"
        request = everyone.allreduce_start(array.array("q", [1]), "sum" if me == 0 else "max")
        error = raises(tern.Error, request.wait)
        assert error.name == "ERR_MISMATCH" and raises(tern.Error, request.wait) is error
    everyone.barrier()

    numbers = context.allreduce(array.array("f", [me, 1]))
    assert list(numbers) == [size * (size - 1) / 2, size]
    assert list(context.broadcast(size - 1, array.array("i", [me]))) == [size - 1]
    back.allreduce_start(array.array("q", [1]))  # closing the context waits for it


def main():
    with tern.Context(options="TERN_SEGMENT_SIZE=16M") as context:
        slices(context)
        if numpy:
            random_slices(context)
            notified_slices(context)
        updates(context)
        waits(context)
        teams(context)


main()
