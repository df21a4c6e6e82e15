//! Pictures in a process that has no descriptor left: an error, nothing left open or half-written,
//! and everything works when there are some.
#![cfg(all(target_os = "linux", feature = "codecs", not(miri)))]

use tenure_image::codec;
use tenure_tensor::{DType, DynTensor, PixelFormat, TensorDyn, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/limits.rs"]
mod limits;
#[path = "../../memory/tests/common/opens.rs"]
mod opens;

use opens::until_it_works;

fn words<T>(result: Result<T, impl ToString>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

#[test]
fn every_open_may_be_the_first_to_fail() {
    child::alone("every_open_may_be_the_first_to_fail", || {
        let folder = tempfile::tempdir().unwrap();
        let heap = Some(TensorMemory::Mem);
        let picture = TensorDyn::image(40, 30, PixelFormat::Rgb, DType::U8, heap, None).unwrap();
        for name in ["a.png", "a.jpg"] {
            let path = folder.path().join(name);
            let (needed, bytes) = until_it_works(name, || {
                let saved = codec::save(&path, &picture);
                assert!(saved.is_ok() || !path.exists(), "{name}");
                words(saved)
            });
            assert!(needed > 0);
            let left = std::fs::read_dir(folder.path()).unwrap();
            let hidden = |name: &std::ffi::OsString| name.to_string_lossy().starts_with('.');
            assert!(!left.map(|entry| entry.unwrap().file_name()).any(|name| hidden(&name)));
            let encoded = std::fs::read(&path).unwrap();
            assert_eq!(encoded.len() as u64, bytes);
            for memory in [TensorMemory::Mem, TensorMemory::Shm] {
                let (needed, read) =
                    until_it_works("opening", || words(codec::open_in(&path, Some(memory))));
                assert!(needed > 0);
                assert_eq!((read.width(), read.height()), (Some(40), Some(30)));
                drop(read);
                let (needed, decoded) =
                    until_it_works("decoding", || words(codec::decode(&encoded, Some(memory))));
                // Heap memory needs none.
                assert_eq!(needed > 0, memory == TensorMemory::Shm, "{needed}");
                assert_eq!(decoded.memory(), memory);
            }
        }
    });
}
