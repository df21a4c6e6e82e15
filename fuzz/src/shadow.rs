//! The shadow model of an allocation: its bytes as they should be, and who holds which of them.
//! Slow and obvious on purpose, and written without looking at the library's own ledger.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tenure::TensorDyn;
use tenure::memory::{Access, RawBuffer};

use crate::sequence::Expected;
use crate::shown::Shown;

/// One allocation as the model sees it.
#[derive(Debug)]
pub struct Shadow {
    /// The library's number of the allocation; `None` until it is seen again after parting.
    pub allocation: Cell<Option<u64>>,
    /// Every byte of it, and those behind that only other mappings of the same object show.
    pub bytes: RefCell<Vec<u8>>,
    /// How many bytes were allocated.
    pub size: usize,
    /// Whether new mappings of it are read-only.
    pub sealed: Cell<bool>,
    /// The pool it came from, by number.
    pub pool: Option<usize>,
    /// The pool's own mapping of it, while somebody has that.
    taken: RefCell<Weak<Taken>>,
    /// Whether it is what was kept of a slot that is published: a private copy.
    pub parted: Cell<bool>,
    /// Whether it was published without a copy at some time.
    pub lent: Cell<bool>,
    /// Frames of it that consumers have, or that are on their way.
    pub frames: Rc<Cell<usize>>,
    entries: RefCell<Vec<(u64, Access, Bytes)>>,
    next: Cell<u64>,
}

/// The mapping that a pool gave, for as long as somebody has it. Mappings that were made of its
/// descriptor are others, which the pool knows nothing of and which may stay for longer.
#[derive(Debug)]
pub struct Taken {
    mapping: *const RawBuffer,
}

/// Bytes that are used.
#[derive(Debug, Clone)]
pub struct Bytes {
    /// From the first to the last.
    span: Range<usize>,
    /// Those alone, where what lies between them may or may not be used with them.
    alone: Option<HashSet<usize>>,
}

impl Bytes {
    /// Every byte of a range.
    pub fn all(span: Range<usize>) -> Bytes {
        Bytes { span, alone: None }
    }

    /// The elements of a tensor that is held by rows or by element.
    pub fn of(shown: &Shown) -> Bytes {
        let bytes = shown.places.iter().flat_map(|place| *place..place + shown.size);
        Bytes { span: shown.span(), alone: Some(bytes.collect()) }
    }

    fn has(&self, byte: usize) -> bool {
        self.span.contains(&byte) && self.alone.as_ref().is_none_or(|alone| alone.contains(&byte))
    }

    /// Whether both use some byte; `None` if only what lies between may be used by both.
    fn meets(&self, other: &Bytes) -> Option<bool> {
        let start = self.span.start.max(other.span.start);
        let end = self.span.end.min(other.span.end);
        match (start..end).any(|byte| self.has(byte) && other.has(byte)) {
            true => Some(true),
            false => (start >= end).then_some(false),
        }
    }
}

/// One use of bytes that goes on; ends when dropped.
#[derive(Debug)]
pub struct Entry {
    shadow: Rc<Shadow>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.shadow.entries.borrow_mut().retain(|(number, _, _)| *number != self.number);
    }
}

/// Whether two uses of one byte exclude each other, as the documentation of `Access` says it:
/// references tolerate no writer and writers through references tolerate nobody; kernels are
/// ordered among themselves; foreign code excludes references only; what is published excludes
/// every writer.
fn exclude(one: Access, other: Access) -> bool {
    let reference = |access| matches!(access, Access::Read | Access::Write);
    let kernel = |access| matches!(access, Access::KernelRead | Access::KernelWrite);
    if !one.writes() && !other.writes() {
        return false;
    }
    one == Access::Publish
        || other == Access::Publish
        || one == Access::Write
        || other == Access::Write
        || reference(one)
        || reference(other)
        || (kernel(one) && kernel(other))
}

