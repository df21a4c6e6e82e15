"""Tensors to and from numpy: DLPack, buffer protocol, array interface."""

import gc
import threading

import numpy as np
import pytest

import tenure
from tenure import Tensor

TYPES = {
    "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32,
    "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f16": np.float16, "f32": np.float32,
    "f64": np.float64, "bool": np.bool_,
}  # fmt: skip


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype, theirs", TYPES.items())
@pytest.mark.parametrize("take", [np.from_dlpack, np.asarray])
def test_numpy_takes_every_type(dtype, theirs, take):
    t = Tensor((3, 4), dtype, "mem")
    array = take(t)
    assert (array.dtype, array.shape) == (theirs, (3, 4))
    array[1, 2] = 1
    assert np.asarray(t)[1, 2] == 1 and address(np.asarray(t)) == address(array)
    assert Tensor((1,), theirs).dtype == Tensor((1,), np.dtype(theirs)).dtype == dtype
    assert Tensor((1,), np.dtype(theirs).name).dtype == dtype


@pytest.mark.parametrize("dtype, theirs", TYPES.items())
def test_numpy_gives_every_type(dtype, theirs):
    array = np.arange(12).astype(theirs).reshape(3, 4)
    t = tenure.from_dlpack(array)
    assert (t.dtype, t.shape, t.memory) == (dtype, (3, 4), "mem")
    back = np.from_dlpack(t)
    assert address(back) == address(array) and np.array_equal(back, array)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array(5.0),
        lambda: np.zeros((0, 3), np.int16),
        lambda: np.arange(60).reshape(3, 4, 5)[::2, 1:, ::-1],
        lambda: np.arange(60).reshape(3, 4, 5).transpose(2, 0, 1),
        lambda: np.arange(60)[::-3],
        lambda: np.asfortranarray(np.arange(12).reshape(3, 4)),
        lambda: np.zeros((1,) * 8),
        lambda: np.ones(1 << 22, np.float32),
    ],
    ids=["0-d", "empty", "negative", "permuted", "backwards", "fortran", "rank 8", "big"],
)
@pytest.mark.parametrize("take", [np.from_dlpack, np.asarray])
def test_round_trips(make, take):
    array = make()
    back = take(tenure.from_dlpack(array))
    assert np.array_equal(back, array)
    assert back.dtype == array.dtype and back.shape == array.shape
    if array.size:
        assert address(back) == address(array)
        back[...] = 3
        assert (array == 3).all()


def test_what_numpy_has_and_tensors_have_not():
    for array in [np.zeros(3, np.clongdouble), np.zeros(3, np.longdouble)]:
        with pytest.raises(BufferError):
            tenure.from_dlpack(array)


@pytest.mark.parametrize(("word", "kind"), [("complex64", "f4"), ("complex128", "f8")])
def test_complex_elements(word, kind):
    array = np.array([1 + 2j, -3.5j, 0], word)
    t = tenure.from_dlpack(array)
    assert (t.dtype, t.shape) == (word, (3,))
    back = np.from_dlpack(t)
    assert back.dtype == word and address(back) == address(array)
    for view in [np.asarray(t), np.asarray(memoryview(t))]:
        assert view.dtype == word and address(view) == address(array)
        assert (view == array).all()
    assert memoryview(t).format == ("Zf" if kind == "f4" else "Zd")
    assert t.__array_interface__["typestr"][1:] == f"c{array.itemsize}"
    copy = Tensor((3,), np.dtype(word), "mem")
    copy.copy_from(t)
    assert (np.from_dlpack(copy).real == array.real.astype(kind)).all()
    for given in [word, getattr(np, word), array.dtype, array.dtype.str]:
        assert Tensor((2,), given).dtype == word


def test_read_only_stays_read_only():
    array = np.arange(6)
    array.flags.writeable = False
    t = tenure.from_dlpack(array)
    assert t.readonly and memoryview(t).readonly
    assert not np.from_dlpack(t).flags.writeable
    assert not np.asarray(t).flags.writeable
    assert t.__array_interface__["data"][1]
    with pytest.raises(BufferError, match="read-only"):
        t.map()
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()
    copy = np.from_dlpack(t, copy=True)
    assert copy.flags.writeable and address(copy) != address(array)
    with pytest.raises(BufferError):
        t.copy_from(np.zeros(6, int))


def test_keywords_of_dlpack():
    t = Tensor((4,), "f32", "shm")
    assert t.__dlpack_device__() == (1, 0)
    assert '"dltensor"' in repr(t.__dlpack__())
    assert '"dltensor"' in repr(t.__dlpack__(max_version=(0, 8)))
    for version in [(1, 0), (1, 9), (2, 0)]:
        assert '"dltensor_versioned"' in repr(t.__dlpack__(max_version=version))
    assert np.from_dlpack(t, device="cpu", copy=False).shape == (4,)
    a, b = np.from_dlpack(t), np.from_dlpack(t, copy=True)
    assert address(a) != address(b)
    # Names that are made while the program runs are other objects than those in its text.
    assert '"dltensor_versioned"' in repr(t.__dlpack__(**{"".join(["max_", "version"]): (1, 0)}))
    with pytest.raises(TypeError, match="flavour.*max_version"):
        t.__dlpack__(flavour=1)
    with pytest.raises(TypeError, match="by name"):
        t.__dlpack__(None)
    for words in [{"stream": "s"}, {"max_version": 1}, {"dl_device": (1,)}, {"copy": 1}]:
        with pytest.raises(TypeError, match=f"{next(iter(words))} is .*: pass None or"):
            t.__dlpack__(**words)
    with pytest.raises(TypeError):
        Tensor.__dlpack__(np.zeros(4))
    for words in [{"stream": 1}, {"dl_device": (2, 0)}, {"dl_device": (2, 0), "copy": True}]:
        with pytest.raises(BufferError):
            t.__dlpack__(**words)


