//! The mechanisms that bytes are obtained with, as names.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The mechanism a tensor's bytes are obtained with. The numbers are fixed: they are the codes of
/// the C interface and of messages between processes.
///
/// ```
/// use tenure_memory::TensorMemory;
/// assert_eq!(TensorMemory::try_from("dma")?, TensorMemory::Dma);
/// assert_eq!(String::from(TensorMemory::Shm), "shm");
/// assert!(TensorMemory::try_from("dmabuf").unwrap_err().to_string().contains("mem, dma, shm"));
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum TensorMemory {
    /// The heap of this process.
    Mem = 0,
    /// DMA-BUF: memory that cameras, GPUs and NPUs share by file descriptor.
    Dma = 1,
    /// Shared memory between processes: a sealed memory file.
    Shm = 2,
    /// An OpenGL pixel buffer object.
    Pbo = 3,
    /// A mapped file, read-only: the device that others call DISK. `disk` is a word for it too.
    File = 4,
    /// Page-locked main memory that a GPU reaches directly.
    Pinned = 5,
    /// Memory of a device.
    Device = 6,
    /// Memory that moves between CPU and device by itself.
    Managed = 7,
}

const TABLE: [(TensorMemory, &str); 8] = [
    (TensorMemory::Mem, "mem"),
    (TensorMemory::Dma, "dma"),
    (TensorMemory::Shm, "shm"),
    (TensorMemory::Pbo, "pbo"),
    (TensorMemory::File, "file"),
    (TensorMemory::Pinned, "pinned"),
    (TensorMemory::Device, "device"),
    (TensorMemory::Managed, "managed"),
];

/// What others call a mapped file.
const DISK: &str = "disk";

impl TensorMemory {
    /// How many there are.
    pub(crate) const COUNT: usize = TABLE.len();

    /// Every memory, in the order of the codes.
    pub fn all() -> impl Iterator<Item = TensorMemory> {
        TABLE.iter().map(|row| row.0)
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The fixed number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The memory with this number.
    pub fn from_code(code: u8) -> Option<TensorMemory> {
        TABLE.get(code as usize).map(|row| row.0)
    }

    pub(crate) fn words() -> String {
        let word = |&(memory, word): &(TensorMemory, &str)| match memory {
            TensorMemory::File => format!("{word} (or {DISK})"),
            _ => word.to_owned(),
        };
        TABLE.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for TensorMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TensorMemory {
    type Err = Error;

    fn from_str(word: &str) -> Result<TensorMemory, Error> {
        TABLE
            .iter()
            .find(|row| row.1.eq_ignore_ascii_case(word))
            .map(|row| row.0)
            .or(word.eq_ignore_ascii_case(DISK).then_some(TensorMemory::File))
            .ok_or_else(|| Error::UnknownMemory { word: word.into() })
    }
}

impl TryFrom<&str> for TensorMemory {
    type Error = Error;

    fn try_from(word: &str) -> Result<TensorMemory, Error> {
        word.parse()
    }
}

impl From<TensorMemory> for String {
    fn from(memory: TensorMemory) -> String {
        memory.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_fixed() {
        let codes = ["mem", "dma", "shm", "pbo", "file", "pinned", "device", "managed"];
        for (code, word) in codes.iter().enumerate() {
            let memory = TensorMemory::from_code(code as u8).unwrap();
            assert_eq!((memory.name(), memory.code() as usize), (*word, code));
            assert_eq!(TensorMemory::try_from(*word).unwrap(), memory);
        }
        assert_eq!(TensorMemory::from_code(8), None);
        assert_eq!(TensorMemory::try_from("SHM").unwrap(), TensorMemory::Shm);
        assert_eq!(TensorMemory::try_from("DISK").unwrap(), TensorMemory::File);
        let words = TensorMemory::try_from("tape").unwrap_err().to_string();
        assert!(words.contains("pbo, file (or disk), pinned"), "{words}");
    }
}
