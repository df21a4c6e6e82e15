"""What the tests share."""

import gc
import pathlib

import pytest


@pytest.fixture
def descriptors():
    """How many file descriptors this process has."""

    def count():
        gc.collect()
        return len(list(pathlib.Path("/proc/self/fd").iterdir()))

    return count


def pytest_collection_modifyitems(items):
    """Tests with jax come last: see there."""
    items.sort(key=lambda item: "jax" in item.fixturenames)
