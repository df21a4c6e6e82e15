"""Tensors to and from torch; scripts/test-torch installs one and runs this."""

import array
import gc
import hashlib
import subprocess
import sys
import warnings
import weakref

import pytest

import tenure
from tenure import Tensor

torch = pytest.importorskip("torch", reason="scripts/test-torch runs this with torch")

VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
TYPES = {
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "bool": torch.bool,
}
SHAPES = [(), (3,), (2, 3, 4), (0,), (0, 2), (1, 1, 1), (4096, 4096)]


def speaks(attempt):
    """Whether torch does this with a tensor of its own."""
    try:
        attempt()
    except (BufferError, RuntimeError, TypeError, AttributeError):
        return False
    return True


TAKES_BOOL = speaks(lambda: torch.from_dlpack(torch.zeros(1, dtype=torch.bool)))
READS_VERSIONS = speaks(lambda: torch.zeros(1).__dlpack__(max_version=(1, 0)))
TAKES_KEYWORDS = speaks(lambda: torch.from_dlpack(torch.zeros(1), copy=True))
HAS_TABLE = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def address(tensor):
    return tensor.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_round_trips(dtype, shape):
    t = Tensor(shape, dtype, "mem")
    if dtype == "bool" and not TAKES_BOOL:
        with pytest.raises(RuntimeError):
            torch.from_dlpack(t)
        return
    x = torch.from_dlpack(t)
    assert (tuple(x.shape), x.dtype) == (shape, TYPES[dtype])
    assert x.stride() == torch.zeros(shape).stride() or t.size == 0
    back = tenure.from_dlpack(x)
    assert (back.shape, back.dtype) == (shape, dtype)
    if t.size:
        assert x.data_ptr() == address(t) == address(back), "no copy"
        x.fill_(1)
        assert bool((torch.from_dlpack(back) == 1).all())


