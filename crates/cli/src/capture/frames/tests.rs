//! What becomes of frames, without a camera.

use std::fs;

use tenure::{DType, DynTensor};

use super::*;

fn taken(index: u32, tensor: TensorDyn) -> Taken {
    let about = About { index, sequence: 7, timestamp: None, dropped: 0, damaged: false };
    Taken { tensor, about }
}

fn bytes(values: &[u8]) -> TensorDyn {
    let tensor = TensorDyn::new(&[values.len()], DType::U8, Some(TensorMemory::Mem), None).unwrap();
    tensor.map().unwrap().as_mut_slice().copy_from_slice(values);
    tensor
}

#[test]
fn each_format_has_its_files() {
    let (nv12, raw) = (FourCc::new(b"NV12"), FourCc::new(b"RGBP"));
    let endings = |pixels, code, only| Sorts::of(pixels, code, only).map(Sorts::endings);
    let pixels = Some(PixelFormat::Nv12);
    assert_eq!(endings(pixels, nv12, None).unwrap(), ["png", "npy"]);
    assert_eq!(endings(pixels, nv12, Some(Only::Png)).unwrap(), ["png"]);
    assert_eq!(endings(pixels, nv12, Some(Only::Npy)).unwrap(), ["npy"]);
    assert_eq!(endings(None, FourCc::MJPG, None).unwrap(), ["jpg", "npy"]);
    assert_eq!(endings(None, FourCc::MJPG, Some(Only::Png)).unwrap(), ["jpg"]);
    assert_eq!(endings(None, raw, None).unwrap(), ["npy"]);
    let words = endings(None, raw, Some(Only::Png)).unwrap_err().to_string();
    assert!(words.starts_with("frames in RGBP cannot be shown"), "{words}");
}

#[test]
fn jpeg_is_written_as_it_came() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(root.path(), 10, &["jpg", "npy"], false).unwrap();
    let sorts = Sorts::of(None, FourCc::MJPG, None).unwrap();
    let jpeg = b"\xff\xd8 a picture \xff\xd9";
    let written = write_one(&taken(3, bytes(jpeg)), &folder, sorts).unwrap();
    assert_eq!(written.files, ["000003.jpg", "000003.npy"]);
    assert_eq!(fs::read(root.path().join("000003.jpg")).unwrap(), jpeg);
    let array = fs::read(root.path().join("000003.npy")).unwrap();
    assert!(array.ends_with(jpeg));
    assert!(
        String::from_utf8_lossy(&array)
            .contains("'descr': '|u1', 'fortran_order': False, 'shape': (15,)")
    );
    assert_eq!(written.bytes, (jpeg.len() + array.len()) as u64);
}

#[test]
fn pictures_can_be_read_again() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(root.path(), 10, &["png"], false).unwrap();
    let sorts = Sorts::of(Some(PixelFormat::Grey), FourCc::new(b"GREY"), Some(Only::Png)).unwrap();
    let mem = Some(TensorMemory::Mem);
    let frame = TensorDyn::image(4, 2, PixelFormat::Grey, DType::U8, mem, None).unwrap();
    frame.map().unwrap().as_mut_slice().copy_from_slice(&[0, 1, 2, 3, 252, 253, 254, 255]);
    write_one(&taken(0, frame), &folder, sorts).unwrap();
    let file = fs::File::open(root.path().join("000000.png")).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().unwrap();
    let mut pixels = [0; 8];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, info.color_type), (4, 2, png::ColorType::Grayscale));
    assert_eq!(pixels, [0, 1, 2, 3, 252, 253, 254, 255]);
}

#[test]
fn a_problem_of_the_camera_comes_after_what_was_written() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(root.path(), 10, &["npy"], false).unwrap();
    let sorts = Sorts::of(None, FourCc::MJPG, Some(Only::Npy)).unwrap();
    let gone = || Problem::NotAFolder("camera".into());
    let (written, problem) = write(3, &folder, sorts, |_| Err(gone()));
    assert!(written.is_empty());
    assert_eq!(problem.unwrap().to_string(), gone().to_string());
}
