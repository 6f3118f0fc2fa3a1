"""Sections: boxes of elements in the memory of a rank that need not lie side by side."""

import struct

from ._data import row_major
from ._library import DIMENSIONS_MAX, RawSection


class Section:
    """An array in the memory of a rank, or a slice of one. Plain data: nothing is allocated or sent.

        matrix = tern.Section(place, "d", (100, 200))
        context.put(matrix[:, -1], mine[:, 0])     # of a NumPy array: nothing is copied before
        context.get(matrix[10:20, ::2], part)      # part has the shape (10, 100)

    pointer: where the element with all indices 0 lies. item: bytes of an element, or a format of the module
    struct. shape: elements in each dimension. strides: bytes from one element to the next in each dimension, which
    may be negative; None: without gaps, the last index fastest. An index or slices give a Section of the same
    memory, as with NumPy."""

    def __init__(self, pointer, item, shape, strides=None):
        self.pointer = pointer
        self.item_bytes = struct.calcsize(item) if isinstance(item, str) else int(item)
        self.shape = tuple(int(count) for count in shape)
        self.strides = row_major(self.shape, self.item_bytes) if strides is None else tuple(map(int, strides))
        if len(self.strides) != len(self.shape) or min(self.shape, default=0) < 0 or self.item_bytes < 0:
            raise ValueError(f"no section has the shape {self.shape} and the strides {self.strides}")

    def __getitem__(self, index):
        index = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in index:
            at = index.index(Ellipsis)
            index[at:at + 1] = [slice(None)] * (len(self.shape) - len(index) + 1)
        index += [slice(None)] * (len(self.shape) - len(index))
        if len(index) > len(self.shape):
            raise IndexError(f"the section has {len(self.shape)} dimensions")
        pointer, shape, strides = self.pointer, [], []
        for i, count, stride in zip(index, self.shape, self.strides):
            if isinstance(i, slice):
                some = range(count)[i]
                shape.append(len(some))
                strides.append(stride * some.step)
                pointer = pointer + (some.start * stride if some else 0)
            else:
                pointer = pointer + range(count)[i] * stride
        return Section(pointer, self.item_bytes, shape, strides)

    def on(self, rank):
        """The same section of the memory of another rank; of Context.alloc_all, in that rank's piece."""
        return Section(self.pointer.on(rank), self.item_bytes, self.shape, self.strides)

    def __repr__(self):
        return (f"<tern.Section of rank {self.pointer.rank}, offset {self.pointer.offset}: shape {self.shape}, "
                f"strides {self.strides}>")


def described(place, view):
    """What C takes to move the elements of a View from or to a place, a Pointer or a Section: the pointer to the
    first element there, and a RawSection, or None where both sides are contiguous."""
    if not isinstance(place, Section):
        if view.is_contiguous:
            return place, None
        place = Section(place, view.item_bytes, view.shape)
    elif place.item_bytes != view.item_bytes:
        raise ValueError(f"an element has {view.item_bytes} bytes here, and {place.item_bytes} in the section")
    ours, theirs = _dimensions(view), _dimensions(place)
    if [count for count, _ in ours] != [count for count, _ in theirs]:
        raise ValueError(f"the data has the shape {view.shape}, and the section {place.shape}")
    if len(ours) > DIMENSIONS_MAX:
        raise ValueError(f"the data has {len(ours)} dimensions, and a transfer up to {DIMENSIONS_MAX}")
    section = RawSection(element_bytes=view.item_bytes, dimensions=len(ours))
    for i, ((count, here), (_, there)) in enumerate(zip(ours, theirs)):
        section.count[i], section.local_stride[i], section.remote_stride[i] = count, here, there
    return place.pointer, section


def _dimensions(box):
    """The counts and strides of a box, the innermost first, without those of one element."""
    return [(count, stride) for count, stride in zip(reversed(box.shape), reversed(box.strides)) if count != 1]


def close_gaps(section):
    """The same for a copy of the data whose elements lie side by side."""
    distance = section.element_bytes
    for i in range(section.dimensions):
        section.local_stride[i] = distance
        distance *= section.count[i]
