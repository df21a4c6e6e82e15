//! Which memory serves a request that does not name one.

use std::sync::Arc;

use crate::{Error, RawBuffer, Refusal, Request, Result, TensorMemory, environment, kind};

/// The order in which memories are tried: what most others can use without a copy first.
const ORDER: [TensorMemory; 3] = [TensorMemory::Dma, TensorMemory::Shm, TensorMemory::Mem];

/// The memories an automatic choice tries now, in order: DMA-BUF, shared memory, heap; the heap
/// alone if the environment variable `TENURE_FORCE_MEM` is `1` or `true`.
pub fn automatic() -> &'static [TensorMemory] {
    if environment::force_mem() { &[TensorMemory::Mem] } else { &ORDER }
}

/// Allocates in the memory named, or in the first of [`automatic`] that serves; the buffer then
/// remembers why the ones before it did not ([`RawBuffer::refusals`]).
///
/// # Errors
/// Why the memory named refused; or [`Error::NoneServed`] with the reason of every memory tried.
pub fn allocate(memory: Option<TensorMemory>, request: &Request<'_>) -> Result<RawBuffer> {
    allocate_fitting(memory, |_| *request)
}

/// As [`allocate`], with a request that depends on the memory: rows of an image lie further apart
/// in memory that devices read, say.
///
/// # Errors
/// As [`allocate`].
pub fn allocate_fitting<'a>(
    memory: Option<TensorMemory>,
    request: impl Fn(TensorMemory) -> Request<'a>,
) -> Result<RawBuffer> {
    if let Some(memory) = memory {
        return kind::allocator(memory)?.allocate(&request(memory));
    }
    let (mut refusals, mut bytes) = (vec![], 0);
    for &memory in automatic() {
        let request = request(memory);
        bytes = request.bytes();
        match kind::allocator(memory).and_then(|allocator| allocator.allocate(&request)) {
            Ok(raw) => return Ok(raw.with_refusals(refusals)),
            Err(error) => refusals.push(Refusal { memory, error: Arc::new(error) }),
        }
    }
    Err(Error::from(crate::detail::NoneServed { bytes, refusals }))
}
