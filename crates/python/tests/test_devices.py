"""Memory of devices, on a real driver: the one that TENURE_TEST_DEVICE names, or the first here."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import tenure
from tenure import Tensor

BACKENDS = {"cuda", "hip", "opencl", "vulkan"}
# Takes a device some time, so that whoever does not wait is seen.
LARGE = (64, 1 << 20)


@pytest.fixture(scope="module")
def device():
    word = os.environ.get("TENURE_TEST_DEVICE")
    if word is None:
        found = tenure.devices()
        words = [device.word for device in found if device.unusable is None]
        if not words:
            pytest.skip(f"no device: {found.missing}")
        word = words[0]
    return tenure.open_device(word)


def run(code, **environment):
    words = [sys.executable, "-c", code]
    settings = {**os.environ, **environment}
    return subprocess.run(words, env=settings, capture_output=True, text=True, timeout=300)


def numbers(*shape):
    return np.arange(np.prod(shape), dtype="i4").reshape(shape)


def back(tensor):
    return np.asarray(tensor.to("cpu"))


def test_every_backend_has_devices_or_a_reason():
    found = tenure.devices()
    assert {device.word.split(":")[0] for device in found} | set(found.missing) == BACKENDS
    for listed in found:
        assert listed.name and listed.driver and listed.heaps[0].bytes > 0
        assert listed.kind in {"discrete", "integrated", "virtual", "software", "other"}
    for reason in found.missing.values():
        assert reason.startswith(("no library: ", "driver too old: ", "no device: "))


def test_without_a_driver():
    code = """
import tenure
missing = tenure.devices().missing["vulkan"]
assert missing.startswith("no device: "), missing
try:
    tenure.open_device("vulkan:0")
except OSError as error:
    assert "no device" in str(error), error
else:
    raise AssertionError
