//! Lines of recordings: whatever is accepted lies in the file of the frames, and can be published.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::stream::recording::Entry;
use tenure::stream::wire::LONGEST_BLOB;

/// Bytes of the frames.
const FRAMES: u64 = 1 << 20;

fuzz_target!(|index: &[u8]| {
    for line in index.split_inclusive(|byte| *byte == b'\n') {
        let Ok(entry) = Entry::parse(line, FRAMES) else { continue };
        let bytes = entry.spec().flat_bytes() as u64;
        assert!(entry.offset().checked_add(bytes).is_some_and(|end| end <= FRAMES));
        assert!(entry.spec().bytes() as u64 >= bytes);
        assert!(entry.blob().len() <= LONGEST_BLOB);
        // A longer file has it too, a shorter one does not.
        assert_eq!(Entry::parse(line, u64::MAX), Ok(entry.clone()));
        assert!(bytes == 0 || Entry::parse(line, entry.offset() + bytes - 1).is_err());
    }
});
