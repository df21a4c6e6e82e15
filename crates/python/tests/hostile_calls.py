"""Calls everything public of one object with values that nobody means; run by test_hostile.py.

python hostile_calls.py SUBJECT SEED COUNT

Every call may raise what Python code can catch. A signal, an abort and a Rust panic may not happen:
the first two end this process, and a panic is reported here.
"""

import copy
import gc
import itertools
import math
import os
import pathlib
import pickle
import random
import resource
import signal
import socket
import sys
import tempfile
import threading

import numpy as np

import tenure

if __name__ == "__main__":
    # Larger sizes are refused by the kernel, not by the memory of the machine.
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ROOM = pathlib.Path(tempfile.mkdtemp(prefix="tenure-hostile-"))
    os.environ["TENURE_STREAM_DIR"] = str(ROOM)
    os.chdir(ROOM)
else:
    # The test that imports this asks for the names of the subjects.
    ROOM = pathlib.Path()


class Bored(Exception):
    """A call that waits is interrupted."""


# Whether a call runs that may be interrupted, and not the code around it.
CALLING = False


def interrupt(*_):
    if CALLING:
        raise Bored


class Bad:
    """Everything that Python asks of it raises."""

    def _raise(self, *_, **__):
        raise RuntimeError("asked")

    __index__ = __len__ = __iter__ = __getitem__ = __float__ = __int__ = __bool__ = _raise
    __fspath__ = fileno = __dlpack__ = __dlpack_device__ = __str__ = __repr__ = _raise
    __array_interface__ = property(_raise)
    name = property(_raise)


class Liar:
    """Answers everything, with nonsense."""

    name = "\0"
    byteorder = 7
    __array_interface__ = {"version": 3, "typestr": "<f4", "shape": (-1,), "data": (8, False)}
    __dlpack_c_exchange_api__ = object()

    def __index__(self):
        return 10**30

    def __len__(self):
        return 1 << 40

    def __getitem__(self, key):
        return self

    def __iter__(self):
        return iter([self, None])

    def __fspath__(self):
        return "a\0b"

    def fileno(self):
        return 1 << 40

    def __dlpack__(self, **_):
        return object()

    def __dlpack_device__(self):
        return (2**40, -1)


class Shrinks(list):
    """A list that is shorter when it is read than when it was counted."""

    def __len__(self):
        return 1 << 20


def values():
    array = np.arange(12.0).reshape(3, 4)
    return [
        None, True, False, 0, 1, 2, 3, 7, -1, -2, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63,
        2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**30, 0.0, -0.0, 0.5, 1e300, math.nan, math.inf,
        -math.inf, 1j, "", "f32", ">f4", "u4", "mem", "shm", "device", "pinned", "vulkan:0", "gpu:0",
        "cuda:99999999999", "rgb", "nv12", "bt709",
        "limited", ("bt709", "limited"), "left", "jpeg", "png", "\0", "a\0b", "\ud800", "x" * 5000, "../..", "/dev/null",
        "/proc/self/mem", ".", b"", b"\xff" * 64, bytearray(8), (), (0,), (1, 2, 3), (0, 2**62),
        (2**62, 4), (2**61 + 1, 8), (-1,), (2**64,), (1,) * 65, (1, 0), (2, 0), (99, 99), [None],
        [[1], [2]], [1, "a"], [(None, None)], {}, {"a": None}, {"\0": 1}, {1: 2}, set(),
        slice(None), slice(2**70, -(2**70), -(2**70)), slice(None, None, -1), slice(0, 0, 0), ...,
        (..., ...), (None,) * 70, (slice(None, None, -(2**62)), 0), object(), object, len, Bad(),
        Liar(), Shrinks([1, 2]), iter([]), (n for n in [1]), array, array.astype(">f4"),
        array[::-1, ::2], array.astype(object), np.zeros((0, 3)), np.float32, np.dtype(">f4"),
        np.dtype("O"), np.int64(3), memoryview(b"abc"), array.__dlpack__(), pathlib.Path("x.npy"),
        pathlib.Path("x.safetensors"), threading.Lock(), Tensor((2, 3)), Tensor((0,), "u4"),
        Tensor((4,), "u4"), Tensor((), "f64"), Tensor.image(8, 6, "nv12"),
        Tensor((3, 4), "f32")[::-1, ::2], [Tensor((3,))], {"a": Tensor((2,), "f32")},
        [(Tensor((3,)), Tensor((3,)))], [(1, 0, None)], [(2**31, 2**62, 2**62)],
        tenure.encode_image(Tensor.image(8, 6, "rgb"), "png"), lambda *_: None, lambda *_: 1 / 0,
    ]  # fmt: skip