"""
    # Both names, of older and newer loaders.
    answer = run(code, VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent")
    if "no library" in answer.stderr:
        pytest.skip("there is no loader of Vulkan")
    assert answer.returncode == 0, answer.stderr


def test_what_a_device_says(device):
    listed = {listed.word: listed for listed in tenure.devices()}[device.word]
    assert (device.name, device.kind) == (listed.name, listed.kind)
    assert [heap[0] for heap in device.heaps] == [heap.bytes for heap in listed.heaps]
    assert str(device) == device.word and device.name in repr(device)
    assert device.space == f"gpu:{device.word.split(':')[1]}"
    assert {"device", "pinned"} <= set(device.memories) and len(device.uuid) == 32
    assert device.queues >= 1 and device.queue == 0
    again = tenure.open_device(device.word)
    assert again == device and hash(again) == hash(device) and len({again, device}) == 1
    assert device.on_queue(device.queues - 1).queue == device.queues - 1
    with pytest.raises(ValueError, match="counted from 0"):
        device.on_queue(1000)


@pytest.mark.parametrize("word", ["", "ram", "vulkan:", "vulkan:-1", "vulkan:0:0", "opengl:0"])
def test_words_that_are_no_device(word):
    with pytest.raises(ValueError, match='such as "vulkan:0"'):
        tenure.open_device(word)
    with pytest.raises(ValueError):
        Tensor((2,)).to(word or "nowhere")


def test_devices_that_are_not_there(device):
    with pytest.raises(OSError):
        tenure.open_device(device.word.split(":")[0] + ":1000")
    with pytest.raises(OSError, match="open one that has"):
        Tensor((2,)).to("gpu:1000")


def test_memory_of_a_device(device):
    t = device.tensor((2, 3), "f32", name="there")
    assert (t.memory, t.space, t.device) == ("device", device.space, device.word)
    assert (t.shape, t.dtype, t.name, t.readonly) == ((2, 3), "f32", "there", False)
    assert f"device='{device.word}'" in repr(t)
    codes = {"cuda": 2, "opencl": 4, "vulkan": 7, "hip": 10}
    backend, number = device.word.split(":")
    assert t.__dlpack_device__() == (codes[backend], int(number))
    assert not back(t).any(), "new memory is zero"


@pytest.mark.parametrize("memory", ["pinned", "managed"])
def test_memory_that_the_cpu_reaches_too(device, memory):
    if memory not in device.memories:
        with pytest.raises(OSError, match="use pinned or device"):
            device.tensor((4,), memory=memory)
        return
    t = device.tensor((4,), "i32", memory)
    assert (t.memory, t.space, t.device) == (memory, memory, "cpu")
    np.asarray(t)[:] = [1, 2, 3, 4]
    assert back(t.to(device)).tolist() == [1, 2, 3, 4]
    # Without naming the device: of the first that is open.
    assert Tensor((2,), memory=memory).memory == memory
    assert Tensor((2,)).to(memory).space == memory
    if device.word.startswith("vulkan"):
        assert t.__dlpack_device__() == (1, 0)


def test_there_and_back(device):
    a = numbers(5, 7, 3)
    for source in (tenure.from_dlpack(a), tenure.from_dlpack(a).to("shm")):
        for place in (device, device.word, device.queued()):
            there = source.to(place)
            assert (there.space, there.shape) == (device.space, a.shape)
            assert (back(there) == a).all()
    assert there.to("mem").memory == "mem" and there.to(memory="shm").memory == "shm"
    assert there.to().space == "main" and there.to("main").space == "main"
    # From a device to the same one, by each of its names.
    for place in (device.space, "device", device):
        assert (back(there.to(place)) == a).all()
    assert there.to(device.word, memory="pinned").memory == "pinned"


def test_views_of_a_device(device):
    a = numbers(6, 8, 4)
    there = tenure.from_dlpack(a).to(device)
    for index in [(slice(1, 5), slice(None, None, 2)), (3,), (slice(None), 1, slice(2, None))]:
        assert (back(there[index]) == a[index]).all()
    assert (back(there.permute((2, 0, 1))) == a.transpose(2, 0, 1)).all()
    there[2:4].copy_from(np.zeros((2, 8, 4), "i4"))
    there[0].copy_from(there[5])
    a[2:4], a[0] = 0, a[5]
    assert (back(there) == a).all()
    with pytest.raises((ValueError, BufferError)):
        there.copy_from(numbers(6, 8, 3))


def test_pictures_on_a_device(device):
    picture = Tensor.image(64, 48, "nv12", memory="mem")
    np.asarray(picture.plane(1))[:] = 7
    there = device.image(64, 48, "nv12")
    there.copy_from(picture)
    assert there.format == "nv12" and (back(there.plane(1)) == 7).all()
    assert there.to("mem").format == "nv12"


def test_what_the_cpu_does_not_reach_names_the_call(device):
    t = device.tensor((4,))
    for look in (t.map, t.map_read, lambda: memoryview(t), lambda: np.asarray(t)):
        with pytest.raises(BufferError, match=r"to\('mem'\).*copy_from\(\)"):
            look()
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(1, 0), copy=False)
    # Asked for by name, the CPU gets a copy.
    assert np.from_dlpack(t, device="cpu").tolist() == [0, 0, 0, 0]


def test_without_an_open_device_it_is_said_how_to_open_one():
    code = """
import tenure
for make in (lambda: tenure.Tensor((2,), memory="device"), lambda: tenure.Tensor((2,)).to("pinned")):
    try:
        make()
    except OSError as error:
        assert "tenure.open_device()" in str(error), error
    else:
        raise AssertionError
