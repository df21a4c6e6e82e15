"""Compares inferred shapes with those of ONNX's own test cases: one operator each, with data.

onnx_nodes.py SHAPES: SHAPES is the built example `shapes`. Every output must have the shape of the
case's data, or be an upper bound of it where the size depends on the data. Cases that cannot be
known before a run are refused; they are counted, and there may be no more than there are.
"""
import collections, json, os, subprocess, sys, tempfile, warnings

import numpy as np
from onnx.backend.test.case.node import collect_testcases

# Of the version in requirements.txt.
CASES, REFUSED, BOUNDS = 1884, 53, 15


def write(folder):
    """The models of all cases; the shapes of their outputs by name."""
    actual = {}
    for case in collect_testcases(None):
        with open(os.path.join(folder, case.name + ".onnx"), "wb") as file:
            file.write(case.model.SerializeToString())
        outputs = case.data_sets[0][1] if case.data_sets else []
        names = [output.name for output in case.model.graph.output]
        shapes = [list(np.shape(data)) if isinstance(data, (np.ndarray, np.generic)) else
                  list(data.dims) if hasattr(data, "dims") else None for data in outputs]
        actual[case.name] = dict(zip(names, shapes))
    return actual


def infer(shapes, folder, names):
    """What SHAPES prints: refusals by case, and shapes of outputs by case and name."""
    refused, found = {}, collections.defaultdict(dict)
    files = [os.path.join(folder, name + ".onnx") for name in names]
    for start in range(0, len(files), 200):
        command = [shapes] + files[start:start + 200]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in printed.splitlines():
            file, what, *rest = line.split("\t")
            name = os.path.basename(file)[:-len(".onnx")]
            if what == "error":
                refused[name] = rest[0]
            elif what == "output":
                found[name][rest[0]] = (rest[1], json.loads(rest[2]))
    return refused, found


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        actual = write(folder)
        refused, found = infer(sys.argv[1], folder, sorted(actual))
    wrong, bounds = [], 0
    for name in sorted(actual.keys() - refused.keys()):
        for output, real in actual[name].items():
            dtype, ours = found[name].get(output, ("opaque", None))
            if real is None or dtype in ("text", "opaque") or ours == real:
                continue
            if ours is not None and len(ours) == len(real) and all(r <= o for r, o in zip(real, ours)):
                bounds += 1
            else:
                wrong.append(f"{name}: {output} is {ours}, its data has {real}")
    for line in wrong:
        print(line)
    print(f"{len(actual)} cases: {len(wrong)} wrong, {len(refused)} refused, {bounds} upper bounds")
    if len(actual) != CASES or len(refused) > REFUSED or bounds > BOUNDS:
        print(f"there were {CASES} cases, {REFUSED} refused and {BOUNDS} upper bounds:")
        for name, why in refused.items():
            print(f"  {name}: {why}")
        return 1
    return bool(wrong)


sys.exit(main())
