//! What is planned: lifetimes or a schedule, from a file.

use std::path::Path;

use tenure::plan::{Schedule, Table};

use super::Problem;

/// A million buffers take a tenth of this.
const MOST: u64 = 1 << 30;

/// Reads a schedule. What the file is, its name says.
pub(super) fn read(path: &Path) -> Result<Schedule, Problem> {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let csv = match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("csv") => true,
        Some("json") => false,
        _ => return Err(Problem::Kind { path: path.to_owned() }),
    };
    let text = text(path)?;
    let schedule = if csv {
        let table = Table::from_csv(&text);
        table.map_err(|cause| Problem::Csv { path: path.to_owned(), cause })?.to_schedule()
    } else {
        let schedule = Schedule::from_json(&text);
        schedule.map_err(|cause| Problem::Schedule { path: path.to_owned(), cause })?
    };
    schedule.validate().map_err(tenure::plan::PlanError::from)?;
    Ok(schedule)
}

fn text(path: &Path) -> Result<String, Problem> {
    let failed = |cause| Problem::Read { path: path.to_owned(), cause };
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    if bytes > MOST {
        return Err(Problem::TooLarge { path: path.to_owned(), bytes, most: MOST });
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::NotText { path: path.to_owned(), at }
    })
}
