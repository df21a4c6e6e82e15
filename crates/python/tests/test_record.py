"""Streams into folders and back."""

import json
import threading
import time

import numpy as np
import pytest

import tenure
from tenure import Recorder, Tensor


@pytest.fixture
def here(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def record(here, like, frames=5):
    """A recording of so many frames, whose first byte counts."""
    folder = here / "kept"
    with tenure.Publisher("cam", like=like, directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        with Recorder(folder, subscriber) as recorder:
            for number in range(frames):
                with publisher.frame(blob=bytes([number])) as view:
                    np.asarray(view).reshape(-1)[0] = number
                frame = recorder.next(5)
                assert frame.sequence == number and np.asarray(frame).reshape(-1)[0] == number
                del frame
            assert (recorder.frames, recorder.nbytes) == (frames, frames * like.nbytes)
        with pytest.raises(RuntimeError, match="closed"):
            recorder.next(0)
        with pytest.raises(RuntimeError, match="closed"):
            recorder.frames
        subscriber.close()
    return folder


def replayed(here, folder, **how):
    """What a subscriber gets of it."""
    answer, got = [], []
    thread = threading.Thread(
        target=lambda: answer.append(
            tenure.replay(folder, "again", wait_for=1, directory=here, **how)
        )
    )
    thread.start()
    with tenure.subscribe("again", wait=10, directory=here) as subscriber:
        while True:
            try:
                frame = subscriber.next(10)
            except ConnectionError:
                break
            tensor = frame.tensor
            got.append((tensor.tobytes(), frame.blob, tensor.format, tensor.colour))
            del tensor
            del frame
    thread.join()
    return answer[0], got


def test_what_is_recorded_is_replayed(here):
    folder = record(here, Tensor((2, 3), "u8"))
    count, got = replayed(here, folder, fps=200)
    assert count == 5
    assert got == [(bytes([n]) + bytes(5), bytes([n]), None, None) for n in range(5)]


def test_pictures_stay_pictures(here):
    picture = Tensor.image(8, 4, "nv12", memory="shm").with_colour("bt709", "limited")
    count, got = replayed(here, record(here, picture, frames=2), fps=100)
    assert count == 2
    assert [one[2:] for one in got] == [("nv12", ("bt709", "limited"))] * 2


def test_times_are_those_of_the_recording(here):
    with tenure.Publisher("slow", (4,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("slow", directory=here)
        recorder = Recorder(here / "kept", subscriber)
        for _ in range(3):
            with publisher.frame() as view:
                view[0] = 1
            recorder.next(5)
            time.sleep(0.1)
        recorder.close()
    began = time.monotonic()
    assert tenure.replay(here / "kept", "fast", fps=1000, directory=here) == 3
    assert time.monotonic() - began < 0.15
    began = time.monotonic()
    assert tenure.replay(here / "kept", "slow", directory=here) == 3
    assert time.monotonic() - began >= 0.18


def test_run_ends_when_it_is_told_to(here):
    publisher = tenure.Publisher("run", (4,), "u8", directory=here)
    subscriber = tenure.subscribe("run", directory=here)

    def publish(count):
        for _ in range(count):
            with publisher.frame() as view:
                view[0] = 1

    with Recorder(here / "kept", subscriber) as recorder:
        publish(3)
        assert recorder.run(frames=2) == 2
        assert recorder.run(seconds=0.05) == 1
        began = time.monotonic()
        assert recorder.run(seconds=0) == 0 and time.monotonic() - began < 5
        publish(2)
        publisher.close()
        assert recorder.run() == 2 and recorder.frames == 5
        with pytest.raises(ConnectionError):
            recorder.next(1)


def test_nothing_is_written_over(here):
    folder = record(here, Tensor((4,), "u8"))
    with tenure.Publisher("b", (4,), "u8", directory=here):
        subscriber = tenure.subscribe("b", directory=here)
        with pytest.raises(FileExistsError):
            Recorder(folder, subscriber)
        with pytest.raises(FileNotFoundError):
            Recorder(here / "absent" / "below", subscriber)
        with pytest.raises(TypeError):
            Recorder(here / "other", None)
        assert not (here / "other").exists()


def test_recordings_are_not_believed(here):
    folder = record(here, Tensor((4,), "u8"))
    index = folder / "index.jsonl"
    first = json.loads(index.read_text().splitlines()[0])
    lines = {
        "no recording": b"noise\n",
        "beyond the file": json.dumps({**first, "offset": 1 << 40}),
        "too many bytes": json.dumps({**first, "shape": [1 << 60], "bytes": 1 << 60}),
        "a shape that is none": json.dumps({**first, "shape": [1 << 62, 1 << 62]}),
        "another size": json.dumps({**first, "shape": [3]}),
        "a type that is none": json.dumps({**first, "dtype": "f33"}),
        "nothing": "",
        "a line without an end": "1" * (1 << 20),
    }
    for what, line in lines.items():
        index.write_bytes(line if isinstance(line, bytes) else (line + "\n" * bool(line)).encode())
        with pytest.raises(tenure.DamagedError):
            tenure.replay(folder, "bad", directory=here)
        assert tenure.streams(directory=here) == [], what
    # All of it is checked before anything is published.
    index.write_text(json.dumps(first) + "\n" + "{}\n")
    with pytest.raises(tenure.DamagedError, match="line 2"):
        tenure.replay(folder, "bad", directory=here)
    with pytest.raises(FileNotFoundError):
        tenure.replay(here / "absent", "bad", directory=here)
    (folder / "frames.bin").unlink()
    (folder / "frames.bin").mkdir()
    with pytest.raises(OSError, match="a regular file is needed"):
        tenure.replay(folder, "bad", directory=here)


def test_frames_larger_than_the_memory_are_refused(here):
    folder = record(here, Tensor((4096,), "u8"))
    with pytest.raises(MemoryError, match="at most 100 bytes, got 4096"):
        tenure.replay(folder, "large", directory=here, memory_limit=100)
    # A file may be larger than any memory, as far as the file system goes.
    size = 1 << 42
    line = json.loads((folder / "index.jsonl").read_text().splitlines()[0])
    with open(folder / "frames.bin", "r+b") as frames:
        frames.truncate(size)
    line.update(shape=[size], bytes=size)
    (folder / "index.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(MemoryError, match="memory_limit="):
        tenure.replay(folder, "large", directory=here)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), 1e-300])
def test_rates_that_are_none(here, fps):
    with pytest.raises(ValueError, match="fps"):
        tenure.replay(record(here, Tensor((4,), "u8")), "rate", fps=fps, directory=here)