from tenure import Tensor  # noqa: E402


def file():
    path = ROOM / "some.safetensors"
    if not path.exists():
        tenure.save(path, {"a": Tensor((2, 3)), "b": Tensor((0,), "u8")})
    return tenure.open(path)


NUMBER = itertools.count()


def stream():
    name = f"s{next(NUMBER)}"
    publisher = tenure.Publisher(name, (4,), "u8")
    return publisher, tenure.subscribe(name)


def frame():
    publisher, subscriber = stream()
    publisher.publish(Tensor((4,), "u8", "shm"), copy=True)
    kept = subscriber.next(10)
    KEPT[:] = [publisher, subscriber]
    return kept


def closed(pair, which):
    one = pair[which]
    one.close()
    return one


KEPT = []


def subscriber():
    KEPT[:] = stream()
    return KEPT[1]


def placement():
    return tenure.ImageProcessor(threads=1).convert(
        Tensor.image(8, 6, "rgb"), Tensor.image(4, 4, "rgb"), fit="letterbox"
    )


def device():
    return tenure.open_device("vulkan:0")


SUBJECTS = {
    "module": lambda: tenure,
    "native": lambda: tenure._tenure,
    "tensor": lambda: Tensor((3, 4), "f32", "shm"),
    "image": lambda: Tensor.image(8, 6, "nv12"),
    "batch": lambda: Tensor((2, 8, 6, 3), "u8", "mem").with_format("rgb").with_colour("bt709"),
    "lazy": lambda: Tensor((3, 4), "i8", lazy=True).with_quantization([0.5, 1, 2], axis=0),
    "nibbles": lambda: Tensor((3, 4), "u4", "mem"),
    "scalar": lambda: Tensor((), "f64"),
    "empty": lambda: Tensor((0, 2**40), "u8"),
    "strided": lambda: Tensor((6, 8), "i16")[::-2, 1::3],
    "borrowed": lambda: tenure.from_dlpack(np.arange(12.0)[::-1]),
    "mapped": lambda: Tensor((3, 4)).map(),
    "pool": lambda: tenure.Pool("mem"),
    "fence": lambda: Tensor((3,)).to_later("mem")[1],
    "file": file,
    "processor": lambda: tenure.ImageProcessor(threads=1),
    "placement": placement,
    "publisher": lambda: tenure.Publisher(f"s{next(NUMBER)}", (4,), "u8"),
    "closed publisher": lambda: closed(stream(), 0),
    "subscriber": subscriber,
    "closed subscriber": lambda: closed(stream(), 1),
    "slot": lambda: tenure.Publisher(f"s{next(NUMBER)}", (4,), "u8").frame(),
    "frame": frame,
    "recorder": lambda: tenure.Recorder(ROOM / f"r{next(NUMBER)}", subscriber()),
    "plan": lambda: tenure.plan({"buffers": [{"name": "a", "bytes": 64}], "steps": []}),
    "device": device,
}

# These end, replace or inspect the process and not the object.
SKIPPED = {
    "__class__", "__init_subclass__", "__subclasshook__", "__builtins__", "__loader__", "__spec__",
    "__path__", "__file__", "__cached__", "__package__", "__delattr__", "__setattr__", "__dict__",
    "__annotations__", "__getattribute__", "annotations", "os", "json", "dataclasses",
}  # fmt: skip


def is_panic(error):
    return any("PanicException" in kind.__name__ for kind in type(error).__mro__)


