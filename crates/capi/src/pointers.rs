//! What C passes, looked at: the one place where pointers become references.
#![expect(unsafe_code, reason = "the one place where pointers of C become references")]

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::slice;

use tenure::layout::MAX_RANK;

use crate::failure::{Failure, Outcome};
use crate::handles::{self, Handle};

/// What a handle points to.
///
/// # Safety
/// `pointer` must be null, or point to a `T` that nobody changes while the reference is used.
pub(crate) unsafe fn borrow<'a, T: Handle>(
    pointer: *const T,
    what: &'static str,
) -> Outcome<&'a T> {
    check(pointer, what)?;
    handles::check::<T>(pointer.addr(), what)?;
    // SAFETY: not null and aligned; the rest by the caller's promise.
    Ok(unsafe { &*pointer })
}

/// The same, or nothing for null.
///
/// # Safety
/// As [`borrow`].
pub(crate) unsafe fn optional<'a, T: Handle>(
    pointer: *const T,
    what: &'static str,
) -> Outcome<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: by the caller's promise.
    unsafe { borrow(pointer, what) }.map(Some)
}

/// A structure of the caller's, or nothing for null.
///
/// # Safety
/// As [`borrow`], for any `T`.
#[cfg(any(linux_like, test))]
pub(crate) unsafe fn optional_plain<'a, T>(
    pointer: *const T,
    what: &'static str,
) -> Outcome<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    check(pointer, what)?;
    // SAFETY: not null and aligned; the rest by the caller's promise.
    Ok(Some(unsafe { &*pointer }))
}

/// What a handle points to, to change.
///
/// # Safety
/// `pointer` must be null, or point to a `T` that nobody else uses while the reference is used.
pub(crate) unsafe fn borrow_mut<'a, T: Handle>(
    pointer: *mut T,
    what: &'static str,
) -> Outcome<&'a mut T> {
    check(pointer, what)?;
    handles::check::<T>(pointer.addr(), what)?;
    // SAFETY: not null and aligned; the rest by the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// A place to put a result.
///
/// # Safety
/// `pointer` must be null, or point to room for a `T` that nobody else uses meanwhile.
pub(crate) unsafe fn out<'a, T>(
    pointer: *mut T,
    what: &'static str,
) -> Outcome<&'a mut MaybeUninit<T>> {
    check(pointer, what)?;
    // SAFETY: not null and aligned; the rest by the caller's promise. Room need not hold a value.
    Ok(unsafe { &mut *pointer.cast::<MaybeUninit<T>>() })
}

/// A list; null is an empty one.
///
/// # Safety
/// `pointer` must be null, or point to `len` values that nobody changes while the list is used.
pub(crate) unsafe fn list<'a, T>(
    pointer: *const T,
    len: usize,
    what: &'static str,
) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Failure::invalid(format!("{what}: a list of {len} does not fit into memory")));
    }
    // SAFETY: not null, aligned and of a possible length; the rest by the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// The dimensions of a shape, or axes.
///
/// # Safety
/// As [`list`].
pub(crate) unsafe fn dims<'a>(
    pointer: *const usize,
    rank: usize,
    what: &'static str,
) -> Outcome<&'a [usize]> {
    if rank > MAX_RANK {
        let text = format!("{what} has {rank} dimensions, a tensor has at most {MAX_RANK}");
        return Err(Failure::invalid(text));
    }
    // SAFETY: by the caller's promise.
    unsafe { list(pointer, rank, what) }
}

/// A text.
///
/// # Safety
/// `pointer` must be null, or point to bytes that end with a zero and that nobody changes while
/// the text is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &'static str) -> Outcome<&'a str> {
    check(pointer, what)?;
    // SAFETY: not null; the rest by the caller's promise.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|error| {
        let text = format!("{what} is no UTF-8: {error} in `{}`", bytes.to_bytes().escape_ascii());
        Failure::invalid(text)
    })
}

/// A text, or nothing for null.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn optional_text<'a>(
    pointer: *const c_char,
    what: &'static str,
) -> Outcome<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: by the caller's promise.
    unsafe { text(pointer, what) }.map(Some)
}

/// Several texts.
///
/// # Safety
/// As [`list`], and each entry as [`text`].
pub(crate) unsafe fn texts<'a>(
    pointer: *const *const c_char,
    len: usize,
    what: &'static str,
) -> Outcome<Vec<&'a str>> {
    // SAFETY: by the caller's promise.
    unsafe { list(pointer, len, what)?.iter().map(|&one| text(one, what)).collect() }
}

/// Puts a new object out, as a handle.
pub(crate) fn give<T: Handle>(room: &mut MaybeUninit<*mut T>, value: T) {
    let pointer = Box::into_raw(Box::new(value));
    handles::enter::<T>(pointer.addr());
    room.write(pointer);
}

/// Takes an object back; nothing for null.
///
/// # Safety
/// `pointer` must be null or from [`give`], and nobody may use it any more.
pub(crate) unsafe fn take<T: Handle>(pointer: *mut T, what: &'static str) -> Outcome<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    let remembered = handles::leave::<T>(pointer.addr(), what)?;
    // SAFETY: by the caller's promise it came from a box, and this is the only pointer to it.
    let owned = unsafe { Box::from_raw(pointer) };
    if !remembered {
        return Ok(Some(*owned));
    }
    // SAFETY: room for a `T` is what the same box is once its value is taken out: `value` is read
    // before anything else can be.
    let (value, memory) = unsafe {
        let pointer = Box::into_raw(owned);
        (pointer.read(), Box::from_raw(pointer.cast::<Room<T>>()))
    };
    handles::bury::<T>(pointer.addr(), memory);
    Ok(Some(value))
}

/// The memory of a value that was taken out.
#[repr(transparent)]
struct Room<T>(MaybeUninit<T>);

// SAFETY: there is no value in it, only memory.
unsafe impl<T> Send for Room<T> {}

fn check<T>(pointer: *const T, what: &'static str) -> Outcome {
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    if !pointer.is_aligned() {
        let (address, align) = (pointer.addr(), align_of::<T>());
        let text = format!("{what} points to {address:#x}, which is no multiple of {align}");
        return Err(Failure::invalid(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;

    #[test]
    fn impossible_pointers_are_refused() {
        let value = 7u32;
        let odd = (&raw const value).wrapping_byte_add(1);
        // SAFETY: refused before it is used.
        unsafe {
            assert!(optional_plain::<u32>(std::ptr::null(), "it").unwrap().is_none());
            assert_eq!(optional_plain(odd, "it").unwrap_err().status, Status::Invalid);
            assert_eq!(
                list(&raw const value, usize::MAX, "it").unwrap_err().status,
                Status::Invalid
            );
            assert_eq!(dims(std::ptr::null(), 1000, "it").unwrap_err().status, Status::Invalid);
            assert!(text(c"\xff".as_ptr(), "it").unwrap_err().text.contains("\\xff"));
            assert_eq!(list::<u32>(std::ptr::null(), 0, "it").unwrap(), &[0u32; 0]);
        }
    }
}