fn mapping(tensor: &TensorDyn) -> *const RawBuffer {
    Arc::as_ptr(tensor.buffer().raw().expect("it exists"))
}

impl Shadow {
    pub fn new(allocation: u64, bytes: Vec<u8>, pool: Option<usize>) -> Rc<Shadow> {
        Rc::new(Shadow {
            allocation: Cell::new(Some(allocation)),
            size: bytes.len(),
            bytes: RefCell::new(bytes),
            sealed: Cell::new(false),
            pool,
            taken: RefCell::default(),
            parted: Cell::new(false),
            lent: Cell::new(false),
            frames: Rc::default(),
            entries: RefCell::default(),
            next: Cell::new(0),
        })
    }

    /// The pool gave this tensor.
    pub fn take(&self, tensor: &TensorDyn) -> Rc<Taken> {
        let taken = Rc::new(Taken { mapping: mapping(tensor) });
        *self.taken.borrow_mut() = Rc::downgrade(&taken);
        taken
    }

    /// The pool's own mapping, if that is what the tensor shows.
    pub fn taken(&self, tensor: &TensorDyn) -> Option<Rc<Taken>> {
        let taken = self.taken.borrow().upgrade();
        taken.filter(|taken| std::ptr::eq(taken.mapping, mapping(tensor)))
    }

    /// Whether the pool's own mapping is in use.
    pub fn is_taken(&self) -> bool {
        self.taken.borrow().strong_count() > 0
    }

    /// Another mapping of the same object shows so many bytes; those that nobody has seen are zero.
    pub fn reaches(&self, size: usize) {
        let mut bytes = self.bytes.borrow_mut();
        let size = size.max(bytes.len());
        bytes.resize(size, 0);
    }

    /// Whether nobody's use of these bytes excludes this one; `None` if only what lies between is
    /// used by others.
    fn is_free(&self, access: Access, bytes: &Bytes) -> Option<bool> {
        let mut sure = true;
        for (_, held, others) in self.entries.borrow().iter() {
            match others.meets(bytes) {
                _ if !exclude(*held, access) => {}
                Some(true) => return Some(false),
                Some(false) => {}
                None => sure = false,
            }
        }
        sure.then_some(true)
    }

    /// What the model expects of a request for `range`.
    pub(crate) fn expects(&self, access: Access, range: &Range<usize>) -> Expected {
        self.expects_bytes(access, &Bytes::all(range.clone()))
    }

    /// The same for some bytes.
    pub(crate) fn expects_bytes(&self, access: Access, bytes: &Bytes) -> Expected {
        let (writes, free) =
            (access.writes() && !bytes.span.is_empty(), self.is_free(access, bytes));
        if free == Some(false) || (writes && self.is_published()) {
            Expected::Refused
        } else if free.is_none() || (writes && self.lent.get()) {
            Expected::Either
        } else {
            Expected::Ok
        }
    }

    /// Whether consumers have it, so that nobody may write. Afterwards the publisher may or may not
    /// have noticed that they are done.
    pub fn is_published(&self) -> bool {
        self.lent.get() && self.frames.get() > 0
    }

    /// Whether somebody uses some byte in such a way.
    pub fn has(&self, which: impl Fn(Access) -> bool) -> bool {
        self.entries.borrow().iter().any(|(_, access, _)| which(*access))
    }

    /// How many uses go on.
    pub fn held(&self) -> usize {
        self.entries.borrow().len()
    }

    pub fn enter(self: &Rc<Self>, access: Access, range: Range<usize>) -> Entry {
        self.enter_bytes(access, Bytes::all(range))
    }

    /// The same for some bytes.
    pub fn enter_bytes(self: &Rc<Self>, access: Access, bytes: Bytes) -> Entry {
        let number = self.next.get();
        self.next.set(number + 1);
        self.entries.borrow_mut().push((number, access, bytes));
        Entry { shadow: Rc::clone(self), number }
    }
}