def names_of(method):
    """The names of its parameters, as its signature has them."""
    text = getattr(method, "__text_signature__", None) or ""
    words = (word.split("=")[0].strip(" $*()/") for word in text.split(","))
    return [word for word in words if word.isidentifier() and word != "self"]


def attempts(random_, subject):
    """Callables and arguments, without an end: a new object now and then."""
    while True:
        made = SUBJECTS[subject]()
        names = [name for name in dir(made) if name not in SKIPPED]
        if subject == "module":
            names = [*tenure.__all__, "_processes"]
        for _ in range(40):
            name = random_.choice(names)
            try:
                found = getattr(made, name)
            except Exception as error:
                if is_panic(error):
                    raise
                continue
            if not callable(found):
                continue
            pool = values()
            one = lambda: random_.choice(pool)  # noqa: E731
            count = random_.choice([0, 1, 1, 1, 2, 2, 3, 4])
            keywords = names_of(found)
            chosen = random_.sample(keywords, random_.randint(0, min(3, len(keywords))))
            arguments = [one() for _ in range(count)]
            if random_.random() < 0.4:
                arguments = arguments[:1]
            yield name, found, arguments, {word: one() for word in chosen}
        if random_.random() < 0.2:
            whole(made)


def whole(made):
    """What can be done to any object."""
    for attempt in (
        copy.copy, copy.deepcopy, pickle.dumps, repr, str, hash, bytes, memoryview, np.asarray, len,
        list, iter, bool, dir, np.from_dlpack, lambda x: x == x, lambda x: x < 1, lambda x: x + 1,
        lambda x: x[0], lambda x: setattr(x, "shape", 3), lambda x: delattr(x, "shape"),
        lambda x: type(x)(), lambda x: type(x).__new__(type(x)), lambda x: x.__init__(),
        lambda x: type("Sub", (type(x),), {}), lambda x: object.__new__(type(x)),
    ):  # fmt: skip
        guarded(attempt, (made,), {})


def bounded(call, arguments, keywords):
    """What a call gave, and what it raised. One that waits is interrupted."""
    global CALLING
    raised = answer = None
    signal.setitimer(signal.ITIMER_REAL, 0.25, 0.1)
    try:
        CALLING = True
        answer = call(*arguments, **keywords)
        CALLING = False
    except BaseException as error:
        CALLING = False
        # Without what its frames have.
        raised = error.with_traceback(None)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return answer, raised


def guarded(call, arguments, keywords):
    answer, raised = bounded(call, arguments, keywords)
    if raised is None:
        # What came is looked at too: a lie in it would be seen here.
        raised = bounded(look, (answer,), {})[1]
    if is_panic(raised):
        raise raised


def look(answer):
    if isinstance(answer, Tensor) and answer.nbytes < 1 << 20:
        repr(answer), bytes(answer), np.asarray(answer).sum()
    else:
        repr(answer)


def main():
    subject, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGALRM, interrupt)
    random_ = random.Random(f"{subject} {seed}")
    for number, (name, call, arguments, keywords) in enumerate(attempts(random_, subject)):
        if number == count:
            break
        LAST[:] = [subject, name, arguments, keywords]
        if os.environ.get("TENURE_HOSTILE_TRACE"):
            print(number, name, *(shown(value) for value in arguments),
                  {word: shown(value) for word, value in keywords.items()}, file=sys.stderr)  # fmt: skip
        guarded(call, arguments, keywords)
        if number % 50 == 0:
            gc.collect()
    print("survived", count)


LAST = []


def shown(value):
    try:
        return repr(value)[:80]
    except Exception:
        return f"<{type(value).__name__}>"


if __name__ == "__main__":
    # Descriptors that are guessed are none of a terminal.
    here, there = socket.socketpair()
    try:
        main()
    except BaseException as error:
        print("after", LAST[:2], [shown(value) for value in LAST[2]], LAST[3:], file=sys.stderr)
        print("raised", type(error).__name__, error, file=sys.stderr)
        os._exit(3)
    finally:
        import shutil

        shutil.rmtree(ROOM, ignore_errors=True)
    # Without what would wait for threads that a hostile number has started.
    sys.stdout.flush()
