"""Compares the reader's output shapes with ONNX's own declared and actual shapes.

compare_onnx.py SHAPES FOLDER [ACTUAL.json]: SHAPES is the built example `shapes`, FOLDER holds
single-operator models (onnx.backend.test.case.node.collect_testcases), ACTUAL.json maps each
name to the shapes of the outputs of the test's own data.
"""
import collections, json, os, subprocess, sys
import onnx

shapes, folder = sys.argv[1:3]
actual = json.load(open(sys.argv[3])) if len(sys.argv) > 3 else {}
names = sorted(name for name in os.listdir(folder) if name.endswith(".onnx"))
lines = []
for start in range(0, len(names), 200):
    batch = [os.path.join(folder, name) for name in names[start:start + 200]]
    lines += subprocess.run([shapes] + batch, capture_output=True, text=True, check=True).stdout.splitlines()
answer, found = {}, collections.defaultdict(dict)
for line in lines:
    file, what, *rest = line.split("\t")
    name = os.path.basename(file)[:-5]
    if what == "output":
        found[name][rest[0]] = (rest[1], json.loads(rest[2]))
    else:
        answer[name] = rest[0] if what == "error" else None
tally, trouble = collections.Counter(), []
for name, error in answer.items():
    if error is not None:
        tally["error"] += 1
        trouble.append((name, error))
        continue
    model = onnx.load(os.path.join(folder, name + ".onnx"))
    for index, output in enumerate(model.graph.output):
        kind = output.type.WhichOneof("value")
        ours = found[name].get(output.name)
        if kind != "tensor_type" or ours is None or ours[0] in ("text", "opaque"):
            continue
        dims = [dim.dim_value if dim.HasField("dim_value") else None
                for dim in output.type.tensor_type.shape.dim]
        real = actual.get(name, [])
        real = real[index] if index < len(real) else None
        wrong = len(dims) != len(ours[1]) or any(d not in (None, o) for d, o in zip(dims, ours[1]))
        if real is not None and real != ours[1]:
            tally["other than the data"] += 1
            bound = len(real) == len(ours[1]) and all(r <= o for r, o in zip(real, ours[1]))
            trouble.append((name, f"{output.name}: {ours}, data has {real}{' (bound)' if bound else ''}"))
            break
        if wrong and output.type.tensor_type.HasField("shape"):
            tally["other than declared"] += 1
            trouble.append((name, f"{output.name}: {ours}, declared {dims}"))
            break
    else:
        tally["same"] += 1
for name, what in trouble:
    print(name, "|", what)
print(dict(tally), "of", len(answer))
