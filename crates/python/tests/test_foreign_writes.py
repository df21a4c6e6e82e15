"""Libraries that write where they may only read, and arrays that outlive publishing.

Read-only flags bind nobody: torch ignores them, and so does ctypes here. What is written must stay
with whoever wrote it, and kill nobody.
"""

import ctypes
import gc
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tenure

SIZE = 300_000


def interface(tensor):
    return tensor, tensor.__array_interface__["data"][0]


def buffer(tensor):
    array = np.frombuffer(memoryview(tensor), dtype=np.uint8)
    return array, array.ctypes.data


def mapped(tensor):
    with tensor.map_read() as view:
        array = np.asarray(view)
    return array, array.ctypes.data


def dlpack(tensor):
    array = np.from_dlpack(tensor)
    return array, array.ctypes.data


def forced(tensor):
    """An array of numpy that is told that it may write: bit 10 of its flags."""
    array = np.asarray(tensor)
    # Behind the object's head: data, dimensions, shape, strides, base, descr.
    at = id(array) + object.__basicsize__ + 6 * ctypes.sizeof(ctypes.c_void_p)
    flags = ctypes.c_int.from_address(at)
    assert bool(flags.value & 0x400) == array.flags.writeable
    flags.value |= 0x400
    assert array.flags.writeable
    array += 1
    return array, array.ctypes.data


EXPORTS = [interface, buffer, mapped, dlpack, forced]


@pytest.fixture
def here(tmp_path):
    return tmp_path


@pytest.mark.parametrize("export", EXPORTS)
def test_a_write_to_a_frame_stays_with_the_export(here, export):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        one = tenure.subscribe("cam", directory=here)
        other = tenure.subscribe("cam", directory=here)
        for index in range(12):
            with publisher.frame() as view:
                view[:] = bytes([index]) * SIZE
            frame, beside = one.next(5).tensor, other.next(5).tensor
            keep, address = export(frame)
            offset = index * 1000
            ctypes.memset(address + offset, 99, SIZE - offset)
            assert ctypes.string_at(address + SIZE - 1, 1) == b"c"
            # Neither the other consumer nor a copy made in Rust sees it, nor a later frame.
            assert set(bytes(memoryview(beside))) == {index}
            assert set(bytes(memoryview(frame.to("mem")))) == {index}
            del keep
            gc.collect()
            if export in (mapped, dlpack):
                assert set(bytes(memoryview(frame))) == {index}


