"""Whatever Python code does, the process survives and no Rust panic comes out."""

import copy
import gc
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import tenure
from tenure import Tensor

sys.path.insert(0, os.path.dirname(__file__))
import hostile_calls  # noqa: E402

CALLS = int(os.environ.get("TENURE_HOSTILE_CALLS", 400))
SEED = int(os.environ.get("TENURE_HOSTILE_SEED", 1))
SUBJECTS = list(hostile_calls.SUBJECTS)


def run(program, *arguments, timeout=300, **variables):
    """A process of its own: how it ended, and what it wrote."""
    return subprocess.run(
        [sys.executable, *program, *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
        errors="replace", env={**os.environ, "PYTHONFAULTHANDLER": "1", **variables},
    )  # fmt: skip


def survived(done):
    words = done.stdout[-2000:] + done.stderr[-4000:]
    assert "panicked at" not in done.stderr, words
    assert done.returncode == 0, words
    return done.stdout


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_call_with_hostile_values(subject):
    if subject == "device" and not os.environ.get("TENURE_TEST_DEVICE"):
        pytest.skip("TENURE_TEST_DEVICE names no device")
    program = pathlib.Path(hostile_calls.__file__)
    done = run([str(program)], subject, str(SEED), str(CALLS))
    assert "survived" in survived(done)


def snippet(text, timeout=300):
    return survived(run(["-c", textwrap.dedent(text)], timeout=timeout))


def test_subinterpreters_import_or_refuse():
    out = snippet(
        """
        import tenure

        try:
            import _interpreters as interpreters
        except ImportError:
            # Before Python 3.13.
            import _xxsubinterpreters as interpreters

        other = interpreters.create()
        try:
            # What went wrong is raised, or since Python 3.13 the answer.
            fault = interpreters.run_string(other, '''
        import tenure
        t = tenure.Tensor((3,))
        assert bytes(t) == bytes(12)
        ''')
        except interpreters.RunFailedError as error:
            fault = error
        if fault is None:
            print("imported")
        else:
            print("refused", getattr(fault, "formatted", fault))
        interpreters.destroy(other)
        assert tenure.Tensor((2,)).shape == (2,)
        """
    )
    assert "imported" in out or ("refused" in out and "ImportError" in out), out


OBJECTS = {
    "tensor": lambda: Tensor((3,)),
    "mapped": lambda: Tensor((3,)).map(),
    "pool": lambda: tenure.Pool("mem"),
    "fence": lambda: Tensor((3,)).to_later("mem")[1],
    "processor": lambda: tenure.ImageProcessor(threads=1),
    "plan": lambda: tenure.plan({"buffers": [], "steps": []}),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_copies_and_pickles_are_whole_or_refused(kind):
    made = OBJECTS[kind]()
    for attempt in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        try:
            again = attempt(made)
        except TypeError:
            continue
        assert type(again) is type(made)
        repr(again)


def test_weak_references_and_cycles():
    t = Tensor((3,))
    gone = weakref.ref(t)
    del t
    assert gone() is None

    class Holder:
        pass

    # A cycle through everything that keeps a tensor.
    holder = Holder()
    t = Tensor((1000,), "u8")
    holder.tensor, holder.array, holder.view = t, np.asarray(t), memoryview(t)
    holder.taken, holder.me = tenure.from_dlpack(holder.array), holder
    gone = weakref.ref(t)
    del t, holder
    gc.collect()
    assert gone() is None


def test_views_outlive_everything():
    views = []
    for _ in range(20):
        t = Tensor((64,), "u8", "shm")
        with t.map() as view:
            view[0] = 7
            views += [np.asarray(view), memoryview(t), np.from_dlpack(t), np.asarray(t[::2])]
        del t, view
    gc.collect()
    assert all(view[0] == 7 for view in views)


def test_views_and_capsules_at_the_end_of_the_interpreter():
    out = snippet(
        """
        import tenure, numpy as np, threading, tempfile
        folder = tempfile.mkdtemp()
        t = tenure.Tensor((64,), "u8", "shm")
        capsule, view, array = t.__dlpack__(max_version=(1, 0)), memoryview(t), np.asarray(t)
        publisher = tenure.Publisher("end", (4,), "u8", directory=folder)
        subscriber = tenure.subscribe("end", directory=folder)
        publisher.publish(tenure.Tensor((4,), "u8", "shm"), copy=True)
        frame = subscriber.next(60)
        processor = tenure.ImageProcessor(threads=2)
        waiting = threading.Thread(target=lambda: [None for _ in subscriber], daemon=True)
        waiting.start()
        import sys
        sys.keep = [t, capsule, view, array, publisher, subscriber, frame, processor]
        print("end")
        """
    )
    assert "end" in out


def test_fork_in_the_middle_of_everything(tmp_path):
    out = snippet(
        f"""
        import os, tenure, numpy as np, threading, gc
        folder = {str(tmp_path)!r}
        t = tenure.Tensor((64,), "u8", "shm")
        view, array = memoryview(t), np.asarray(t)
        publisher = tenure.Publisher("fork", (4,), "u8", directory=folder)
        subscriber = tenure.subscribe("fork", directory=folder)
        publisher.publish(tenure.Tensor((4,), "u8", "shm"), copy=True)
        frame, pool = subscriber.next(60), tenure.Pool("mem")
        kept = pool.tensor((1000,))
        processor = tenure.ImageProcessor(threads=2)
        source, target = tenure.Tensor.image(64, 48, "rgb"), tenure.Tensor.image(8, 8, "rgb")
        processor.convert(source, target)
        stop = threading.Event()
        def work():
            while not stop.is_set():
                pool.tensor((1000,)), np.asarray(t[::2]).sum(), t.to("mem"), t.to("shm")
        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads: thread.start()
        for round in range(20):
            child = os.fork()
            if child == 0:
                # A child that hangs says where, and ends.
                import faulthandler
                faulthandler.dump_traceback_later(60, exit=True)
                for attempt in (
                    lambda: publisher.publish(t), lambda: publisher.frame(), lambda: publisher.consumers,
                    lambda: subscriber.next(0.01), lambda: subscriber.latest(), lambda: subscriber.name,
                    lambda: tenure.Tensor((3,)).to("shm"), lambda: bytes(view), lambda: array.sum(),
                    lambda: pool.tensor((10,)), lambda: np.asarray(frame).sum(), publisher.close,
                    subscriber.close,
                ):
                    try:
                        attempt()
                    except Exception:
                        pass
                del publisher, subscriber, frame, t, view, array, pool, kept
                gc.collect()
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
        stop.set()
        for thread in threads: thread.join()
        assert publisher.publish(tenure.Tensor((4,), "u8", "shm"), copy=True) == 1
        print("done")
        """
    )
    assert "done" in out


def child(queue, tensor, received):
    np.asarray(tensor)[0] = 5
    queue.put(tensor)
    # A descriptor on its way is lost if its sender ends.
    received.wait(120)


def test_children_of_threads():
    """multiprocessing from several threads at once, with tensors on the way."""
    context = multiprocessing.get_context("spawn")
    failed = []

    def work():
        try:
            queue, t = context.Queue(), Tensor((4,), "u8", "shm")
            received = context.Event()
            process = context.Process(target=child, args=(queue, t, received))
            process.start()
            back = queue.get(timeout=120)
            received.set()
            process.join(120)
            assert np.asarray(t)[0] == 5 and np.asarray(back)[0] == 5
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_closed_from_another_thread(tmp_path):
    publisher = tenure.Publisher("closed", (4,), "u8", directory=tmp_path)
    subscriber = tenure.subscribe("closed", directory=tmp_path)
    raised = []

    def wait():
        try:
            subscriber.next(60)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    subscriber.close()
    thread.join(60)
    assert not thread.is_alive()
    for attempt in (lambda: subscriber.next(0), subscriber.latest, subscriber.fileno):
        with pytest.raises(RuntimeError, match="closed"):
            attempt()
    subscriber.close()
    publisher.close()
    publisher.close()
    for attempt in (publisher.frame, lambda: publisher.consumers):
        with pytest.raises(RuntimeError, match="closed"):
            attempt()


def test_slots_out_of_order(tmp_path):
    publisher = tenure.Publisher("slots", (4,), "u8", directory=tmp_path)
    slot = publisher.frame()
    slot.__exit__(None, None, None)
    for attempt in (slot.__enter__, lambda: slot.tensor):
        with pytest.raises(RuntimeError):
            attempt()
    slot.__exit__(None, None, None)
    slot = publisher.frame()
    slot.__enter__()
    try:
        slot.__enter__()
    except Exception:
        pass
    publisher.close()
    try:
        slot.__exit__(None, None, None)
    except Exception:
        pass


def test_callbacks_that_misbehave(tmp_path):
    tenure.save(tmp_path / "a.safetensors", {"a": Tensor((1000,))})
    file = tenure.open(tmp_path / "a.safetensors")

    def boom(done, all):
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        file.load(progress=boom)
    with pytest.raises(ValueError, match="stopped"):
        file.load(progress=lambda done, all: False)

    def again(done, all):
        return file.load() and None

    assert file.load(progress=again)["a"].shape == (1000,)

    class Producer:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **words):
            raise SystemExit("leave")

    with pytest.raises(SystemExit):
        tenure.from_dlpack(Producer())
