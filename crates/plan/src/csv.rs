//! Lifetimes and offsets as the CSV that minimalloc reads and writes:
//! `id,lower,upper,size[,alignment][,offset]`, columns in any order.

mod error;

use std::collections::HashMap;
use std::fmt::Write as _;

pub use error::CsvError;

use crate::lifetimes::Lifetimes;
use crate::plan::{Plan, PlanError};
use crate::{BufferSpec, Item, Packing, Problem, Schedule, Step};

/// A problem whose items have names, and maybe where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What the items are called, in their order.
    pub names: Vec<String>,
    /// Lifetimes, sizes and alignments.
    pub problem: Problem,
    /// Where each item goes.
    pub offsets: Option<Vec<u64>>,
}

/// The columns by what they mean.
const COLUMNS: [(&str, &[&str]); 6] = [
    ("id", &["id", "buffer", "buffer_id"]),
    ("lower", &["lower", "begin", "start"]),
    ("upper", &["upper", "end"]),
    ("size", &["size"]),
    ("alignment", &["alignment"]),
    ("offset", &["offset"]),
];

/// Where the columns are, in the order of [`COLUMNS`].
struct Header {
    at: [Option<usize>; 6],
    count: usize,
    /// A column `end` has the last time itself, one of `upper` the time after it.
    end: u64,
}

impl Table {
    /// Reads a table. Columns that are not known, minimalloc's `hint` and `gaps` among them, are
    /// skipped: what is alive in a gap as well fits all the same.
    ///
    /// ```
    /// use tenure_plan::{Options, Packer, Table};
    /// let table = Table::from_csv("id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n")?;
    /// let packing = Packer::Best.pack(&table.problem, &Options::default());
    /// let csv = table.with(&packing).to_csv();
    /// assert!(csv.starts_with("id,lower,upper,size,offset\na,0,2,64,"));
    /// # Ok::<(), tenure_plan::CsvError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CsvError`] with the line and column that is wrong.
    pub fn from_csv(text: &str) -> Result<Table, CsvError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = (1usize..).zip(text.lines());
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let (line, header) = lines.next().ok_or(CsvError::Empty)?;
        let header = Header::new(line, header)?;
        let (mut names, mut items, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (line, text) in lines {
            let fields: Vec<&str> = text.split(',').map(str::trim).collect();
            if fields.len() != header.count {
                return Err(CsvError::Fields { line, fields: fields.len(), columns: header.count });
            }
            let name = header.at[0].map_or("", |at| fields[at]);
            if let Some(first) = seen.insert(name, line) {
                return Err(CsvError::SameId { line, first, id: name.to_owned() });
            }
            let number = |column: usize| match header.at[column] {
                Some(at) => number(line, COLUMNS[column].0, fields[at]).map(Some),
                None => Ok(None),
            };
            let lower = number(1)?.unwrap_or(0);
            let last = number(2)?.unwrap_or(0);
            let size = number(3)?.unwrap_or(0);
            let align = number(4)?.unwrap_or(1);
            let upper = last.checked_add(header.end).ok_or_else(|| CsvError::Number {
                line,
                column: "upper",
                text: last.to_string(),
            })?;
            if upper <= lower {
                return Err(CsvError::Lifetime { line, lower, upper });
            }
            if !align.is_power_of_two() {
                return Err(CsvError::Align { line, align });
            }
            places.extend(number(5)?);
            names.push(name.to_owned());
            items.push(Item { lower, upper, size, align });
        }
        let problem = Problem::new(items)?;
        let offsets = header.at[5].map(|_| places);
        Ok(Table { names, problem, offsets })
    }

    /// Writes the table. The alignment is a column of its own if any item has one, and the offset
    /// if there are any. Commas and line breaks in names, which the format has no way to write,
    /// become spaces.
    pub fn to_csv(&self) -> String {
        let items = self.problem.items();
        let aligned = items.iter().any(|item| item.align != 1);
        let mut csv = String::from("id,lower,upper,size");
        csv.push_str(if aligned { ",alignment" } else { "" });
        csv.push_str(if self.offsets.is_some() { ",offset\n" } else { "\n" });
        for (index, item) in items.iter().enumerate() {
            let name = self.names.get(index).map_or("", String::as_str);
            csv.extend(name.chars().map(|c| if matches!(c, ',' | '\n' | '\r') { ' ' } else { c }));
            // Writing to a string does not fail.
            let _ = write!(csv, ",{},{},{}", item.lower, item.upper, item.size);
            if aligned {
                let _ = write!(csv, ",{}", item.align);
            }
            if let Some(offset) = self.offsets.as_ref().and_then(|offsets| offsets.get(index)) {
                let _ = write!(csv, ",{offset}");
            }
            csv.push('\n');
        }
        csv
    }

