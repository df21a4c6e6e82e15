"""The type stubs say what is there."""

import pathlib
import subprocess
import sys

import tenure

PACKAGE = pathlib.Path(tenure.__file__).parent

# Python has names of buffers from 3.12 on, and the file of streams has types only.
ALLOWED = r"""
tenure\._tenure\.\w+\.__buffer__
tenure\._tenure\.\w+\.__release_buffer__
tenure\._streams
tenure\._streams\.\w+\.__(release_)?buffer__
"""

EXAMPLE = """
import tenure

t = tenure.Tensor((2, 3), "f32", memory="shm")
with t.map() as view:
    view[0, 0] = 1
part: tenure.Tensor = t[0, 1:]
data = memoryview(part)
made: tenure.Plan = tenure.plan({"buffers": [], "steps": []})
for name, tensor in tenure.open("model.safetensors").load().items():
    reveal_type(tensor.shape)
device: tenure.Device = tenure.open_device(tenure.devices()[0].word)
there, fence = t.to_later(device, memory="pinned")
ready: bool = fence.wait(1.0) and there.copy_from_later(device.pool().tensor(4)).done
tenure.Tensor((2, 3), memory="ram")
"""


def run(*arguments, directory):
    words = [sys.executable, "-m", *arguments]
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)


def test_stubs_are_current(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED.strip())
    words = ["--allowlist", str(tmp_path / "allowed"), "--ignore-unused-allowlist"]
    done = run("mypy.stubtest", *words, "tenure", directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_of_an_example(tmp_path):
    assert (PACKAGE / "py.typed").exists()
    (tmp_path / "example.py").write_text(EXAMPLE)
    done = run("mypy", "--strict", "example.py", directory=tmp_path)
    lines = done.stdout.splitlines()
    errors = [line for line in lines if ": error:" in line]
    assert len(errors) == 1 and "ram" in errors[0], done.stdout
    assert any("Revealed type" in line and "int, ..." in line for line in lines), done.stdout
