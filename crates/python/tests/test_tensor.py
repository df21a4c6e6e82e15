"""Tensors by themselves: what they say, views, copies, maps. Nothing here needs numpy."""

import gc
import subprocess
import sys
import weakref

import pytest

import tenure
from tenure import Tensor

WORDS = {
    "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "L", "i64": "l",
    "f16": "e", "f32": "f", "f64": "d", "bool": "?",
}  # fmt: skip


def numbered(*shape):
    """A tensor whose elements count up."""
    tensor = Tensor(shape, "i32", "mem")
    with tensor.reshape((tensor.size,)).map() as view:
        for index in range(tensor.size):
            view[index] = index
    return tensor


def test_what_a_tensor_says():
    t = Tensor((2, 3), memory="shm", name="frame")
    assert (t.shape, t.strides, t.dtype) == ((2, 3), (3, 1), "f32")
    assert (t.memory, t.space, t.nbytes, t.name) == ("shm", "main", 24, "frame")
    assert (t.format, t.readonly, t.ndim, t.size, len(t)) == (None, False, 2, 6, 2)
    assert repr(t) == "Tensor(shape=(2, 3), dtype='f32', memory='shm', name=\"frame\")"
    assert memoryview(t).tolist() == [[0.0] * 3] * 2
    assert Tensor(5).shape == (5,) and Tensor([]).shape == ()
    assert weakref.ref(t)() is t


def test_pictures():
    t = Tensor.image(640, 480, "nv12", memory="mem")
    assert (t.format, t.shape) == ("nv12", (720, 640))
    assert (t.plane(0).shape, t.plane(1).shape) == ((480, 640), (240, 320, 2))
    assert Tensor((480, 640, 3), "u8").with_format("rgb").format == "rgb"


@pytest.mark.parametrize("dtype, word", WORDS.items())
def test_formats_of_python(dtype, word):
    view = memoryview(Tensor((3, 2), dtype))
    assert (view.format, view.shape, view.readonly) == (word, (3, 2), False)
    assert view.nbytes == Tensor((3, 2), dtype).nbytes


def test_elements_without_a_format_are_mapped_as_bytes():
    for dtype, size in {"bf16": 2, "f8e4m3": 1, "f8e5m2": 1}.items():
        t = Tensor((4,), dtype)
        with pytest.raises(BufferError, match="no format"):
            memoryview(t)
        with t.map() as view:
            assert (view.format, view.shape) == ("B", (4, size))
    with pytest.raises(BufferError, match="share bytes"):
        memoryview(Tensor((5,), "u4"))
    with Tensor((5,), "u4").map_read() as view:
        assert (view.format, view.shape, view.readonly) == ("B", (3,), True)


def test_maps_are_released_at_the_end():
    t = Tensor((4,), "u8")
    with t.map() as view:
        view[0] = 7
        with t.map_read() as other:
            assert other[0] == 7 and other.readonly
    with pytest.raises(ValueError, match="released"):
        view[0]
    with pytest.raises(TypeError), t.map_read() as view:
        view[0] = 1
    # What was made of the view goes on, and the block ends all the same.
    with t.map() as view:
        part = view[1:]
    part[0] = 9
    assert memoryview(t)[1] == 9
    mapped = t.map()
    with mapped, pytest.raises(BufferError, match="already"), mapped:
        pass


def test_memory_outlives_the_tensor():
    t = Tensor((1000,), "u8", "shm")
    view = memoryview(t)
    part = t[10:20]
    del t
    gc.collect()
    view[10] = 5
    assert memoryview(part)[0] == 5


def test_slices_are_those_of_lists():
    t = numbered(4, 5, 6)
    rows = memoryview(t).tolist()
    for key in [slice(1, 3), slice(None, None, -1), slice(-1, 0, -2), slice(3, 1), slice(9, 1, -3)]:
        assert memoryview(t[key]).tolist() == rows[key]
        assert memoryview(t[:, key]).tolist() == [row[key] for row in rows]
        assert memoryview(t[..., key]).tolist() == [[row[key] for row in rows] for rows in rows]
    assert memoryview(t[-1, 0, ::-2]).tolist() == rows[-1][0][::-2]
    assert memoryview(t[::-1][::-1]).tolist() == rows
    assert t[::-1, 1:, ::2][1, 0].shape == (3,)
    assert memoryview(t[::-1, 1:, ::2][1, 0]).tolist() == rows[2][1][::2]
    assert t[None, ..., None].shape == (1, 4, 5, 6, 1)
    assert t[1, 2, 3].shape == () and memoryview(t[1, 2, 3])[()] == rows[1][2][3]
    assert len(list(t)) == 4
    for key in [4, -5, (0, 0, 0, 0), (..., ...)]:
        with pytest.raises(IndexError):
            t[key]
    for key in ["a", 1.5, [1]]:
        with pytest.raises(TypeError):
            t[key]
    with pytest.raises(ValueError):
        t[::0]


def test_views_and_copies():
    t = numbered(2, 3)
    assert memoryview(t.permute((1, 0))).tolist() == [[0, 3], [1, 4], [2, 5]]
    copy = t.permute((1, 0)).to("shm")
    assert (copy.memory, copy.strides) == ("shm", (2, 1))
    assert memoryview(copy).tolist() == [[0, 3], [1, 4], [2, 5]]
    t.copy_from(copy.permute((1, 0))[::-1])
    assert memoryview(t).tolist() == [[3, 4, 5], [0, 1, 2]]
    with pytest.raises(ValueError):
        t.copy_from(copy)


@pytest.mark.parametrize(
    "wrong, kind, words",
    [
        (lambda: Tensor((2,), "f33"), ValueError, "f33"),
        (lambda: Tensor((2,), memory="ram"), ValueError, "ram"),
        (lambda: Tensor((-1,)), ValueError, "-1"),
        (lambda: Tensor("ab"), TypeError, "shape"),
        (lambda: Tensor((2,), 7), TypeError, "int"),
        (lambda: Tensor((1 << 62,)), ValueError, "more"),
        (lambda: Tensor((1 << 46,), memory="mem"), MemoryError, str(1 << 48)),
        (lambda: Tensor((2,), memory="mem").fd(), OSError, "shm"),
        (lambda: Tensor((2,), memory="pbo"), OSError, "pbo"),
        (lambda: len(Tensor(())), TypeError, "length"),
        (lambda: Tensor((4,)).reshape((5,)), ValueError, "5"),
        (lambda: Tensor.image(4, 4, "rgbx5"), ValueError, "rgbx5"),
        (lambda: tenure.from_dlpack(3), TypeError, "int"),
        (lambda: tenure.from_fd(-1, (2,)), ValueError, "-1"),
    ],
)
def test_refusals(wrong, kind, words):
    with pytest.raises(kind, match=words):
        wrong()


def test_works_without_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None; import tenure;"
        "t = tenure.Tensor((2, 2)); t.__array_interface__;"
        "assert tenure.from_dlpack(t).shape == (2, 2);"
        "assert tenure.from_dlpack(t.__dlpack__()).shape == (2, 2)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_documentation_is_true():
    import doctest

    import tenure._plan
    import tenure._statistics

    for module in (tenure, tenure._plan, tenure._statistics):
        assert doctest.testmod(module).failed == 0
    for name in tenure.__all__:
        assert getattr(tenure, name).__doc__, name
