//! From Python: what an exchange with another library costs there.

use tenure_benches::{Bench, Python, Unit};

/// What it may cost to take over a tensor of another library through its table.
const TAKE_OVER: f64 = 1000.0;

pub(crate) fn rows(bench: &mut Bench) {
    let python = Python::new("benches/vs_interop/contest.py", bench.quick());
    if let Some(row) = bench.row("Python: np.from_dlpack of a tensor", Unit::Nanoseconds) {
        row.target(1.5)
            .ours(|| python.ask("tenure to numpy"))
            .rival("of an ndarray", || python.ask("numpy to numpy"))
            .measure();
    }
    if let Some(row) = bench.row("Python: from_dlpack through the table", Unit::Nanoseconds) {
        row.ours(|| python.ask("table to tenure"))
            .rival("1 µs", || TAKE_OVER)
            .rival("through a capsule", || python.ask("capsule to tenure"))
            .measure();
    }
}
