"""Many threads at the same objects."""

import threading

import numpy as np
import pytest

import tenure
from tenure import Tensor

THREADS = 8
ROUNDS = 300


def together(work):
    """What each of the threads returned, or the first that any of them raised."""
    start, answers, raised = threading.Barrier(THREADS), [], []

    def run(index):
        start.wait()
        try:
            answers.append(work(index))
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
    return answers


def test_views_of_one_tensor():
    t = Tensor((THREADS, 1024), "i32", "shm")

    def work(index):
        for _ in range(ROUNDS):
            np.from_dlpack(t[index])[:] += 1
            with t[index].map() as view:
                view[0] += 1
            assert memoryview(t)[index, 1] > 0
            assert np.asarray(t).shape == t.shape and t.__array_interface__["shape"] == t.shape
            assert tenure.from_dlpack(t.__dlpack__(max_version=(1, 0)))[index].size == 1024

    together(work)
    array = np.asarray(t)
    assert (array[:, 1:] == ROUNDS).all() and (array[:, 0] == 2 * ROUNDS).all()


def test_a_capsule_is_taken_once():
    for _ in range(ROUNDS):
        capsule = np.arange(3).__dlpack__(max_version=(1, 0))

        def take(_):
            try:
                return tenure.from_dlpack(capsule)
            except BufferError:
                return None

        taken = [tensor for tensor in together(take) if tensor is not None]
        assert len(taken) == 1 and memoryview(taken[0]).tolist() == [0, 1, 2]


def test_a_block_is_entered_once():
    for _ in range(ROUNDS // 10):
        mapped = Tensor((4,), "u8").map()

        def enter(_):
            try:
                return mapped.__enter__()
            except BufferError:
                return None

        assert sum(view is not None for view in together(enter)) == 1
        mapped.__exit__(None, None, None)


def test_files_and_pictures(tmp_path):
    t = Tensor((256, 256), "f32")
    np.asarray(t)[:] = 1
    processor = tenure.ImageProcessor()
    picture = Tensor.image(64, 64, "rgb")

    def work(index):
        for round in range(ROUNDS // 30):
            path = tmp_path / f"{index}.safetensors"
            tenure.save(path, {"x": t})
            assert float(np.asarray(tenure.open(path).load(memory="mem")["x"]).sum()) == t.size
            small = Tensor.image(32, 32, "rgb")
            processor.convert(picture, small)
        return round

    together(work)
    with pytest.raises(ValueError):
        together(lambda _: Tensor((-1,)))


def test_streams(tmp_path):
    publisher = tenure.Publisher("s", (8,), "u32", directory=tmp_path, claims=THREADS)
    subscriber = tenure.subscribe("s", credits=16, directory=tmp_path)

    def work(index):
        got = 0
        for round in range(ROUNDS // 3):
            if index % 2:
                with publisher.frame(blob=bytes([index])) as view:
                    view[0] = view[7] = round
            else:
                frame = subscriber.next(timeout=0)
                if frame is not None:
                    array = np.from_dlpack(frame.tensor)
                    assert array[0] == array[7] and frame.blob[0] % 2
                    got += 1
        return got

    got = sum(together(work))
    # Consumers may be done before the first frame comes.
    while subscriber.next(timeout=0) is not None:
        got += 1
    assert got > 0
    with publisher.frame():
        pass
    assert subscriber.next(timeout=5).sequence == THREADS // 2 * (ROUNDS // 3)
