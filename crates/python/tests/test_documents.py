"""The Python programs of the README and the guide run as they are."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import tenure

ROOT = pathlib.Path(__file__).parents[3]
# What `tenure run` publishes, for programs that subscribe to it.
PRODUCER = """
import time, tenure
with tenure.Publisher("cam0/input", (3, 640, 640), "f32") as publisher:
    print("ready", flush=True)
    while not publisher.consumers:
        time.sleep(0.01)
    for _ in range(3):
        with publisher.frame():
            pass
"""


def programs():
    for name in ["README.md", "docs/guide/python.md"]:
        text = (ROOT / name).read_text(encoding="utf-8")
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, block.start()) + 1
            yield pytest.param(block[1], id=f"{name}:{line}")


@pytest.mark.parametrize("program", programs())
def test_a_program_of_the_documents_runs(program, tmp_path):
    if "vulkan:0" in program and not any(found.word == "vulkan:0" for found in tenure.devices()):
        pytest.skip("no Vulkan device")
    streams = tmp_path / "streams"
    streams.mkdir(mode=0o700)
    environment = {**os.environ, "TENURE_STREAM_DIR": str(streams)}
    producer = None
    if "cam0/input" in program:
        words = [sys.executable, "-c", PRODUCER]
        producer = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        assert producer.stdout.readline() == "ready\n"
    try:
        words = [sys.executable, "-c", program]
        done = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        if producer is not None:
            assert "(3, 640, 640)" in done.stdout
    finally:
        if producer is not None:
            producer.kill()
            producer.wait()
            producer.stdout.close()


def test_there_are_programs():
    assert len(list(programs())) >= 8
