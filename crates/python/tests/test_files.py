"""Tensors on disk and plans, from Python."""

import json
import os
import re

import numpy as np
import pytest

import tenure
from tenure import Tensor


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    a = tenure.from_dlpack(np.arange(4096, dtype=np.float32).reshape(64, 64))
    tenure.save(path, {"a": a, "b": a[1, ::2]}, {"made": "here"})
    return path


def test_open(model):
    file = tenure.open(model)
    assert (file.format, list(file), len(file)) == ("safetensors", ["a", "b"], 2)
    assert file.metadata == {"made": "here"} and file.path == model
    assert file.nbytes == model.stat().st_size and "a" in file and "c" not in file
    assert repr(file).endswith("safetensors, 2 tensors>")
    a = file["a"]
    assert (a.memory, a.readonly, a.shape) == ("file", True, (64, 64))
    array = np.from_dlpack(a)
    assert not array.flags.writeable and array[1, 1] == 65
    del file, a
    assert array[63, 63] == 4095


def test_load(model):
    seen = []
    tensors = tenure.open(str(model)).load(
        memory="shm", progress=lambda done, whole: seen.append((done, whole))
    )
    assert list(tensors) == ["a", "b"] and tensors["a"].memory == "shm"
    np.asarray(tensors["a"])[0, 0] = 5
    assert np.asarray(tensors["b"]).tolist() == list(range(64, 128, 2))
    assert seen[-1] == (4096 * 4 + 32 * 4,) * 2
    only = tenure.open(model).load(["b"], threads=1)
    assert list(only) == ["b"]

    def broken(*_):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        tenure.open(model).load(progress=broken)
    with pytest.raises(ValueError, match="stopped"):
        tenure.open(model).load(progress=lambda *_: False)


def test_numpy_reads_what_is_saved(tmp_path):
    for dtype in ["u8", "i64", "f16", "f64", "bool"]:
        t = Tensor((3, 4), dtype)
        np.asarray(t)[:] = np.arange(12).reshape(3, 4) % 2
        tenure.save(tmp_path / "x.npy", t.permute((1, 0)))
        array = np.load(tmp_path / "x.npy")
        assert np.array_equal(array, np.asarray(t).T)
        np.save(tmp_path / "y.npy", array)
        assert np.array_equal(np.asarray(tenure.open(tmp_path / "y.npy")["y"]), array)


def test_saving_what_is_mapped_to_write(tmp_path):
    t = Tensor((512, 300), "f32")
    array, picture = np.asarray(t), Tensor.image(31, 17, "rgb")
    array[:] = np.arange(t.size).reshape(t.shape)
    with t.map() as view, picture.map() as pixels:
        tenure.save(tmp_path / "x.npy", t)
        tenure.save(tmp_path / "x.safetensors", {"x": t, "y": t[:, ::2]})
        tenure.save_image(tmp_path / "x.png", picture)
        assert view[0, 1] == 1 and pixels.nbytes >= 31 * 17 * 3
    assert np.array_equal(np.load(tmp_path / "x.npy"), array)
    saved = tenure.open(tmp_path / "x.safetensors")
    assert np.array_equal(np.asarray(saved["x"]), array)
    assert np.array_equal(np.asarray(saved["y"]), array[:, ::2])


def test_safetensors_reads_what_is_saved(model):
    numpy = pytest.importorskip("safetensors.numpy")
    assert np.array_equal(numpy.load_file(model)["a"], np.asarray(tenure.open(model)["a"]))


