//! A program that blocks all signals, as daemons do: threads of processors survive a source that is
//! cut off, and say so.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "blocks signals")]

use std::fs::File;
use std::io::Write;
use std::ptr;

use tenure_image::{Convert, ImageProcessor};
use tenure_layout::{DType, PixelFormat};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;

const SIZE: (usize, usize) = (1500, 1000);

fn block_all() {
    // SAFETY: a set on the stack, filled by the first call.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()), 0);
    }
}

/// A picture in a mapped file, and the file to cut.
fn picture() -> (TensorDyn, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![7; SIZE.0 * SIZE.1 * 3]).unwrap();
    let read = File::open(file.path()).unwrap();
    let mut tensor = TensorDyn::from_fd(&read, &[SIZE.1, SIZE.0, 3], DType::U8, None).unwrap();
    tensor.set_format(PixelFormat::Rgb).unwrap();
    (tensor, file)
}

fn survives(threads: Option<usize>) {
    block_all();
    let processor = ImageProcessor::builder().threads(threads).build().unwrap();
    for _ in 0..20 {
        let (source, file) = picture();
        let memory = Some(TensorMemory::Mem);
        let target = TensorDyn::image(640, 480, PixelFormat::Rgb, DType::U8, memory, None).unwrap();
        processor.convert(&source, &target, &Convert::new()).unwrap();
        // The pages that helpers touch next are gone.
        file.as_file().set_len(4096).unwrap();
        let error = processor.convert(&source, &target, &Convert::new()).unwrap_err();
        assert!(error.to_string().contains("cut off"), "{error}");
    }
}

#[test]
fn own_threads_survive() {
    child::alone("own_threads_survive", || survives(Some(4)));
}

#[test]
fn shared_threads_survive() {
    child::alone("shared_threads_survive", || survives(None));
}
