//! Sizes that are small again once somebody keeps them in 32 bits: memory, files and heads of files
//! of just under, exactly and just over 2 and 4 GiB. Each is served as it is, or refused.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tenure::memory::Error::{BadRequest, OutOfMemory, TooShort};
use tenure::tensor::Error;
use tenure::{ErrorKind, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::refused;

const END: u64 = 1 << 32;
/// Whether addresses have 32 bits.
const NARROW: bool = usize::BITS == 32;
const SIZES: [u64; 8] =
    [(END / 2) - 1, END / 2, (END / 2) + 4096, END - 4096, END - 1, END, END + 1, END + (5 << 20)];

/// Memory of so many bytes: if it is there, then to its end.
fn whole_or_not(bytes: u64) {
    let Ok(bytes) = usize::try_from(bytes) else { return };
    let made = Tensor::<u8>::new(&[bytes], Some(TensorMemory::Mem), None);
    let Ok(tensor) = made else {
        refused!(made, Error::Memory(OutOfMemory(_) | BadRequest { .. }));
        return;
    };
    assert_eq!(tensor.size_bytes(), bytes);
    let last = tensor.slice(0, bytes - 1..bytes).expect("inside");
    last.fill(9).expect("free");
    assert_eq!(last.map_read().expect("free").as_slice(), [9]);
    assert_eq!(tensor.slice(0, 0..1).expect("inside").map_read().expect("free").as_slice(), [0]);
    refused!(tensor.slice(0, bytes..bytes + 1), Error::Layout(_));
}

/// A mapped file of so many bytes, of which the last is written and takes disk.
fn mapped(path: &Path, bytes: u64) {
    let file = File::create(path).expect("a file");
    file.write_all_at(&[9], bytes - 1).expect("a byte");
    let tensor = match TensorDyn::open(path) {
        Ok(tensor) => tensor,
        Err(_) if NARROW => return,
        Err(error) => panic!("{bytes} bytes can be mapped: {error}"),
    };
    assert_eq!(tensor.size_bytes() as u64, bytes);
    let last = tensor.size_bytes() - 1;
    let last = tensor.slice(0, last..last + 1).expect("inside").typed::<u8>().expect("bytes");
    assert_eq!(last.map_read().expect("free").as_slice(), [9]);
    // One more than there is.
    let one_more = usize::try_from(bytes + 1).expect("64 bits");
    refused!(Tensor::<u8>::from_fd(&file, &[one_more], None), Error::Memory(TooShort { .. }));
}

/// A head that says so many bytes over a file with what is left of them in 32 bits.
fn head(path: &Path, bytes: u64) {
    let head = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({bytes},), }}\n");
    let length = u16::try_from(head.len()).expect("short");
    let left = (bytes % END) as usize;
    let body = vec![1; if left < 16 << 20 { left } else { 64 }];
    let file = [&b"\x93NUMPY\x01\x00"[..], &length.to_le_bytes(), head.as_bytes(), &body].concat();
    fs::write(path, file).expect("written");
    refused!(tenure::files::open(path), error if error.kind() == ErrorKind::Damaged);
}

fn main() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder on a disk");
    for bytes in SIZES {
        whole_or_not(bytes);
        mapped(&folder.path().join("raw"), bytes);
        head(&folder.path().join("head.npy"), bytes);
    }
    // Products that are small in 32 bits, and one that is small in 64.
    for shape in [[1 << 16, 1 << 16], [1 << 17, 1 << 15], [(1 << 16) + 1, (1 << 16) - 1]] {
        let bytes = shape.iter().map(|&extent: &usize| extent as u64).product();
        whole_or_not(bytes);
    }
    let small = Tensor::<u8>::new(&[64], Some(TensorMemory::Mem), None).expect("memory");
    refused!(small.reshape(&[1 << 16, 1 << 16]), Error::Layout(_));
    refused!(small.reshape(&[1 << 32, 1 << 32]), Error::Layout(_));
    refused!(small.slice(0, 1 << 32..(1 << 32) + 64), Error::Layout(_));
}
