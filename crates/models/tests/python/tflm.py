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
NETS, SMALLER = 24, 11
ADD, CONCATENATION, FULLY_CONNECTED, RELU, RESHAPE = 0, 2, 9, 19, 22
CODES = [CONCATENATION, FULLY_CONNECTED, RELU, ADD, RESHAPE]
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


def net(seed, in_place):
    """A random net of layers that grow, shrink and join, as the bytes of a file; with operators
    that can write over what they read, and views, if asked for."""
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

    def plain(code, sources, shape=None, *options):
        """What may be in place of its source, or is the same bytes."""
        size = sizes[sources[0]]
        made = add(f"t{len(tensors)}", shape or [1, size])
        operators.append((CODES.index(code), sources, [made], *(options or (0, []))))
        sizes[made] = size
        return made

    def seen_again(source):
        size = sizes[source]
        for shape in ([2, size // 2], [1, size]):
            numbers_of = add(f"s{len(tensors)}", [2], np.array(shape, dtype=np.int32).tobytes())
            tensors[numbers_of] = (tensors[numbers_of][0], [2], 2, tensors[numbers_of][3])
            source = plain(RESHAPE, [source, numbers_of], shape, 17, [])
        return source

    for _ in range(24):
        kind = choice.random()
        if in_place and choice.random() < 0.5:
            end = choice.randrange(len(open_ends))
            source = open_ends[end]
            other = layer(choice.choice(open_ends), sizes[source])
            open_ends[end] = choice.choice([
                lambda: plain(RELU, [source]),
                lambda: plain(ADD, [source, other], None, 11, [(0, "i8", 0)]),
                lambda: plain(ADD, [other, source], None, 11, [(0, "i8", 0)]),
                lambda: plain(ADD, [other, seen_again(source)], None, 11, [(0, "i8", 0)]),
            ])()
            open_ends.append(other) if choice.random() < 0.3 else None
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
    return tflite(tensors, CODES, operators, [0], [last], buffers)


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
                file.write(net(seed, seed % 2 == 1))
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
