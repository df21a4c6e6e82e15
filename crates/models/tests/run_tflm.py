"""Runs TFLite models and their planned copies in TensorFlow Lite Micro's own interpreter.

run_tflm.py OFFLINE_PLAN MODEL...: OFFLINE_PLAN is the built example `offline_plan`. Outputs must
be the same for the same inputs, and the planned part of the arena not larger than the
interpreter's greedy plan. Needs the PyPI packages tflite-micro and numpy.
"""
import os, re, subprocess, sys, tempfile

ONE = r"""
import os, sys, hashlib
import numpy as np
from tflite_micro.python.tflite_micro import runtime
interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=int(sys.argv[2]))
random = np.random.default_rng(7)
for turn in range(3):
    index = 0
    while True:
        try:
            info = interpreter.get_input_details(index)
        except Exception:
            break
        shape, dtype = info["shape"], info["dtype"]
        data = random.standard_normal(shape).astype(dtype) if np.dtype(dtype).kind == "f" \
            else random.integers(0, 100, shape).astype(dtype)
        interpreter.set_input(data, index)
        index += 1
    interpreter.invoke()
    index, hashes = 0, []
    while True:
        try:
            output = interpreter.get_output(index)
        except Exception:
            break
        hashes.append(hashlib.sha256(np.ascontiguousarray(output).tobytes()).hexdigest()[:16])
        index += 1
    print("OUTPUTS", hashes)
sys.stderr.flush()
interpreter.print_allocations()
"""


def run(model, arena=256 << 20):
    done = subprocess.run([sys.executable, "-c", ONE, model, str(arena)], capture_output=True, text=True)
    outputs = [line for line in done.stdout.splitlines() if line.startswith("OUTPUTS")]
    text = done.stdout + done.stderr
    head = re.search(r"head (\d+) bytes", text)
    total = re.search(r"total (\d+) bytes", text)
    if done.returncode or not outputs or not head:
        return None, text.strip().splitlines()[-1:] if text.strip() else done.returncode, None
    return outputs, int(head[1]), int(total[1]) if total else None


def main():
    planner, models = sys.argv[1], sys.argv[2:]
    good = smaller = bad = skipped = 0
    for model in models:
        name = os.path.basename(model)
        before, head, total = run(model)
        if before is None:
            skipped += 1
            print(f"{name}: not run by the interpreter: {head}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            planned = os.path.join(folder, name)
            made = subprocess.run([planner, model, planned], capture_output=True, text=True)
            if made.returncode:
                bad += 1
                print(f"{name}: NOT PLANNED: {made.stderr.strip()[:300]}")
                continue
            after, head_after, total_after = run(planned)
        if after != before:
            bad += 1
            print(f"{name}: OUTPUTS DIFFER: {before} {after} {head_after}")
        elif head_after > head:
            bad += 1
            print(f"{name}: LARGER: {head} -> {head_after} ({made.stdout.strip()})")
        else:
            good += 1
            smaller += head_after < head
            print(f"{name}: head {head} -> {head_after}, total {total} -> {total_after} ({made.stdout.strip()})")
    print(f"{good} good ({smaller} smaller), {bad} bad, {skipped} not run by the interpreter")
    return bad > 0


sys.exit(main())