def test_an_ignored_flag_kills_nobody(here):
    """As a process of its own, so that a signal is seen as one."""
    script = """
        import ctypes, sys
        import numpy as np, tenure
        publisher = tenure.Publisher("cam", (4096,), "u8", directory=sys.argv[1])
        subscriber = tenure.subscribe("cam", directory=sys.argv[1])
        with publisher.frame() as view:
            view[0] = 7
        frame = subscriber.next(5).tensor
        array = np.from_dlpack(frame)
        ctypes.memset(array.ctypes.data, 1, 4096)
        print(array[0], frame.to("mem").__array_interface__["shape"], end="")
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(here)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"1 (4096,)"), done.stderr.decode()


def test_an_array_kept_past_publishing_is_a_copy(here):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        kept = []
        for index in range(20):
            with publisher.frame() as view:
                array = np.asarray(view)
                array[:] = index
            # It neither raises nor reaches the frame.
            array[::2] = 200
            frame = subscriber.next(5).tensor
            array[1] = 201
            assert set(bytes(memoryview(frame))) == {index}
            kept = (kept + [(array, index)])[-6:]
            # The slots were used again meanwhile.
            for array, number in kept:
                assert (array[0], array[1], array[3], array[-1]) == (200, 201, number, number)


def careless(view):
    """What torch.frombuffer has: the view, and an address, but not the buffer."""
    return view, np.frombuffer(view, dtype=np.uint8).ctypes.data


def test_an_address_without_a_buffer_is_one_of_a_copy(here):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        for index in range(8):
            with publisher.frame() as view:
                keep, address = careless(view)
                ctypes.memset(address, index, SIZE)
            ctypes.memset(address, 50, SIZE)
            frame = subscriber.next(5).tensor
            assert set(bytes(memoryview(frame.to("mem")))) == {index}
            # The same with what may only be read.
            frame, address = careless(frame)
            others = [np.from_dlpack(frame[n:]) for n in range(5)]
            del others
            gc.collect()
            ctypes.memset(address, 60, SIZE)
            assert set(bytes(memoryview(frame.to("mem")))) == {index}
            del keep


def test_a_tensor_kept_past_publishing_is_a_copy(here):
    with tenure.Publisher("cam", (4,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        slot = publisher.frame()
        with slot as view:
            tensor = slot.tensor
            view[:] = b"abcd"
        np.asarray(tensor)[:] = 0
        assert bytes(memoryview(subscriber.next(5).tensor)) == b"abcd"
        assert publisher.publish(tensor) == 1
        np.asarray(tensor)[:] = 1
        assert bytes(memoryview(subscriber.next(5).tensor)) == bytes(4)


def test_a_thread_that_never_stops_writing_changes_no_frame(here):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        for _ in range(10):
            stop, going = threading.Event(), threading.Event()
            with publisher.frame() as view:
                array = np.asarray(view)

                def write(array=array, stop=stop, going=going):
                    number = 0
                    while not stop.is_set():
                        number += 1
                        array[:] = number % 251
                        going.set()

                thread = threading.Thread(target=write)
                thread.start()
                assert going.wait(60)
            frame = subscriber.next(5).tensor
            before = bytes(memoryview(frame))
            for _ in range(3):
                going.clear()
                assert going.wait(60)
                assert bytes(memoryview(frame)) == before
            stop.set()
            thread.join()


def test_an_array_of_a_published_tensor_does_not_reach_the_frame(here):
    publisher = tenure.Publisher("any", directory=here)
    subscriber = tenure.subscribe("any", directory=here)
    tensor = tenure.Tensor((SIZE,), "u8", "shm")
    array = np.asarray(tensor)
    for index in range(5):
        array[:] = index
        assert publisher.publish(tensor) == 1
        array[:] = 99
        assert set(bytes(memoryview(subscriber.next(5).tensor))) == {index}
    assert array.flags.writeable and np.shares_memory(array, np.asarray(tensor))
    del array
    gc.collect()

    # What consumers have now can only be read here, and what is written all the same stays here.
    assert publisher.publish(tensor) == 1
    frame = subscriber.next(5).tensor
    for export in [buffer, dlpack, forced]:
        keep, address = export(tensor)
        ctypes.memset(address, 5, SIZE)
        assert set(bytes(memoryview(frame))) == {99}
        del keep
        gc.collect()
    assert not np.asarray(tensor).flags.writeable
    with pytest.raises(BufferError, match="published"), tensor.map():
        pass
    del frame
    gc.collect()
    while not np.asarray(tensor).flags.writeable:
        pass
    np.asarray(tensor)[:] = 1


class _Buffer(ctypes.Structure):
    """Python's `Py_buffer`."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


WRITABLE, STRIDES_AND_FORMAT = 1, 0x1C


class Kept:
    """What torch.frombuffer has: the object, and an address, but not the buffer."""

    def __init__(self, exporter, flags=WRITABLE):
        get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
        view = _Buffer()
        try:
            get(ctypes.py_object(exporter), ctypes.byref(view), flags)
        except BufferError:
            get(ctypes.py_object(exporter), ctypes.byref(view), 0)
        self.object = ctypes.cast(view.obj, ctypes.py_object).value
        self.address, self.size = view.buf, view.len
        release(ctypes.byref(view))

    def fill(self, value):
        ctypes.memset(self.address, value, self.size)

    def values(self):
        return set(ctypes.string_at(self.address, self.size))


def tensor_itself(tensor):
    return Kept(tensor)


def tensor_with_a_shape(tensor):
    return Kept(tensor, STRIDES_AND_FORMAT)


def map_itself(tensor):
    return Kept(tensor.map())


def map_used_in_a_block_too(tensor):
    mapped = tensor.map()
    with mapped:
        return Kept(mapped)


def view_of_a_block(tensor):
    with tensor.map() as view:
        return Kept(view)


def view_of_a_block_without_a_variable(tensor):
    mapped = tensor.map()
    kept = Kept(mapped.__enter__())
    mapped.__exit__(None, None, None)
    return kept


def object_behind_a_view(tensor):
    with tensor.map() as view:
        return Kept(view.obj)


KEEPERS = [
    tensor_itself,
    tensor_with_a_shape,
    map_itself,
    map_used_in_a_block_too,
    view_of_a_block,
    view_of_a_block_without_a_variable,
    object_behind_a_view,
]


