//! Guards, holds and exports that are kept for a while.

use std::rc::Rc;

use tenure::dlpack::{ExportRequest, Exported, Legacy, Versioned};
use tenure::memory::{Access, Hold, ReadGuard, WriteGuard};
use tenure::tensor::{Error, Result};
use tenure::{Dyn, RowsMap, RowsRead, StridedMap, StridedRead, TensorDyn, TensorMap, TensorRead};

use super::ops::take;
use super::{EXPORTS, Held, Lease, World};
use crate::shadow::{Bytes, Entry, Shadow, Taken};
use crate::shown::Shown;

/// Some guard, and the bytes of the allocation that it gives: each where it is there. The real one
/// is dropped first.
#[derive(Debug)]
pub(super) struct Guard {
    kind: Kind,
    places: Vec<usize>,
    _entry: Entry,
    shadow: Rc<Shadow>,
    _lease: Option<Rc<Lease>>,
    _taken: Option<Rc<Taken>>,
}

#[derive(Debug)]
enum Kind {
    Map(TensorMap<Dyn>),
    Read(TensorRead<Dyn>),
    Rows(RowsMap<Dyn>),
    RowsRead(RowsRead<Dyn>),
    StridedMap(#[expect(dead_code, reason = "held, and never looked at")] StridedMap<Dyn>),
    StridedRead(#[expect(dead_code, reason = "held, and never looked at")] StridedRead<Dyn>),
    BufferRead(ReadGuard),
    BufferWrite(WriteGuard),
    Kernel(#[expect(dead_code, reason = "held, and never looked at")] Hold),
}

impl Kind {
    fn bytes(&self) -> Option<Vec<u8>> {
        Some(match self {
            Kind::Map(map) => map.to_vec(),
            Kind::Read(read) => read.to_vec(),
            Kind::Rows(map) => map.rows().flatten().copied().collect(),
            Kind::RowsRead(read) => read.rows().flatten().copied().collect(),
            Kind::BufferRead(read) => read.as_bytes().to_vec(),
            Kind::BufferWrite(write) => write.as_bytes().to_vec(),
            Kind::StridedMap(_) | Kind::StridedRead(_) | Kind::Kernel(_) => return None,
        })
    }

    fn byte_mut(&mut self, at: usize) -> Option<&mut u8> {
        match self {
            Kind::Map(map) => map.get_mut(at),
            Kind::Rows(map) => {
                let len = map.row_len().max(1);
                map.row_mut(at / len)?.get_mut(at % len)
            }
            Kind::BufferWrite(write) => write.as_bytes_mut().get_mut(at),
            _ => None,
        }
    }
}

impl Guard {
    /// What the guard shows is what the model has.
    pub(super) fn check(&self) {
        if let Some(bytes) = self.kind.bytes() {
            let model = self.shadow.bytes.borrow();
            let expected = self.places.iter().map(|place| &model[*place]);
            assert!(bytes.iter().eq(expected), "a guard shows other bytes");
        }
    }
}

/// A tensor that was lent to foreign code.
#[derive(Debug)]
pub(super) struct Export {
    managed: Managed,
    read_only: bool,
    _entry: Entry,
    shown: Shown,
    writable: bool,
    shadow: Rc<Shadow>,
    lease: Option<Rc<Lease>>,
    taken: Option<Rc<Taken>>,
    reader: bool,
}

#[derive(Debug)]
enum Managed {
    Versioned(Versioned),
    Legacy(Legacy),
}

impl World {
    /// Compares the answer to a guard with the model's, and keeps it.
    fn guarded(&mut self, number: u8, answer: Result<Kind>, access: Access, expected: bool) {
        let Some(held) = self.tensor(number) else { return };
        let bytes = Bytes::all(held.shown.span());
        self.guarded_bytes(number, answer, access, expected, bytes);
    }

    fn guarded_bytes(
        &mut self,
        number: u8,
        answer: Result<Kind>,
        access: Access,
        expected: bool,
        bytes: Bytes,
    ) {
        let Some(held) = self.tensor(number) else { return };
        let allowed = held.shadow.expects_bytes(access, &bytes);
        allowed.and(expected && (held.writable || !access.writes())).check(&answer);
        let Ok(kind) = answer else { return };
        let shown = &held.shown;
        let guard = Guard {
            kind,
            places: shown.places.iter().flat_map(|place| *place..place + shown.size).collect(),
            _entry: held.shadow.enter_bytes(access, bytes),
            shadow: Rc::clone(&held.shadow),
            _lease: held.lease.clone(),
            _taken: held.taken.clone(),
        };
        guard.check();
        self.keep_guard(guard);
    }

    pub(super) fn map(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let (answer, packed) = (held.tensor.map().map(Kind::Map), held.shown.is_packed());
        assert!(packed || matches!(answer, Err(Error::NotContiguous { .. })));
        self.guarded(number, answer, Access::Write, packed);
    }

    pub(super) fn map_read(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let (answer, packed) = (held.tensor.map_read().map(Kind::Read), held.shown.is_packed());
        self.guarded(number, answer, Access::Read, packed);
    }

    pub(super) fn map_strided(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let single = !held.tensor.layout().may_self_overlap();
        assert!(!single || !held.shown.repeats());
        // By rows, where there are some.
        let answer = match held.tensor.map_rows() {
            Err(Error::NotContiguous { .. }) => held.tensor.map_strided().map(Kind::StridedMap),
            rows => rows.map(Kind::Rows),
        };
        let bytes = Bytes::of(&held.shown);
        self.guarded_bytes(number, answer, Access::Write, single, bytes);
    }

    pub(super) fn map_strided_read(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let answer = match held.tensor.map_rows_read() {
            Err(Error::NotContiguous { .. }) => {
                held.tensor.map_strided_read().map(Kind::StridedRead)
            }
            rows => rows.map(Kind::RowsRead),
        };
        let bytes = Bytes::of(&held.shown);
        self.guarded_bytes(number, answer, Access::Read, true, bytes);
    }

    /// Some bytes of a tensor's buffer, which for a view is what the view spans.
    pub(super) fn hold_bytes(&mut self, number: u8, start: u8, end: u8, write: bool) {
        let Some(held) = self.tensor(number) else { return };
        let buffer = held.tensor.buffer();
        let part = usize::from(start) % (buffer.len() + 2)..usize::from(end) % (buffer.len() + 2);
        let inside = part.start <= part.end && part.end <= buffer.len();
        let answer = match write {
            false => buffer.read_range(part.clone()).map(Kind::BufferRead),
            true => buffer.write_range(part.clone()).map(Kind::BufferWrite),
        };
        let access = if write { Access::Write } else { Access::Read };
        let range = buffer.start() + part.start..buffer.start() + part.end;
        held.allows_range(access, &range).and(inside).check(&answer);
        let Ok(kind) = answer else { return };
        let guard = Guard {
            kind,
            places: range.clone().collect(),
            _entry: held.shadow.enter(access, range),
            shadow: Rc::clone(&held.shadow),
            _lease: held.lease.clone(),
            _taken: held.taken.clone(),
        };
        guard.check();
        self.keep_guard(guard);
    }

    pub(super) fn hold_kernel(&mut self, number: u8, write: bool) {
        let Some(held) = self.tensor(number) else { return };
        let access = if write { Access::KernelWrite } else { Access::KernelRead };
        let answer = held.tensor.buffer().hold(access, held.tensor.layout().span());
        self.guarded(number, answer.map(Kind::Kernel).map_err(Error::from), access, true);
    }

    pub(super) fn write_guard(&mut self, number: u8, at: u16, value: u8) {
        let count = self.guards.len();
        if count == 0 {
            return;
        }
        let Guard { kind, places, shadow, .. } = &mut self.guards[usize::from(number) % count];
        let Some(at) = usize::from(at).checked_rem(places.len()) else { return };
        let Some(byte) = kind.byte_mut(at) else { return };
        *byte = value;
        shadow.bytes.borrow_mut()[places[at]] = value;
    }

    pub(super) fn check_guard(&mut self, number: u8) {
        let count = self.guards.len();
        if count > 0 {
            self.guards[usize::from(number) % count].check();
        }
    }

    fn exported(&mut self, number: u8, answer: Result<Managed>, read_only: bool) {
        let Some(held) = self.tensor(number) else { return };
        let access = if read_only { Access::ExportRead } else { Access::ExportWrite };
        held.allows(access).check(&answer);
        let Ok(managed) = answer else { return };
        let description = match &managed {
            Managed::Versioned(managed) => {
                assert_eq!(managed.is_read_only(), read_only);
                managed.tensor()
            }
            Managed::Legacy(managed) => managed.tensor(),
        };
        assert_eq!(description.ndim as usize, held.shown.shape.len());
        let export = Export {
            managed,
            read_only,
            _entry: held.shadow.enter(access, held.shown.span()),
            shown: held.shown.clone(),
            writable: held.writable,
            shadow: Rc::clone(&held.shadow),
            lease: held.lease.clone(),
            taken: held.taken.clone(),
            reader: held.reader,
        };
        if self.exports.len() >= EXPORTS {
            self.exports.remove(0);
        }
        self.exports.push(export);
    }

    /// Whether foreign code is kept from writing whatever it asks; `None` if the publisher may or
    /// may not have noticed that consumers are done with it.
    fn must_read_only(held: &Held) -> Option<bool> {
        let layout = held.tensor.layout();
        let repeats = !held.shown.is_rising() && layout.may_self_overlap();
        if !held.writable || repeats || held.shadow.is_published() {
            Some(true)
        } else {
            (!held.shadow.lent.get()).then_some(false)
        }
    }

    pub(super) fn export(&mut self, number: u8, read_only: bool) {
        let Some(held) = self.tensor(number) else { return };
        let request = ExportRequest::new().max_version(Some((1, 0))).read_only(read_only);
        let answer = held.tensor.to_dlpack_for(&request).map(|exported| match exported {
            Exported::Versioned(managed) => Managed::Versioned(managed),
            Exported::Legacy(_) => panic!("the other structure was asked for"),
        });
        let forced = World::must_read_only(held).unwrap_or_else(|| match &answer {
            Ok(Managed::Versioned(managed)) => managed.is_read_only(),
            _ => false,
        });
        self.exported(number, answer, read_only || forced);
    }

    pub(super) fn export_legacy(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let answer = held.tensor.to_dlpack_legacy().map(Managed::Legacy);
        match World::must_read_only(held) {
            // The old structure has no way to say so.
            Some(true) => assert!(answer.is_err()),
            None if answer.is_err() => {}
            _ => self.exported(number, answer, false),
        }
    }

    /// A structure of our own is the tensor that it was made of.
    pub(super) fn import_back(&mut self, number: u8) {
        let Some(export) = take(&mut self.exports, number) else { return };
        let Export { managed, read_only, _entry: entry, shown, writable, shadow, .. } = export;
        let Export { lease, taken, reader, .. } = export;
        let tensor = match managed {
            Managed::Versioned(managed) => TensorDyn::from_dlpack(managed),
            Managed::Legacy(managed) => TensorDyn::from_dlpack(managed),
        };
        // What was lent is given back by taking it.
        drop(entry);
        let tensor = tensor.expect("our own");
        let reader = reader || (writable && read_only);
        let writable = writable && !read_only;
        assert_eq!(tensor.is_writable().expect("it exists"), writable);
        self.keep(Held { tensor, shown, writable, shadow, lease, taken, reader });
    }
}
