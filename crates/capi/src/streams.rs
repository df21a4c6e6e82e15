//! The streams that there are, and what they tell about themselves.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CString, c_char};

use tenure::stream::{self, StreamReport};

use crate::failure::{Failure, Outcome};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, optional_text, out, take, text};
use crate::status::Status;
use crate::tensor::c_text;

/// A list of streams at one moment.
pub struct StreamsHandle(Vec<Entry>);

impl Handle for StreamsHandle {}

struct Entry {
    name: CString,
    path: CString,
    alive: bool,
}

/// A stream at one moment.
pub struct ReportHandle {
    figures: StreamFigures,
    json: CString,
}

impl Handle for ReportHandle {}

/// The numbers of a stream that are asked for most.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StreamFigures {
    /// Frames published.
    pub published: u64,
    /// Frames that consumers did not get, all together.
    pub dropped: u64,
    /// Frames per second, of the last few; 0 while the stream pauses.
    pub rate: f64,
    /// Consumers.
    pub consumers: usize,
    /// Slots.
    pub slots: usize,
    /// Bytes of all slots that have memory, the stream's or the user's.
    pub bytes: usize,
}

impl ReportHandle {
    pub(crate) fn new(report: &StreamReport) -> Outcome<ReportHandle> {
        let json = serde_json::to_string(report)
            .map_err(|error| Failure::new(Status::Internal, format!("no JSON: {error}")))?;
        let figures = StreamFigures {
            published: report.published,
            dropped: report.dropped,
            rate: report.rate,
            consumers: report.consumers.iter().filter(|consumer| !consumer.evicted).count(),
            slots: report.slots.len(),
            bytes: report.bytes(),
        };
        Ok(ReportHandle { figures, json: c_text(&json) })
    }
}

/// The streams in a directory, in order of their names; null is the usual one.
///
/// # Safety
/// `directory` is null or a text that ends with a zero; `streams` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_streams_list(
    directory: *const c_char,
    streams: *mut *mut StreamsHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (directory, streams) =
            unsafe { (optional_text(directory, "directory")?, out(streams, "streams")?) };
        let found = match directory {
            Some(directory) => stream::list_in(directory)?,
            None => stream::list()?,
        };
        let entry = |one: stream::Listed| Entry {
            name: c_text(&one.name),
            path: c_text(&one.path.to_string_lossy()),
            alive: one.alive,
        };
        give(streams, StreamsHandle(found.into_iter().map(entry).collect()));
        Ok(())
    })
}

/// How many streams there are.
///
/// # Safety
/// `streams` is null or a list; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_streams_count(
    streams: *const StreamsHandle,
    count: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (streams, count) = unsafe { (borrow(streams, "streams")?, out(count, "count")?) };
        count.write(streams.0.len());
        Ok(())
    })
}

/// A stream by its number: its name, the path of its socket and whether somebody publishes there
/// (a producer that was killed leaves its socket behind). Texts are valid until the list is freed;
/// `path` and `alive` may be null.
///
/// # Safety
/// `streams` is null or a list; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_streams_entry(
    streams: *const StreamsHandle,
    index: usize,
    name: *mut *const c_char,
    path: *mut *const c_char,
    alive: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (streams, name) = unsafe { (borrow(streams, "streams")?, out(name, "name")?) };
        let entry = streams.0.get(index).ok_or_else(|| {
            let count = streams.0.len();
            let text = format!("there is no stream {index}: there are {count}, counted from 0");
            Failure::new(Status::NotFound, text)
        })?;
        name.write(entry.name.as_ptr());
        if !path.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(path, "path")? }.write(entry.path.as_ptr());
        }
        if !alive.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(alive, "alive")? }.write(entry.alive);
        }
        Ok(())
    })
}

/// Gives a list back; null is fine.
///
/// # Safety
/// `streams` is null or a list that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_streams_free(streams: *mut StreamsHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(streams, "streams") });
}

/// Asks the producer of a stream about it. `directory` may be null for the usual one.
/// `TENURE_STATUS_NOT_FOUND` if nobody publishes the stream, `TENURE_STATUS_NO_ANSWER`,
/// `TENURE_STATUS_REFUSED` if this user may not know.
///
/// # Safety
/// `directory` and `name` are null or texts that end with a zero; `report` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_stream_stat(
    directory: *const c_char,
    name: *const c_char,
    report: *mut *mut ReportHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (directory, name, report) = unsafe {
            (optional_text(directory, "directory")?, text(name, "name")?, out(report, "report")?)
        };
        let found = match directory {
            Some(directory) => stream::stat_in(directory, name)?,
            None => stream::stat(name)?,
        };
        give(report, ReportHandle::new(&found)?);
        Ok(())
    })
}

/// The numbers that are asked for most.
///
/// # Safety
/// `report` is null or a report; `figures` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_stream_report_figures(
    report: *const ReportHandle,
    figures: *mut StreamFigures,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (report, figures) = unsafe { (borrow(report, "report")?, out(figures, "figures")?) };
        figures.write(report.figures);
        Ok(())
    })
}

/// All of it as JSON, as `tenure stream stat --json` prints it: every slot and every consumer.
/// Valid until the report is freed.
///
/// # Safety
/// `report` is null or a report; `json` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_stream_report_json(
    report: *const ReportHandle,
    json: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (report, json) = unsafe { (borrow(report, "report")?, out(json, "json")?) };
        json.write(report.json.as_ptr());
        Ok(())
    })
}

/// Gives a report back; null is fine.
///
/// # Safety
/// `report` is null or a report that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_stream_report_free(report: *mut ReportHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(report, "report") });
}
