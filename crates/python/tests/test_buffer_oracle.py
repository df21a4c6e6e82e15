"""The buffer protocol against CPython's own exporter: for every request, the same answer."""

import itertools

import _testbuffer
import pytest
from _testbuffer import ndarray

import tenure
from tenure import Tensor

FLAGS = {name: getattr(_testbuffer, name) for name in dir(_testbuffer) if name.startswith("PyBUF_")}
# What consumers ask for, each alone and with the two that go with all of them.
BASES = [
    "PyBUF_SIMPLE", "PyBUF_ND", "PyBUF_STRIDES", "PyBUF_C_CONTIGUOUS", "PyBUF_F_CONTIGUOUS",
    "PyBUF_ANY_CONTIGUOUS", "PyBUF_INDIRECT", "PyBUF_FULL", "PyBUF_FULL_RO", "PyBUF_CONTIG",
    "PyBUF_CONTIG_RO", "PyBUF_STRIDED", "PyBUF_STRIDED_RO", "PyBUF_RECORDS", "PyBUF_RECORDS_RO",
]  # fmt: skip
EXTRAS = [0, FLAGS["PyBUF_WRITABLE"], FLAGS["PyBUF_FORMAT"]]
EXTRAS.append(EXTRAS[1] | EXTRAS[2])
REQUESTS = [FLAGS[base] | extra for base, extra in itertools.product(BASES, EXTRAS)]

WORDS = {"B": "u8", "h": "i16", "i": "i32", "l": "i64", "f": "f32", "d": "f64", "?": "bool"}
FIELDS = [
    "nbytes", "readonly", "itemsize", "format", "ndim", "shape", "strides", "suboffsets",
    "c_contiguous", "f_contiguous", "contiguous",
]  # fmt: skip


def product(shape):
    result = 1
    for dim in shape:
        result *= dim
    return result


def pair(shape, word="i", key=(...,), read_only=False):
    """A tensor of ours and an array of CPython's with the same elements in the same layout."""
    tensor = Tensor(shape, WORDS[word], "mem")
    values = [index % 2 if word == "?" else index % 100 for index in range(product(shape))]
    if values:
        with tensor.reshape((len(values),)).map() as view:
            for index, value in enumerate(values):
                view[index] = value
    flags = 0 if read_only else _testbuffer.ND_WRITABLE
    items = values if shape else values[0]
    theirs = ndarray(items or [0], shape=list(shape), format=word, flags=flags)
    slices = [part for part in key if part is not ...]
    if slices:
        theirs = theirs[tuple(slices)] if len(slices) > 1 else theirs[slices[0]]
        tensor = tensor[tuple(slices)]
    if read_only:
        import numpy

        array = numpy.asarray(tensor)
        array.flags.writeable = False
        tensor = tenure.from_dlpack(array)
    return tensor, theirs


def answer(exporter, request):
    try:
        view = ndarray(exporter, getbuf=request)
    except BufferError:
        return "refused"
    said = {field: getattr(view, field) for field in FIELDS}
    said["bytes"] = view.tobytes() if said["shape"] or not said["ndim"] else None
    return said


CASES = {
    "0-d": pair(()),
    "1-d": pair((5,)),
    "2-d": pair((3, 4)),
    "3-d": pair((2, 3, 4), "d"),
    "empty": pair((0,)),
    "ones": pair((1, 5, 1)),
    "steps": pair((6, 8), key=(slice(0, 6, 2), slice(1, 8, 3))),
    "rows": pair((6, 8), key=(slice(2, 4), slice(0, 8))),
    "columns": pair((6, 8), key=(slice(0, 6), slice(2, 4))),
    "backwards": pair((7,), key=(slice(None, None, -1),)),
    "both backwards": pair((4, 5), "f", key=(slice(None, None, -1), slice(None, None, -2))),
    "one column": pair((4, 5), "h", key=(slice(0, 4), slice(2, 3))),
    "nothing left": pair((4, 5), key=(slice(2, 2), slice(0, 5))),
    "read-only": pair((3, 4), read_only=True),
    "read-only 1-d": pair((3,), "B", read_only=True),
    **{f"type {word}": pair((3, 2), word) for word in WORDS},
}


@pytest.mark.parametrize("case", CASES)
def test_every_request_has_the_answer_of_cpython(case):
    ours, theirs = CASES[case]
    for request in REQUESTS:
        assert answer(ours, request) == answer(theirs, request), hex(request)
    assert memoryview(ours) == memoryview(theirs)
    assert memoryview(ours).tobytes("C") == memoryview(theirs).tobytes("C")
    assert memoryview(ours).tobytes("F") == memoryview(theirs).tobytes("F")


@pytest.mark.parametrize("case", CASES)
def test_contiguous_copies(case):
    ours, theirs = CASES[case]
    for order in "CFA":
        request = FLAGS["PyBUF_FULL_RO"]
        copy = _testbuffer.py_buffer_to_contiguous(ours, order, request)
        assert copy == _testbuffer.py_buffer_to_contiguous(theirs, order, request)
        assert _testbuffer.is_contiguous(ours, order) == _testbuffer.is_contiguous(theirs, order)


def test_columns_first():
    columns = Tensor((3, 4), "i32").permute((1, 0))
    assert answer(columns, FLAGS["PyBUF_F_CONTIGUOUS"])["f_contiguous"]
    assert answer(columns, FLAGS["PyBUF_ANY_CONTIGUOUS"])["shape"] == (4, 3)
    for request in ["PyBUF_C_CONTIGUOUS", "PyBUF_ND", "PyBUF_SIMPLE"]:
        assert answer(columns, FLAGS[request]) == "refused"