def test_bad_files(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        tenure.open(tmp_path / "absent")
    with pytest.raises(KeyError, match="there is no tensor `c`"):
        tenure.open(model)["c"]
    (tmp_path / "noise.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(ValueError, match="noise"):
        tenure.open(tmp_path / "noise.safetensors")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        tenure.open(tmp_path / "pipe")
    with pytest.raises(TypeError, match="mapping"):
        tenure.save(tmp_path / "x", 3)
    with pytest.raises(TypeError, match="u4"):
        tenure.save(tmp_path / "x", {"x": Tensor((4,), "u4")})
    file = tenure.open(model)
    a = file["a"]
    os.truncate(model, 4096)
    with pytest.raises(OSError):
        file.load()
    with pytest.raises(OSError):
        file.check()
    del a


def test_members_that_no_tensor_can_be_made_of_say_why(tmp_path):
    path = tmp_path / "mixed.npz"
    complexes, objects = np.zeros(3, np.clongdouble), np.array([{}], dtype=object)
    np.savez(path, numbers=np.zeros(2, "f4"), objects=objects, complexes=complexes)
    file = tenure.open(path)
    assert file.keys() == ["numbers"]
    assert set(file.check()) == {"objects", "complexes"}
    for name, why in [("objects", r"\|O"), ("complexes", "complex.*of other parts")]:
        assert re.search(why, file.check()[name])
        for ask in [lambda name=name: file[name], lambda name=name: file.load([name])]:
            with pytest.raises(ValueError, match=f"`{name}`.*{why}"):
                ask()
    with pytest.warns(RuntimeWarning, match="left out 2 of its members"):
        assert list(file.load()) == ["numbers"]
    assert list(file.load(["numbers"])) == ["numbers"]
    with pytest.raises(KeyError):
        file["nothing"]
    np.save(tmp_path / "c.npy", complexes)
    with pytest.raises(ValueError, match="complex.*of other parts"):
        tenure.open(tmp_path / "c.npy")


@pytest.mark.parametrize("word", ["complex64", "complex128"])
def test_complex_arrays_of_numpy(tmp_path, word):
    array = np.arange(6).reshape(2, 3).astype(word) * (1 - 2j)
    np.save(tmp_path / "c.npy", array)
    np.savez(tmp_path / "c.npz", c=array, other=array.astype(array.dtype.newbyteorder()))
    assert (np.from_dlpack(tenure.open(tmp_path / "c.npy")["c"]) == array).all()
    loaded = tenure.open(tmp_path / "c.npz").load()
    assert all((np.from_dlpack(loaded[name]) == array).all() for name in ["c", "other"])


SCHEDULE = {
    "buffers": [
        {"name": "x", "bytes": 64, "input": True},
        {"name": "a", "bytes": 512},
        {"name": "b", "bytes": 256},
        {"name": "c", "bytes": 512},
    ],
    "steps": [
        {"name": "one", "reads": ["x"], "writes": ["a"]},
        {"name": "two", "reads": ["a"], "writes": ["b"]},
        {"name": "three", "reads": ["b"], "writes": ["c"]},
    ],
}


def test_plan(tmp_path):
    plan = tenure.plan(SCHEDULE)
    assert (plan.mode, plan.bytes, plan.lower_bound, plan.optimal) == ("arena", 768, 768, True)
    assert plan.places["x"] is None and plan.places["a"] == plan.places["c"]
    assert plan.arenas[0].bytes == 768
    tensors = plan.allocate("mem")
    assert sorted(tensors) == ["a", "b", "c"] and tensors["b"].nbytes == 256
    np.asarray(tensors["a"])[:] = 3
    assert (np.asarray(tensors["c"]) == 3).all() and (np.asarray(tensors["b"]) == 0).all()
    (tmp_path / "schedule.json").write_text(json.dumps(SCHEDULE))
    assert tenure.plan(tmp_path / "schedule.json") == plan
    assert tenure.plan(json.dumps(SCHEDULE), seconds=1, threads=2) == plan
    alone = tenure.plan(SCHEDULE, "disabled")
    assert (alone.bytes, alone.arenas, set(alone.places.values())) == (1280, (), {None})
    tensors = alone.allocate("mem")
    assert sorted(tensors) == ["a", "b", "c"]
    np.asarray(tensors["a"])[:] = 3
    assert tensors["b"].nbytes == 256 and (np.asarray(tensors["c"]) == 0).all()
    words = {"off": "disabled", "NONE": "disabled", "pool": "remap", "tlsf": "arena"}
    assert {word: tenure.plan(SCHEDULE, word).mode for word in words} == words
    assert tenure.plan(SCHEDULE, packer="tlsf").bytes >= 768


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({}, "buffers"),
        ({"buffers": [{"name": "x"}], "steps": []}, "bytes"),
        ({"buffers": [], "steps": [{"name": "s", "reads": ["gone"]}]}, "gone"),
        ({"buffers": [], "steps": [{"name": "s", "reads": [7]}]}, "7"),
    ],
)
def test_bad_schedules(wrong, words):
    with pytest.raises(ValueError, match=words):
        tenure.plan(wrong)
    with pytest.raises(ValueError, match="disabled, remap and arena"):
        tenure.plan(SCHEDULE, "on")
    with pytest.raises(ValueError):
        tenure.plan(SCHEDULE, seconds=-1)