@pytest.mark.parametrize("keep", KEEPERS)
def test_a_kept_address_does_not_reach_what_was_published(here, keep):
    with tenure.Publisher("any", directory=here) as publisher:
        subscriber = tenure.subscribe("any", directory=here)
        tensor = tenure.Tensor((SIZE,), "u8", "shm")
        kept = keep(tensor)
        for index in range(5):
            kept.fill(index)
            assert publisher.publish(tensor) == 1
            frame = subscriber.next(5).tensor
            kept.fill(99)
            assert set(frame.tobytes()) == {index} and kept.values() == {99}


def deleted(slot):
    with slot as view:
        kept = Kept(view)
        kept.fill(1)
        del view
    return kept


def inline(slot):
    kept = Kept(slot.__enter__())
    kept.fill(1)
    slot.__exit__(None, None, None)
    return kept


def in_a_variable(slot):
    with slot as view:
        kept = Kept(view)
        kept.fill(1)
    return kept


def in_two_variables(slot):
    with slot as view:
        other = view
        kept = Kept(other)
        kept.fill(1)
        del view
    return kept


def the_tensor_of_the_slot(slot):
    tensor = slot.tensor
    with slot:
        kept = Kept(tensor)
        kept.fill(1)
    return kept


@pytest.mark.parametrize(
    "use", [deleted, inline, in_a_variable, in_two_variables, the_tensor_of_the_slot]
)
def test_a_kept_address_of_a_slot_is_one_of_a_copy(here, use):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        keep = []
        for _ in range(8):
            kept = use(publisher.frame())
            frame = subscriber.next(5).tensor
            kept.fill(9)
            assert set(frame.tobytes()) == {1} and kept.values() == {9}
            keep = [*keep, kept][-3:]
            assert all(kept.values() == {9} for kept in keep)


def test_a_view_that_only_the_block_has_costs_nothing(here):
    """The frame stays where it is: its address is one of few that are used in turn."""
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        addresses = set()
        for _ in range(30):
            with publisher.frame() as view:
                addresses.add(np.asarray(view).ctypes.data)
                with publisher.frame() as other:
                    addresses.add(np.asarray(other).ctypes.data)
            for released in [view, other]:
                with pytest.raises(ValueError, match="released"):
                    bytes(released)
            assert subscriber.latest() is not None
        assert len(addresses) < 20


def frame_itself(frame):
    return Kept(frame)


def frame_tensor(frame):
    return Kept(frame.tensor)


def frame_map(frame):
    return Kept(frame.tensor.map_read())


def frame_view(frame):
    with frame.tensor.map_read() as view:
        return Kept(view)


@pytest.mark.parametrize("keep", [frame_itself, frame_tensor, frame_map, frame_view])
def test_a_kept_address_of_a_frame_does_not_reach_later_frames(here, keep):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here, credits=2)
        for index in range(10):
            with publisher.frame() as view:
                view[:] = bytes([index]) * SIZE
            frame = subscriber.next(5)
            # Nothing of what was written to the frames before.
            assert set(np.asarray(frame).tobytes()) == {index}
            assert set(np.from_dlpack(frame.tensor).tobytes()) == {index}
            assert set(frame.tensor.to("mem").tobytes()) == {index}
            kept = keep(frame)
            kept.fill(77)
            assert set(frame.tensor.to("mem").tobytes()) == {index}
            del kept, frame
            gc.collect()


def test_a_write_to_a_tensor_of_a_file_stays_with_the_file_object(tmp_path):
    path = tmp_path / "w.npy"
    np.save(path, np.full(SIZE, 7, np.uint8))
    file = tenure.open(path)
    for export in EXPORTS:
        tensor = file["w"]
        keep, address = export(tensor)
        ctypes.memset(address, 9, SIZE)
        assert set(np.asarray(tenure.open(path)["w"]).tobytes()) == {7}
        assert set(tensor.to("mem").tobytes()) == {7}
        tenure.save(tmp_path / "copy.npy", tensor)
        assert set(np.load(tmp_path / "copy.npy").tobytes()) == {7}
        with tenure.Publisher("any", directory=tmp_path) as publisher:
            subscriber = tenure.subscribe("any", directory=tmp_path)
            for copy in [False, True]:
                publisher.publish(tensor, copy=copy)
                assert set(subscriber.next(5).tensor.tobytes()) == {7}
        del keep, tensor
        gc.collect()
        assert set(np.asarray(file["w"]).tobytes()) == {7}
    assert set(np.load(path).tobytes()) == {7}