    /// The table with the offsets of a packing of its problem.
    #[must_use]
    pub fn with(&self, packing: &Packing) -> Table {
        Table { offsets: Some(packing.offsets.clone()), ..self.clone() }
    }

    /// What one arena of a plan holds. Of two buffers that share in place, the first ends where
    /// the second begins.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if the schedule makes no sense.
    pub fn of_arena(schedule: &Schedule, plan: &Plan, arena: usize) -> Result<Table, PlanError> {
        let lifetimes = Lifetimes::new(schedule)?;
        let begins: HashMap<(u64, u64), usize> = lifetimes
            .tenants
            .iter()
            .filter(|tenant| tenant.bytes > 0)
            .filter_map(|tenant| {
                let (at, offset) = plan.place(tenant.buffer)?;
                (at == arena).then_some(((offset, tenant.lower), tenant.buffer))
            })
            .collect();
        let (mut names, mut items, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        for tenant in &lifetimes.tenants {
            let Some((_, offset)) = plan.place(tenant.buffer).filter(|place| place.0 == arena)
            else {
                continue;
            };
            let mut upper = tenant.upper;
            let steps = lifetimes.touches.of(tenant.buffer);
            let last = steps.last().and_then(|&step| lifetimes.time(step as usize));
            if let Some(time) = last
                && time > tenant.lower
                && let Some(&taker) = begins.get(&(offset, time))
                && schedule.buffers[taker].in_place.contains(&tenant.buffer)
            {
                upper = time;
            }
            names.push(schedule.buffers[tenant.buffer].name.clone());
            let &crate::Tenant { lower, bytes: size, align, .. } = tenant;
            items.push(Item { lower, upper, size, align });
            offsets.push(offset);
        }
        Ok(Table { names, problem: Problem::new(items)?, offsets: Some(offsets) })
    }

    /// A schedule with these lifetimes: a step for each stretch of time in which nothing begins
    /// or ends, where each buffer is written first and read last.
    pub fn to_schedule(&self) -> Schedule {
        let items = self.problem.items();
        let mut times: Vec<u64> = items.iter().flat_map(|item| [item.lower, item.upper]).collect();
        times.sort_unstable();
        times.dedup();
        let steps = times.windows(2).map(|pair| Step::new(format!("t{}", pair[0]), [], []));
        let mut schedule = Schedule { buffers: Vec::new(), steps: steps.collect() };
        for (index, item) in items.iter().enumerate() {
            let name = self.names.get(index).cloned().unwrap_or_default();
            let first = times.partition_point(|&time| time < item.lower);
            let last = times.partition_point(|&time| time < item.upper).saturating_sub(1);
            schedule
                .buffers
                .push(BufferSpec { align: item.align, ..BufferSpec::new(name, item.size) });
            schedule.steps[first].writes.push(index);
            if last > first {
                schedule.steps[last].reads.push(index);
            }
        }
        schedule
    }
}

impl Header {
    fn new(line: usize, text: &str) -> Result<Header, CsvError> {
        let mut header = Header { at: [None; 6], count: 0, end: 0 };
        for field in text.split(',').map(str::trim) {
            let known = COLUMNS.iter().position(|(_, words)| words.contains(&field));
            if let Some(column) = known
                && header.at[column].replace(header.count).is_some()
            {
                return Err(CsvError::SameColumn { line, column: COLUMNS[column].0 });
            }
            header.end = header.end.max(u64::from(field == "end"));
            header.count += 1;
        }
        match header.at[..4].iter().position(Option::is_none) {
            Some(column) => Err(CsvError::NoColumn { line, column: COLUMNS[column].0 }),
            None => Ok(header),
        }
    }
}

/// A number of digits and nothing else.
fn number(line: usize, column: &'static str, text: &str) -> Result<u64, CsvError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| CsvError::Number { line, column, text: text.chars().take(40).collect() })
}