"""
    answer = run(code)
    assert answer.returncode == 0, answer.stderr


def test_two_places_at_once_are_refused(device):
    t = Tensor((2,))
    with pytest.raises(ValueError, match="two places"):
        t.to("shm", memory="pinned")
    with pytest.raises(ValueError, match="two places"):
        t.to(device.pool(), memory="pinned")
    with pytest.raises(TypeError, match="a Device or a Pool"):
        t.to(7)
    with pytest.raises(OSError, match="device, pinned and managed"):
        t.to(device, memory="shm")


def test_a_copy_that_goes_on(device):
    a = np.ones(LARGE, "u1")
    there, fence = tenure.from_dlpack(a).to_later(device)
    assert fence.wait() and fence.done and fence.wait(0) and repr(fence) == "Fence(done)"
    here = Tensor(LARGE, "u8", "mem")
    fence = here.copy_from_later(there)
    assert isinstance(fence.fileno(), int)
    assert fence.wait(timeout=300)
    assert np.asarray(here).all()
    with pytest.raises(ValueError, match="seconds"):
        fence.wait(-1)


def through_the_exchange_table(tensor):
    return tenure.from_dlpack(pytest.importorskip("tvm_ffi").from_dlpack(tensor))


@pytest.mark.parametrize(
    "look",
    [
        np.asarray,
        np.from_dlpack,
        memoryview,
        lambda t: np.asarray(t.map_read().__enter__()),
        lambda t: np.asarray(t.__array_interface__ and t),
        through_the_exchange_table,
    ],
)
def test_views_wait_for_copies(device, look):
    there = tenure.from_dlpack(np.ones(LARGE, "u1")).to(device)
    for _ in range(3):
        here = Tensor(LARGE, "u8", "mem")
        here.copy_from_later(there)
        # The last bytes come last.
        assert np.asarray(look(here))[-1, -1] == 1


def test_writing_waits_for_whoever_reads(device):
    for _ in range(3):
        here, there = Tensor(LARGE, "u8", "mem"), device.tensor(LARGE, "u8")
        np.asarray(here)[:] = 1
        fence = there.copy_from_later(here)
        np.asarray(here)[:] = 2
        assert fence.done and (back(there) == 1).all()


def test_a_map_without_patience(device):
    there = tenure.from_dlpack(np.ones(LARGE, "u1")).to(device)
    refused = 0
    for _ in range(20):
        here = Tensor(LARGE, "u8", "mem")
        fence = here.copy_from_later(there)
        try:
            with here.map(timeout=0):
                assert fence.done
        except BufferError as error:
            assert "under way" in str(error)
            refused += 1
        # Only the bytes of the copy are in the way.
        with Tensor((4,)).map(timeout=0):
            pass
        with here.map_read(timeout=300) as view:
            assert view[63, -1] == 1
    assert refused > 0


def test_copies_outlive_their_tensors(device):
    there = tenure.from_dlpack(np.ones(LARGE, "u1")).to(device)
    here = Tensor(LARGE, "u8", "mem")
    fence = here.copy_from_later(there)
    del there, here
    gc.collect()
    assert fence.wait()


def test_several_copies_at_once(device):
    arrays = [numbers(50, n + 1) for n in range(20)]
    there = [device.tensor(a.shape, "i32") for a in arrays]
    tenure.copy_all(list(zip(there, arrays)))
    here = [Tensor(a.shape, "i32", "mem") for a in arrays]
    fences = tenure.copy_all_later(list(zip(here, there)))
    assert len(fences) == 1
    # Views wait, of every one of them.
    assert all((np.asarray(t) == a).all() for t, a in zip(here, arrays))
    assert fences[0].done and tenure.copy_all_later([]) == []
    with pytest.raises(BufferError):
        tenure.copy_all([(there[0], here[0]), (there[0], here[0])])
    with pytest.raises(TypeError):
        tenure.copy_all([(arrays[0], there[0])])


def test_pools(device):
    pool = device.pool(buffers=2)
    for round in range(4):
        t = pool.tensor((256, 256), "f32", name="frame")
        assert (t.memory, t.device, t.name) == ("device", device.word, "frame")
        assert Tensor((8,), "u8").to(pool).space == device.space
        del t
    report = pool.report()
    assert report["misses"] == 2 and report["hits"] == 6 and report["kept"] == 2
    pool.trim()
    assert pool.report()["kept"] == 0
    assert pool.image(64, 48, "rgb").format == "rgb"
    assert device.usage()["device"][0] >= device.usage()["device"][1] > 0


def test_files_are_loaded_onto_a_device(device, tmp_path):
    a = numbers(300, 700)
    tenure.save(tmp_path / "a.safetensors", {"a": tenure.from_dlpack(a)})
    file = tenure.open(tmp_path / "a.safetensors")
    for place in (device, device.word, device.pool()):
        loaded = file.load(memory=place)["a"]
        assert loaded.device == device.word and (back(loaded) == a).all()
    with pytest.raises(ValueError):
        file.load(memory="ram")


def test_plans_are_placed_on_a_device(device):
    buffers = [{"name": name, "bytes": 1024} for name in "ab"]
    steps = [{"name": "s", "writes": ["a"]}, {"name": "t", "reads": ["a"], "writes": ["b"]}]
    made = tenure.plan({"buffers": buffers, "steps": steps})
    for tensor in made.allocate(device).values():
        assert (tensor.device, tensor.nbytes) == (device.word, 1024)


def test_pools_of_main_memory():
    pool = tenure.Pool("shm", bytes=1 << 20)
    for _ in range(3):
        assert pool.tensor((16,)).memory == "shm"
    assert pool.report()["hits"] == 2
    assert Tensor((4,)).to(pool).memory == "shm"
    with pytest.raises(MemoryError, match="limited to 1048576 bytes"):
        pool.tensor((5 << 19,), "u8")
    kept = pool.tensor((600_000,), "u8")
    with pytest.raises(MemoryError, match="in use"):
        pool.tensor((600_000,), "u8")
    del kept
    assert pool.tensor((1 << 20,), "u8").nbytes == 1 << 20
    with pytest.raises(ValueError):
        tenure.Pool("ram")


def test_more_than_the_machine_has_is_refused():
    with pytest.raises(MemoryError, match="1099511627776 bytes"):
        Tensor((1 << 40,), "u8", memory="mem")


def test_threads_open_one_device(device):
    device.close()
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(tenure.open_device(device.word)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(got)) == 1 and got[0] != device
    # Closed, but with memory: both go on, and reach each other.
    old, new = device.tensor((4,), "i32"), got[0].tensor((4,), "i32")
    old.copy_from(np.array([1, 2, 3, 4], "i4"))
    new.copy_from(old)
    assert back(new).tolist() == [1, 2, 3, 4]


def test_a_process_that_ends_in_the_middle(device):
    code = f"""
