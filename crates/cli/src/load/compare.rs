//! The ways to get bytes from a file into memory, each measured once in every round.

use std::hint::black_box;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use tenure::files::{self, TensorFile};
use tenure::memory::{Buffer, Request, allocate, kind};
use tenure::{Pool, PoolLimits, TensorMemory};

use super::evict::{evict, open_direct, read_at};
use super::report::{Comparison, Way};
use super::{Options, bytes, chosen};
use crate::failure::Failure;
use crate::input;
use crate::inspect::wanted;
use crate::machine::{Tree, room};
use crate::progress::Progress;

/// Bytes of a bare read of the disk.
const PIECE: usize = 8 << 20;
/// Bytes of a page, everywhere that has smaller ones too.
const PAGE: usize = 4096;
/// Threads of bare reads: what a disk is busy with.
const READERS: usize = 4;

/// Measures all ways; what cannot be measured has its reason.
pub(super) fn run(options: &Options, file: TensorFile) -> Result<Comparison, Failure> {
    let paths: Vec<PathBuf> = file.paths().map(Path::to_owned).collect();
    let (bytes, size) = (bytes(options, &file), file.size());
    drop(file);
    check_room(bytes, size)?;
    let mut memory = Memory::new(options, bytes)?;
    // What is kept in the pool is there from the first round on.
    memory.go("load", options, &paths)?;
    let mut ways = Way::all();
    let progress = Progress::new(options.rounds as usize * ways.len());
    for _ in 0..options.rounds {
        for way in &mut ways {
            progress.step();
            if way.left_out.is_some() {
                continue;
            }
            if way.cold && !paths.iter().all(|path| evict(path)) {
                way.left_out = Some("the system keeps the file in its cache".to_owned());
                continue;
            }
            if !way.cold {
                warm(&paths)?;
            }
            let start = Instant::now();
            match memory.go(way.name, options, &paths) {
                Ok(read) => way.add(read, start.elapsed()),
                Err(failure) => way.left_out = Some(crate::failure::chain(&failure).join(": ")),
            }
        }
    }
    drop(progress);
    Ok(Comparison::new(&options.file, bytes, options.rounds, ways))
}

/// Three times the tensors and once the file: what is copied from, what to, and what is new.
fn check_room(bytes: u64, size: u64) -> Result<(), Failure> {
    let needed = bytes.saturating_mul(3).saturating_add(size);
    match room::room(&Tree::here()) {
        Some(room) if room.available < needed => {
            let available = room.available;
            Err(Failure::NoRoom { bytes, needed, available })
        }
        _ => Ok(()),
    }
}

/// Reads all files once, so that they are in the cache.
fn warm(paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let (file, size) = input::open(path).map_err(read_failed)?;
        io::copy(&mut file.take(size), &mut io::sink()).map_err(read_failed)?;
    }
    Ok(())
}

fn read_failed(cause: io::Error) -> Failure {
    Failure::Files(files::Error::Read { at: 0, cause })
}

/// Memory that is there before anything is measured.
struct Memory {
    pool: Pool,
    from: Buffer,
    to: Buffer,
}

impl Memory {
    fn new(options: &Options, bytes: u64) -> Result<Memory, Failure> {
        let memory = options.memory.unwrap_or(TensorMemory::Mem);
        let limits = PoolLimits::new(usize::MAX, 4);
        let pool = Pool::new(kind::allocator(memory)?).with_limits(limits);
        let request = Request::new(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let make = || {
            let buffer = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request)?);
            buffer.write()?.as_bytes_mut().fill(1);
            Ok::<Buffer, Failure>(buffer)
        };
        Ok(Memory { pool, from: make()?, to: make()? })
    }

    /// Goes one way; says how many bytes were got.
    fn go(&mut self, way: &str, options: &Options, paths: &[PathBuf]) -> Result<u64, Failure> {
        match way {
            "memcpy" => self.copy(),
            "disk" => paths.iter().map(|path| read_disk(path)).sum(),
            "mmap" => touch(options),
            "read" => {
                let read = |path: &PathBuf| read_whole(path).map(|all| black_box(all).len() as u64);
                paths.iter().map(read).sum::<io::Result<u64>>().map_err(read_failed)
            }
            "load-new" => {
                let file = files::open(&options.file)?;
                let memory = options.memory.unwrap_or(TensorMemory::Mem);
                Ok(black_box(chosen(options, &file).memory(memory).run()?).bytes())
            }
            _ => {
                let file = files::open(&options.file)?;
                Ok(black_box(chosen(options, &file).allocator(&self.pool).run()?).bytes())
            }
        }
    }

    /// Copies with a thread for each processor.
    fn copy(&mut self) -> Result<u64, Failure> {
        let (from, mut to) = (self.from.read()?, self.to.write()?);
        let threads = thread::available_parallelism().map_or(1, |count| count.get());
        let part = from.as_bytes().len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            for (from, to) in from.as_bytes().chunks(part).zip(to.as_bytes_mut().chunks_mut(part)) {
                scope.spawn(move || to.copy_from_slice(from));
            }
        });
        Ok(from.as_bytes().len() as u64)
    }
}

/// Reads all of a file, as [`std::fs::read`] does, and not what is added meanwhile.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let (file, size) = input::open(path)?;
    let mut all = vec![];
    all.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
    file.take(size).read_to_end(&mut all)?;
    Ok(all)
}

/// Touches every page of the tensors where they are mapped.
fn touch(options: &Options) -> Result<u64, Failure> {
    let file = files::open(&options.file)?;
    let mut total = 0;
    for entry in file.entries().iter().filter(|entry| wanted(entry.name(), &options.words)) {
        let tensor = file.tensor(entry.name())?;
        let all = tensor.map_read()?;
        black_box(all.iter().step_by(PAGE).fold(0u8, |sum, byte| sum ^ byte));
        total += entry.bytes() as u64;
    }
    Ok(total)
}

/// Reads a file past the cache and keeps nothing of it.
fn read_disk(path: &Path) -> Result<u64, Failure> {
    let file = open_direct(path).map_err(read_failed)?;
    let size = file.metadata().map_err(read_failed)?.len();
    let next = AtomicU64::new(0);
    let read = || {
        let request = Request::new(PIECE)?.with_align(PAGE)?;
        let buffer = Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request)?);
        let mut piece = buffer.write()?;
        loop {
            let at = next.fetch_add(PIECE as u64, Ordering::Relaxed);
            if at >= size {
                return Ok::<(), Failure>(());
            }
            read_at(&file, at, piece.as_bytes_mut()).map_err(read_failed)?;
        }
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let gone = || Failure::Files(files::Error::Stopped { done: 0, all: size });
        readers.into_iter().try_for_each(|reader| reader.join().map_err(|_| gone())?)
    })?;
    Ok(size)
}

#[cfg(all(test, linux_like))]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_that_took_the_name_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        std::fs::write(&path, [7; 5000]).unwrap();
        assert_eq!(read_whole(&path).unwrap(), [7; 5000]);
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        assert!(read_whole(&path).is_err() && warm(std::slice::from_ref(&path)).is_err());
        assert!(!evict(&path) && open_direct(&path).is_err());
    }
}