@pytest.mark.parametrize("device", [(2**40, 0), (1, 2**40), (-(2**70), 0), (2, 0), (1, 1)])
def test_a_device_that_is_not_there_is_a_buffer_error(device):
    for array in [np.arange(4.0), Tensor((4,), "u8", "mem"), np.arange(4.0).__dlpack__()]:
        with pytest.raises(BufferError):
            tenure.from_dlpack(array, device=device)
    with pytest.raises(TypeError):
        tenure.from_dlpack(np.arange(4.0), device="cpu")


def test_keywords_of_from_dlpack():
    array = np.arange(4.0)
    shared = tenure.from_dlpack(array, device=(1, 0), copy=False)
    copied = tenure.from_dlpack(array, copy=True)
    array[0] = 9
    assert memoryview(shared)[0] == 9 and memoryview(copied)[0] == 0
    t = Tensor((4,))
    assert address(np.asarray(tenure.from_dlpack(t))) == address(np.asarray(t))
    assert address(np.asarray(tenure.from_dlpack(t, copy=True))) != address(np.asarray(t))
    with pytest.raises((BufferError, ValueError)):
        tenure.from_dlpack(array, device=(2, 0))


def test_producers_that_know_no_keywords():
    class Old:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, stream=None):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    array = np.arange(3)
    assert address(np.asarray(tenure.from_dlpack(Old(array)))) == address(array)
    copy = tenure.from_dlpack(Old(array), copy=True)
    assert address(np.asarray(copy)) != address(array)


def test_a_capsule_is_used_once():
    capsule = np.arange(3).__dlpack__(max_version=(1, 0))
    assert tenure.from_dlpack(capsule).shape == (3,)
    with pytest.raises(BufferError, match="once"):
        tenure.from_dlpack(capsule)


def test_nothing_leaks_and_nothing_dies_early():
    class Watched(np.ndarray):
        alive = 0

        def __del__(self):
            Watched.alive -= 1

    def watched():
        Watched.alive += 1
        return np.arange(1000).view(Watched)

    t = tenure.from_dlpack(watched())
    back, view = np.from_dlpack(t), memoryview(t[::2])
    del t
    gc.collect()
    assert Watched.alive == 1
    assert back[999] == 999 and view[499] == 998
    del back
    assert Watched.alive == 1
    del view
    gc.collect()
    assert Watched.alive == 0
    # Capsules that nobody takes, refused structures, other threads.
    t = tenure.from_dlpack(watched())
    t.__dlpack__(), t.__dlpack__(max_version=(1, 0))
    with pytest.raises(BufferError):
        tenure.from_dlpack(np.zeros(9, np.uint8)[1:].view(np.float64).__dlpack__())
    views = [np.from_dlpack(t)]
    del t
    thread = threading.Thread(target=views.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert Watched.alive == 0


def test_views_never_exclude_each_other(tmp_path):
    t = Tensor((480, 640, 3), "u8").with_format("rgb")
    first, second = np.asarray(t), np.from_dlpack(t)
    held = t.__array_interface__
    with t.map() as view, t.map_read() as other:
        first[0, 0, 0] = 1
        assert second[0, 0, 0] == view[0, 0, 0] == other[0, 0, 0] == 1
        # Kernels work on tensors that others see.
        t.copy_from(np.full((480, 640, 3), 7, np.uint8))
        assert (second == 7).all() and held["data"][0] == address(first)
        target = Tensor.image(640, 480, "rgb", "f32")
        seen = np.asarray(target)
        tenure.ImageProcessor().convert(t, target)
        assert (seen == 7).all()
        tenure.save(tmp_path / "seen.npy", target)
        tenure.save_image(tmp_path / "seen.png", t)
        assert (np.load(tmp_path / "seen.npy") == 7).all()
        assert (np.asarray(tenure.read_image(tmp_path / "seen.png")) == 7).all()
        assert (np.asarray(t.to("shm")) == 7).all()


def test_array_interface():
    class Interface:
        def __init__(self, tensor):
            self.tensor = tensor
            self.__array_interface__ = tensor.__array_interface__

    t = tenure.from_dlpack(np.arange(12, dtype=np.int32).reshape(3, 4)[::-1, ::2])
    array = np.asarray(Interface(t))
    assert np.array_equal(array, np.asarray(t)) and address(array) == address(np.asarray(t))
    assert "typestr" in Tensor((), "f64").__array_interface__
    with pytest.raises(AttributeError):
        Tensor((4,), "u4").__array_interface__


def test_brain_floats():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    t = Tensor((4,), "bf16")
    np.asarray(t).view(ml_dtypes.bfloat16)[:] = [0.5, 1, 2, 4]
    with t.map_read() as view:
        assert np.asarray(view).view(ml_dtypes.bfloat16).ravel().tolist() == [0.5, 1, 2, 4]
    assert Tensor((4,), ml_dtypes.bfloat16).dtype == "bf16"


def test_threads():
    """Everything at once from many threads, which with the lock released really meet."""
    t = Tensor((256, 256), "f32")
    failed = []

    def work():
        try:
            for _ in range(50):
                assert np.from_dlpack(t).shape == (256, 256)
                assert np.asarray(t[::2, ::-1]).shape == (128, 256)
                assert tenure.from_dlpack(np.asarray(t)).to("mem").nbytes == t.nbytes
                with t.map() as view:
                    view[0, 0] = 1.0
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
