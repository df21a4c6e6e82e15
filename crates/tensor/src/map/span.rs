//! Guards over everything from the first to the last byte of a tensor, its gaps included.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use tenure_memory::{ReadGuard, WriteGuard};

use crate::ElementKind;
use crate::map::{First, elements, elements_mut};
use crate::meta::Placed;

/// The span of a tensor to read: its elements and what lies between them, in memory order.
#[must_use = "the bytes are held only while the guard lives"]
pub struct SpanRead<E: ElementKind> {
    guard: ReadGuard<Placed>,
    element: PhantomData<fn() -> E>,
}

/// The span of a tensor to read and write: its elements and what lies between them, in memory
/// order.
#[must_use = "the bytes are held only while the guard lives"]
pub struct SpanMap<E: ElementKind> {
    guard: WriteGuard<Placed>,
    element: PhantomData<fn() -> E>,
}

impl<E: ElementKind> SpanRead<E> {
    pub(crate) fn new(guard: ReadGuard<Placed>) -> SpanRead<E> {
        SpanRead { guard, element: PhantomData }
    }

    /// Everything from the first to the last byte of the tensor, in memory order.
    pub fn as_slice(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }
}

impl<E: ElementKind> SpanMap<E> {
    pub(crate) fn new(guard: WriteGuard<Placed>) -> SpanMap<E> {
        SpanMap { guard, element: PhantomData }
    }

    /// Everything from the first to the last byte of the tensor, in memory order.
    pub fn as_slice(&self) -> &[E::Stored] {
        elements(self.guard.as_bytes())
    }

    /// The same, to write.
    pub fn as_mut_slice(&mut self) -> &mut [E::Stored] {
        elements_mut(self.guard.as_bytes_mut())
    }
}

impl<E: ElementKind> Deref for SpanRead<E> {
    type Target = [E::Stored];

    fn deref(&self) -> &[E::Stored] {
        self.as_slice()
    }
}

impl<E: ElementKind> Deref for SpanMap<E> {
    type Target = [E::Stored];

    fn deref(&self) -> &[E::Stored] {
        self.as_slice()
    }
}

impl<E: ElementKind> DerefMut for SpanMap<E> {
    fn deref_mut(&mut self) -> &mut [E::Stored] {
        self.as_mut_slice()
    }
}

impl<E: ElementKind> fmt::Debug for SpanRead<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpanRead").field(&First(self.iter())).finish()
    }
}

impl<E: ElementKind> fmt::Debug for SpanMap<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpanMap").field(&First(self.iter())).finish()
    }
}
