//! The disk itself: reads past the system's cache, and files out of it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rustix::fs::{Advice, OFlags, fadvise, fsync};
use tenure::TensorMemory;
use tenure::memory::{Buffer, Request, allocate, open_file};
use tenure_benches::Error;

use crate::model::Model;

/// Bytes of one read, and threads that read: what this disk is fastest with.
const PIECE: usize = 8 << 20;
const READERS: usize = 4;
/// What addresses and positions must be multiples of.
const BLOCK: usize = 4096;

/// Puts a file out of the system's cache.
pub(crate) fn evict(path: &Path) -> Result<(), Error> {
    let file = File::open(path)?;
    fsync(&file)?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let mapped = open_file(path)?;
    match mapped.resident(0..mapped.len()) {
        Some(bytes) if bytes < mapped.len() / 10 => Ok(()),
        _ => Err("the system keeps the file in its cache".into()),
    }
}

/// Reads a file in whole pieces past the cache, into memory as large as the file.
pub(crate) struct Reader {
    file: File,
    size: u64,
    memory: Buffer,
}

impl Reader {
    pub(crate) fn new(model: &Model) -> Result<Reader, Error> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(direct).open(model.path())?;
        let size = file.metadata()?.len();
        let bytes = usize::try_from(size)?.next_multiple_of(PIECE);
        let request = Request::new(bytes)?.with_align(BLOCK)?;
        let memory = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request)?);
        tenure_benches::touch(memory.write()?.as_bytes_mut());
        Ok(Reader { file, size, memory })
    }

    pub(crate) fn read(&mut self) -> Result<u64, Error> {
        let mut memory = self.memory.write()?;
        let pieces: Vec<_> = memory.as_bytes_mut().chunks_mut(PIECE).collect();
        let pieces = std::sync::Mutex::new(pieces.into_iter().zip(0u64..));
        let read = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| {
                    loop {
                        let next = pieces.lock().ok().and_then(|mut pieces| pieces.next());
                        let Some((piece, index)) = next else { break };
                        let bytes = self.file.read_at(piece, index * PIECE as u64).unwrap_or(0);
                        read.fetch_add(bytes as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        let read = read.into_inner();
        if read == self.size { Ok(read) } else { Err("the disk gave less than the file".into()) }
    }
}