@pytest.mark.parametrize("memory", ["mem", "shm"])
def test_both_write_into_one_memory(memory):
    t = Tensor((2, 3), "i32", memory)
    x, y = torch.from_dlpack(t), torch.from_dlpack(t[:, ::2])
    x[1, 2] = 7
    with t.map() as view:
        assert view[1, 2] == 7
        view[0, 0] = 5
    assert (x[0, 0], y.tolist()) == (5, [[5, 0], [0, 7]])


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_asarray_warns_of_what_it_makes(tmp_path):
    """torch asks for bytes without a shape, as files do, before it asks for anything else."""
    t = Tensor((2, 3), "i32")
    with t.map() as view:
        view[1, 2] = 7
    with pytest.warns(RuntimeWarning, match=r"torch\.from_dlpack"):
        x = torch.asarray(t)
    if tuple(x.shape) == t.shape:
        pytest.fail("this torch asks for the shape: the warning can go")
    assert (tuple(x.shape), x.dtype, x.data_ptr()) == ((6,), torch.float32, address(t))
    assert torch.from_dlpack(t).tolist() == [[0, 0, 0], [0, 0, 7]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((RuntimeError, RuntimeWarning)):
            torch.asarray(t)
    # What is read-only is asked for twice, the second time with an error pending.
    with tenure.Publisher("cam", (2, 2), "u8", directory=tmp_path) as publisher:
        subscriber = tenure.subscribe("cam", directory=tmp_path)
        with publisher.frame() as view:
            view[1, 1] = 9
        frame = subscriber.next(5)
        for one in [frame, frame.tensor]:
            with pytest.warns(RuntimeWarning, match=r"torch\.from_dlpack"):
                assert torch.asarray(one, dtype=torch.uint8).tolist() == [0, 0, 0, 9]


def test_bytes_are_given_without_a_warning(tmp_path):
    t = Tensor((2, 3), "i32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.asarray is not None
        in_a_file(t, tmp_path / "bytes")


def in_a_file(t, path):
    path.write_bytes(t)
    with open(path, "r+b") as file:
        assert file.readinto(t) == file.write(t) == t.nbytes == len(bytes(t))
    assert hashlib.sha256(bytes(t)).digest() == hashlib.sha256(memoryview(t).cast("B")).digest()
    assert torch.frombuffer(t, dtype=torch.int32).tolist() == [0] * t.size


def test_elements_as_torch_lays_them_out():
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    wide = torch.arange(3, dtype=torch.int64).expand(2, 3)
    for view in [x, x.permute(2, 0, 1), x[:, ::2, 1:], x[..., -1], x[1, 2, 3], wide, x[:0]]:
        t = tenure.from_dlpack(view)
        assert t.shape == tuple(view.shape)
        assert t.size == 0 or address(t) == view.data_ptr()
        assert memoryview(t).tolist() == view.tolist()
        # Elements that share bytes go out read-only, which the old structure cannot say.
        if t.size and (READS_VERSIONS or 0 not in t.strides):
            assert torch.from_dlpack(t).tolist() == view.tolist()


def test_half_floats_have_the_same_bits():
    for dtype in ["f16", "bf16"]:
        x = torch.tensor([1.0, -2.5, 65504.0, float("inf")], dtype=TYPES[dtype])
        bits = memoryview(tenure.from_dlpack(x.view(torch.int16))).tolist()
        with tenure.from_dlpack(x).map_read() as view:
            assert array.array("h", view.tobytes()).tolist() == bits


def test_each_keeps_the_other():
    t = Tensor((1024,), "f32", "mem")
    x = torch.from_dlpack(t)
    seen = weakref.ref(t)
    del t
    gc.collect()
    assert seen() is None
    x.fill_(3)
    back = tenure.from_dlpack(x)[::2]
    del x
    gc.collect()
    assert memoryview(back).tolist() == [3.0] * 512


def test_refusals_are_torchs_own():
    # What torch does not lend, it says itself. Its table lends what needs a gradient.
    learned = torch.zeros(2, requires_grad=True)
    if HAS_TABLE:
        assert address(tenure.from_dlpack(learned)) == learned.data_ptr()
    else:
        with pytest.raises((BufferError, RuntimeError), match="grad"):
            tenure.from_dlpack(learned)
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        tenure.from_dlpack(torch.zeros(2, dtype=torch.complex32))
    complexes = tenure.from_dlpack(torch.ones(2, dtype=torch.complex64))
    assert complexes.dtype == "complex64"
    with pytest.raises((BufferError, RuntimeError)):
        tenure.from_dlpack(torch.zeros(2, 2).to_sparse())


def test_keywords():
    x = torch.arange(4)
    assert address(tenure.from_dlpack(x, device=(1, 0), copy=False)) == x.data_ptr()
    assert address(tenure.from_dlpack(x, copy=True)) != x.data_ptr()
    t = Tensor((4,), "i64")
    t.copy_from(x)
    assert memoryview(t).tolist() == [0, 1, 2, 3]
    if TAKES_KEYWORDS:
        assert torch.from_dlpack(t, copy=False, device="cpu").data_ptr() == address(t)
        assert torch.from_dlpack(t, copy=True).data_ptr() != address(t)


WRITE_INTO_A_FILE = """
import sys, tenure, torch
file = tenure.open(sys.argv[1])
assert file["a"].readonly
x = torch.from_dlpack(file["a"])
assert x.data_ptr() == file["a"].__array_interface__["data"][0], "no copy"
assert x[5] == 5
x.fill_(-1)
print(int(x.sum()))
"""


def test_writing_into_a_file_changes_a_copy(tmp_path):
    # torch has no tensors that are read-only and writes into all: that must neither kill the
    # process nor reach the file.
    path, t = tmp_path / "a.safetensors", Tensor((1 << 16,), "i32")
    torch.from_dlpack(t).copy_(torch.arange(t.size))
    tenure.save(path, {"a": t})
    before = path.read_bytes()
    run = [sys.executable, "-c", WRITE_INTO_A_FILE, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if READS_VERSIONS:
        assert (done.returncode, done.stdout) == (0, f"{-t.size}\n"), done.stderr
    else:
        assert done.returncode == 1 and "read-only" in done.stderr, done.stderr
    assert path.read_bytes() == before
    assert memoryview(tenure.open(path)["a"])[5] == 5


@pytest.mark.skipif(not HAS_TABLE, reason=f"torch {torch.__version__} has no exchange table")
def test_the_exchange_table_is_used():
    class Mute(torch.Tensor):
        """Speaks through the table only."""

        def __dlpack__(self, *_args, **_words):
            raise AssertionError("asked through Python")

        __dlpack_device__ = __dlpack__

    x = torch.arange(6.0).reshape(2, 3).as_subclass(Mute)
    t = tenure.from_dlpack(x)
    assert (address(t), t.shape) == (x.data_ptr(), (2, 3))
    with pytest.raises(AssertionError, match="through Python"):
        tenure.from_dlpack(x, copy=True)


def test_loaded_weights_compute(tmp_path):
    weights, bias = torch.randn(8, 4), torch.randn(8)
    tenure.save(
        tmp_path / "layer.safetensors",
        {"weight": tenure.from_dlpack(weights), "bias": tenure.from_dlpack(bias)},
    )
    loaded = tenure.open(tmp_path / "layer.safetensors").load(memory="mem")
    layer = torch.nn.Linear(4, 8)
    with torch.no_grad():
        layer.weight.set_(torch.from_dlpack(loaded["weight"]))
        layer.bias.set_(torch.from_dlpack(loaded["bias"]))
        x = torch.randn(3, 4)
        assert torch.equal(layer(x), torch.nn.functional.linear(x, weights, bias))


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_torch_writes_into_a_frame_and_nobody_sees_it(tmp_path):
    """torch ignores that memory is read-only, by every way to it."""
    ways = [lambda frame: torch.frombuffer(frame, dtype=torch.uint8)]
    if READS_VERSIONS:
        ways.append(torch.from_dlpack)
    with tenure.Publisher("cam", (1 << 18,), "u8", directory=tmp_path) as publisher:
        one = tenure.subscribe("cam", directory=tmp_path)
        other = tenure.subscribe("cam", directory=tmp_path)
        for index in range(8):
            with publisher.frame() as view:
                kept = torch.frombuffer(view, dtype=torch.uint8)
                kept.fill_(index)
            kept.add_(100)
            frame, beside = one.next(5).tensor, other.next(5).tensor
            for way in ways:
                x = way(frame)
                x.add_(1)
                assert x[0] in (index + 1, index + 2)
                assert torch.frombuffer(beside, dtype=torch.uint8).unique().tolist() == [index]
                assert set(bytes(memoryview(frame.to("mem")))) == {index}
            assert kept.unique().tolist() == [index + 100]


@pytest.mark.skipif(not READS_VERSIONS, reason="this torch does not read DLPack 1.0")
def test_torch_writes_into_a_published_tensor_and_no_consumer_sees_it(tmp_path):
    publisher = tenure.Publisher("any", directory=tmp_path)
    subscriber = tenure.subscribe("any", directory=tmp_path)
    t = Tensor((1 << 18,), "u8", "shm")
    x = torch.from_dlpack(t)
    for index in range(4):
        x.fill_(index)
        publisher.publish(t)
        x.add_(100)
        assert set(bytes(memoryview(subscriber.next(5).tensor))) == {index}
    del x
    gc.collect()
    publisher.publish(t)
    frame = subscriber.next(5).tensor
    torch.from_dlpack(t).add_(1)
    assert set(bytes(memoryview(frame))) == {103}
