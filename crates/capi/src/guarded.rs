//! The one place that every call goes through: panics end here, and failures become a status and
//! the text of this thread.
#![expect(unsafe_code, reason = "functions that C calls have names of their own")]

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure::Language;

use crate::failure::{Failure, Outcome};
use crate::status::Status;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Does `work`, whatever happens in it.
pub(crate) fn guarded(work: impl FnOnce() -> Outcome) -> Status {
    // What a panic leaves half done are handles of the caller, which lock nothing and which the
    // ledger keeps apart, as after an error.
    let outcome = catch_unwind(AssertUnwindSafe(|| Language::C.during(work)));
    let outcome = outcome.unwrap_or_else(|panic| {
        Err(Failure::new(Status::Internal, format!("a fault in libtenure: {}", words(&panic))))
    });
    match outcome {
        Ok(()) => Status::Ok,
        Err(Failure { status, text }) => {
            remember(text);
            status
        }
    }
}

/// The same for what gives nothing back: freeing.
pub(crate) fn guarded_free<T>(work: impl FnOnce() -> Outcome<T>) {
    guarded(|| {
        drop(work()?);
        Ok(())
    });
}

fn words(panic: &Box<dyn Any + Send>) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

fn remember(text: String) {
    let mut bytes = text.into_bytes();
    // Names from outside may have them; C would see the end of the text.
    bytes.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'?');
    let text = CString::new(bytes).unwrap_or_default();
    // A thread that is ending has no place for it any more, and nobody to read it.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// The text of the last call on this thread that did not answer `TENURE_STATUS_OK`: what was asked,
/// which value was wrong and what would be right. Empty if there was none; never null. Valid until
/// the next such call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenure_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        LAST.with(|last| last.borrow().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(guarded(|| panic!("with {}", "words")), Status::Internal);
        assert_eq!(last(), "a fault in libtenure: with words");
        assert_eq!(guarded(|| panic!("plain")), Status::Internal);
        assert_eq!(last(), "a fault in libtenure: plain");
    }

    #[test]
    fn what_went_well_leaves_the_text() {
        let bad = || Err(Failure::new(Status::Invalid, "a\0b"));
        assert_eq!(guarded(bad), Status::Invalid);
        assert_eq!(guarded(|| Ok(())), Status::Ok);
        assert_eq!(last(), "a?b");
    }

    #[test]
    fn every_thread_has_its_own() {
        guarded(|| Err(Failure::new(Status::Invalid, "here")));
        std::thread::spawn(|| assert_eq!(last(), "")).join().unwrap();
        assert_eq!(last(), "here");
    }
}
