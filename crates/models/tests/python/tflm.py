"""Plans TFLite models with `tenure` and runs them in TensorFlow Lite Micro's own interpreter.

tflm.py TENURE: the command. Outputs must be the same for the same inputs, with and without the
plan, and the planned part of the arena never larger than the interpreter's own greedy plan, but
smaller where that is not minimal. The models are random nets made here, what is in tests/data, and
a real one that the interpreter's package has.
"""
import glob, os, random, re, subprocess, sys, tempfile

import numpy as np
import tflite_micro

from flat import tflite

HERE = os.path.dirname(os.path.abspath(__file__))
# Random nets; of so many the greedy plan is not minimal.
NETS, SMALLER = 12, 3
CONCATENATION, FULLY_CONNECTED = 2, 9
# What the interpreter joins at once.
MOST_JOINED = 8
# Room enough for any of them.
ARENA = 16 << 20

# A process of its own for each model: a plan that is wrong may end it.
ONE = r"""
import sys, hashlib
import numpy as np
from tflite_micro.python.tflite_micro import runtime
interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=int(sys.argv[2]))
random = np.random.default_rng(7)
details = interpreter.get_input_details(0)
for turn in range(3):
    shape, dtype = details["shape"], details["dtype"]
    interpreter.set_input(random.standard_normal(shape).astype(dtype), 0)
    interpreter.invoke()
    output = np.ascontiguousarray(interpreter.get_output(0))
    print("OUTPUT", hashlib.sha256(output.tobytes()).hexdigest(), bool(np.any(output)))
sys.stdout.flush()
interpreter.print_allocations()
"""


def net(seed):
    """A random net of layers that grow, shrink and join, as the bytes of a file."""
    choice = random.Random(seed)
    numbers = np.random.default_rng(seed)
    tensors, buffers, operators = [("x", [1, 32], 0, 0)], [b""], []
    open_ends, sizes = [0], {0: 32}

    def add(name, shape, content=b""):
        buffers.append(content) if content else None
        tensors.append((name, shape, 0, len(buffers) - 1 if content else 0))
        return len(tensors) - 1

    def layer(source, size):
        values = numbers.standard_normal((size, sizes[source])).astype(np.float32) / 8
        weight = add(f"w{len(tensors)}", [size, sizes[source]], values.tobytes())
        made = add(f"t{len(tensors)}", [1, size])
        operators.append((1, [source, weight, -1], [made], 8, [(0, "i8", 0)]))
        sizes[made] = size
        return made

    def join(sources):
        size = sum(sizes[source] for source in sources)
        made = add(f"t{len(tensors)}", [1, size])
        operators.append((0, sources, [made], 10, [(0, "i32", 1)]))
        sizes[made] = size
        return made

    for _ in range(24):
        kind = choice.random()
        if kind < 0.25 and len(open_ends) > 2:
            first, second = choice.sample(open_ends, 2)
            open_ends = [end for end in open_ends if end not in (first, second)] + [join([first, second])]
        else:
            source = choice.choice(open_ends)
            if kind < 0.7:
                open_ends.remove(source)
            open_ends.append(layer(source, 4 * choice.randint(1, 40)))
    while len(open_ends) > 1:
        open_ends = open_ends[MOST_JOINED:] + [join(open_ends[:MOST_JOINED])]
    last = layer(open_ends[0], 4)
    return tflite(tensors, [CONCATENATION, FULLY_CONNECTED], operators, [0], [last], buffers)


def run(model):
    """Outputs, and the bytes of the planned part of the arena."""
    command = [sys.executable, "-c", ONE, model, str(ARENA)]
    done = subprocess.run(command, capture_output=True, text=True)
    outputs = [line for line in done.stdout.splitlines() if line.startswith("OUTPUT")]
    head = re.search(r"head (\d+) bytes", done.stdout + done.stderr)
    if done.returncode or len(outputs) != 3 or not head:
        raise SystemExit(f"{model} did not run ({done.returncode}):\n{done.stdout}{done.stderr}")
    return outputs, int(head[1])


def main():
    tenure, = sys.argv[1:]
    wrong, smaller = [], 0
    with tempfile.TemporaryDirectory() as folder:
        models = sorted(glob.glob(os.path.join(HERE, "..", "data", "*.tflite")))
        models += glob.glob(os.path.join(os.path.dirname(tflite_micro.__file__), "**", "*.tflite"), recursive=True)
        for seed in range(NETS):
            models.append(os.path.join(folder, f"net{seed}.tflite"))
            with open(models[-1], "wb") as file:
                file.write(net(seed))
        for model in models:
            name = os.path.basename(model)
            planned = os.path.join(folder, "planned.tflite")
            command = [tenure, "plan", model, "--json", "--write-offline-plan", planned]
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode:
                raise SystemExit(f"{name}: {made.stderr}")
            (before, greedy), (after, ours) = run(model), run(planned)
            smaller += ours < greedy
            print(f"{name}: {greedy} -> {ours}")
            if before != after:
                wrong.append(f"{name}: outputs differ: {before} {after}")
            if not any(line.endswith("True") for line in before):
                wrong.append(f"{name}: all outputs are zero, which shows nothing")
            if ours > greedy:
                wrong.append(f"{name}: {ours} bytes are more than the greedy planner's {greedy}")
    if smaller < SMALLER:
        wrong.append(f"only {smaller} are smaller than the greedy planner's, and {SMALLER} can be")
    for line in wrong:
        print("WRONG:", line)
    print(f"{len(models)} models, {smaller} smaller than with the interpreter's own planner")
    return bool(wrong)


sys.exit(main())