import numpy, tenure
t = tenure.from_dlpack(numpy.ones({LARGE}, "u1"))
there, fence = t.to_later("{device.word}")
"""
    for _ in range(3):
        answer = run(code)
        assert answer.returncode == 0, answer.stderr


def test_a_forked_process_is_told(device):
    t = device.tensor((4,))
    child = os.fork()
    if child == 0:
        # A driver that cannot be used here might wait without end.
        signal.alarm(120)
        try:
            t.to("mem")
            os._exit(1)
        except OSError as error:
            if "forked" not in str(error):
                os._exit(2)
        # Vulkan can be loaded again, and is; drivers of hardware say no to that themselves.
        if device.word.startswith("vulkan") and device.kind == "software":
            there = Tensor((4,), "u8", "mem").to(device.word)
            os._exit(0 if back(there).tolist() == [0] * 4 else 3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert back(t).tolist() == [0] * 4


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


def foreign(device_type, device_id):
    """A tensor over memory that somebody's device has; nobody looks at its bytes."""
    shape = (ctypes.c_int64 * 1)(4)
    memory = ctypes.create_string_buffer(64)
    address = (ctypes.addressof(memory) + 15) // 16 * 16
    made = DLTensor(address, device_type, device_id, 1, 2, 32, 1, shape, None, 0, None, None)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    kept = (made, shape, memory)
    return tenure.from_dlpack(new(ctypes.addressof(made), b"dltensor", None)), kept


@pytest.mark.parametrize(
    "device_type, word",
    [(4, "opencl:3"), (14, "oneapi:3"), (16, "hexagon:3"), (12, "extension:3"), (99, "dlpack-99:3")],
)
def test_devices_of_others_are_called_what_they_are(device_type, word):
    t, kept = foreign(device_type, 3)
    assert (t.device, t.space) == (word, "gpu:3") and f"device='{word}'" in repr(t)
    assert t.__dlpack_device__() == (device_type, 3)
    del t, kept


def test_a_lazy_tensor_says_its_device_when_it_has_memory(device):
    t = device.tensor((4,), "u8", lazy=True)
    assert (t.device, t.placed) == (device.space, False)
    assert not back(t).any()
    assert (t.device, t.placed) == (device.word, True)


@pytest.mark.parametrize(
    "device_type, word, right, wrong",
    [
        (2, "cuda:1", [None, 1, 2, 3, 1 << 40, -1], [0, -2]),
        (10, "hip:1", [None, 0, 3, 1 << 40, -1], [1, 2, -2]),
        (7, "vulkan:1", [None, -1], [0, 1, 2, 3]),
    ],
)
def test_streams_of_devices(device_type, word, right, wrong):
    t, kept = foreign(device_type, 1)
    assert (t.device, t.space, t.memory) == (word, "gpu:1", "device")
    assert t.__dlpack_device__() == (device_type, 1)
    for stream in right:
        assert "dltensor" in repr(t.__dlpack__(stream=stream))
    for stream in wrong:
        with pytest.raises(BufferError, match=f"stream is {stream}"):
            t.__dlpack__(stream=stream)
    del t, kept
