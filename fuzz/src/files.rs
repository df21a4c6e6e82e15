//! A file of tensors that somebody else has made: what is in it lies inside it, and what is loaded
//! of it is what is mapped.

use std::fs;
use std::path::PathBuf;

use tenure::TensorMemory;
use tenure::files::{Format, catalogue, open_as};

/// Tensors larger than this together are not loaded: a kilobyte can inflate to a megabyte.
const MOST: usize = 1 << 20;

/// Looks at everything in the file, every way.
pub fn check(bytes: &[u8], format: Format) {
    let Ok(found) = catalogue(bytes, Some(format)) else { return };
    let mut total = 0usize;
    for entry in found.entries() {
        assert!(entry.offset() <= bytes.len() as u64);
        if entry.copied() != Some("its bytes are compressed") {
            assert!(entry.offset() + entry.bytes() as u64 <= bytes.len() as u64);
        }
        total = total.saturating_add(entry.bytes());
    }
    if total > MOST {
        return;
    }
    let path = PathBuf::from(format!("/dev/shm/tenure-fuzz-{}.{format}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let file = open_as(&path, format).unwrap();
    assert_eq!(file.entries().len(), found.entries().len());
    // A deflated tensor may be damaged inside; then neither way gives it.
    let loaded = file.load().memory(TensorMemory::Mem).threads(1).run();
    for entry in file.entries() {
        let Ok(one) = file.tensor(entry.name()) else {
            assert!(loaded.is_err());
            continue;
        };
        assert_eq!(one.size_bytes(), entry.bytes());
        if let Ok(loaded) = &loaded {
            let other = loaded.tensor(entry.name()).unwrap();
            assert_eq!((one.shape(), one.dtype()), (other.shape(), other.dtype()));
            let (one, other) = (one.map_read(), other.map_read());
            assert_eq!(one.is_ok(), other.is_ok());
            if let (Ok(one), Ok(other)) = (one, other) {
                assert_eq!(one[..], other[..]);
            }
        }
    }
    fs::remove_file(&path).unwrap();
}
