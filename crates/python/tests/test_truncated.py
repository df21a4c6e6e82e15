"""Mapped files that somebody shortens, whoever handles SIGBUS in this interpreter."""

import subprocess
import sys

import pytest

# A file, arrays over it, and what reads them after the cut.
PRELUDE = """
import faulthandler, os, signal, sys, threading
import numpy as np, tenure
path = sys.argv[1]
tenure.save(path, {"a": tenure.Tensor((1 << 24,), "u8")})
def array():
    return np.from_dlpack(tenure.open(path)["a"])
def cut():
    os.truncate(path, 0)
def survived(array):
    assert array[-1] == 0 and array[4096] == 0 and int(array.sum()) == 0
    print("survived")
"""

# After the export.
UNDER_AN_EXPORT = {
    "faulthandler": "faulthandler.enable()",
    "faulthandler twice": "faulthandler.enable(); faulthandler.disable(); array()",
    "another export": "signal.signal(signal.SIGBUS, signal.SIG_DFL); array()",
}

# Before it.
BEFORE = {
    "faulthandler": "faulthandler.enable()",
    "default": "array(); signal.signal(signal.SIGBUS, signal.SIG_DFL)",
    "ignored": "array(); signal.signal(signal.SIGBUS, signal.SIG_IGN)",
    "a function": "array(); signal.signal(signal.SIGBUS, lambda *_: None)",
    "blocked": "array(); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGBUS])",
}


def run(code, tmp_path):
    words = [sys.executable, "-c", PRELUDE + code, str(tmp_path / "file.safetensors")]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("case", UNDER_AN_EXPORT)
def test_a_handler_under_an_export(case, tmp_path):
    code = f"mine = array()\n{UNDER_AN_EXPORT[case]}\ncut()\nsurvived(mine)\n"
    ended = run(code, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "survived\n"), ended.stderr


@pytest.mark.parametrize("case", BEFORE)
def test_a_handler_before_an_export(case, tmp_path):
    code = f"{BEFORE[case]}\nmine = array()\ncut()\nsurvived(mine)\n"
    ended = run(code, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "survived\n"), ended.stderr


def test_a_thread_that_blocks_every_signal(tmp_path):
    code = """
def work():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    mine = array()
    cut()
    survived(mine)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    ended = run(code, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "survived\n"), ended.stderr


def test_other_faults_are_still_reported(tmp_path):
    code = """
import ctypes, mmap
faulthandler.enable()
mine = array()
other = open(path + ".other", "w+b")
other.truncate(4096)
view = mmap.mmap(other.fileno(), 4096)
os.truncate(path + ".other", 0)
view[0]
"""
    ended = run(code, tmp_path)
    assert ended.returncode == -7 and "Fatal Python error: Bus error" in ended.stderr
