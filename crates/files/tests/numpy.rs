//! What numpy itself says about our files. Machines without it are told, and nothing is tested.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};

use tenure_files::npy;
use tenure_tensor::{PixelFormat, Tensor};

fn python(program: &str, input: &[u8]) -> Option<String> {
    let mut child = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A program that ends before it reads leaves a closed pipe.
    let _ = child.stdin.take()?.write_all(input);
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn numpy_reads_what_was_written() {
    if python("import numpy", &[]).is_none() {
        eprintln!("skipped: python3 has no numpy here");
        return;
    }
    let load = "import io, sys, numpy as n
a = n.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
print(a.dtype.name, a.shape, a.flags.c_contiguous, a.ravel().tolist())";
    let mut file = vec![];
    let t = Tensor::<f32>::from_slice(&[0.5, -1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3]).unwrap();
    npy::write(&mut file, &t.permute(&[1, 0]).unwrap()).unwrap();
    let words = python(load, &file).unwrap();
    assert_eq!(words, "float32 (3, 2) True [0.5, 3.0, -1.0, 4.0, 2.0, 5.0]");

    let mut file = vec![];
    let t = Tensor::<u8>::image_builder(2, 2, PixelFormat::Nv12).row_stride(64).build().unwrap();
    t.fill(7).unwrap();
    npy::write(&mut file, &t).unwrap();
    assert_eq!(python(load, &file).unwrap(), "uint8 (3, 2) True [7, 7, 7, 7, 7, 7]");
}
