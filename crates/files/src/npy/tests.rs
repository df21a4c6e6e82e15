//! Byte by byte, and without gaps from every layout.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use tenure_memory::Access;
use tenure_tensor::{Bool, DynTensor, PixelFormat, TensorDyn, TensorMemory};

use super::*;

fn written<E: ElementKind>(tensor: &Tensor<E>) -> Vec<u8> {
    let mut file = vec![];
    write(&mut file, tensor).unwrap();
    file
}

/// The words of the head, and the elements.
fn parts(file: &[u8]) -> (&str, &[u8]) {
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    assert_eq!((10 + length) % 64, 0);
    assert_eq!(file[9 + length], b'\n');
    (std::str::from_utf8(&file[10..10 + length]).unwrap().trim_end(), &file[10 + length..])
}

#[test]
fn the_file_is_as_numpy_writes_it() {
    let t = Tensor::<u16>::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let order = if cfg!(target_endian = "little") { "<" } else { ">" };
    let words =
        format!("{{'descr': '{order}u2', 'fortran_order': False, 'shape': (2, 3), }}{:58}\n", "");
    expected.extend(words.bytes());
    assert_eq!(expected.len(), 128);
    expected.extend([1u16, 2, 3, 4, 5, 6].iter().flat_map(|value| value.to_ne_bytes()));
    assert_eq!(written(&t), expected);
}

#[test]
fn shapes_are_tuples() {
    for (shape, words) in
        [(&[][..], "()"), (&[3], "(3,)"), (&[0, 2], "(0, 2)"), (&[1, 2, 3], "(1, 2, 3)")]
    {
        let t = Tensor::<f32>::new(shape, Some(TensorMemory::Mem), None).unwrap();
        let file = written(&t);
        let (head, elements) = parts(&file);
        assert!(head.ends_with(&format!("'shape': {words}, }}")), "{head}");
        assert_eq!(elements.len(), t.size_bytes());
    }
    // The largest shape still fits its head.
    assert!(head("<f8", &[usize::MAX; 64]).len() < 1 << 16);
}

#[test]
fn every_type_has_its_word_or_a_reason() {
    for dtype in DType::all() {
        let t = TensorDyn::new(&[4], dtype, Some(TensorMemory::Mem), None).unwrap();
        let mut file = vec![];
        match write(&mut file, &t) {
            Ok(()) => {
                let (head, elements) = parts(&file);
                let size = dtype.size().unwrap();
                assert!(head.contains(&format!("{size}'")), "{head}");
                assert_eq!(elements.len(), 4 * size);
            }
            Err(error) => {
                assert!(file.is_empty(), "nothing is written");
                assert!(
                    matches!(&error, Error::NoSuchType(it) if matches!(**it, crate::detail::NoSuchType { dtype: named, .. } if named == dtype))
                );
                assert!(error.to_string().contains(dtype.name()), "{error}");
            }
        }
    }
    let bf16 = TensorDyn::new(&[1], DType::Bf16, Some(TensorMemory::Mem), None).unwrap();
    let words = write(vec![], &bf16).unwrap_err().to_string();
    assert_eq!(
        words,
        "npy files have no element type bf16: convert to f32, which holds every value"
    );
}

#[test]
fn truth_values_are_zero_and_one() {
    let t = TensorDyn::new(&[3], DType::Bool, Some(TensorMemory::Mem), None).unwrap();
    t.map().unwrap().as_mut_slice().copy_from_slice(&[0, 1, 77]);
    assert_eq!(parts(&written(&t)).1, [0, 1, 1]);
    let t = Tensor::<Bool>::new(&[2], Some(TensorMemory::Mem), None).unwrap();
    assert!(parts(&written(&t)).0.contains("|b1"));
}

#[test]
fn any_strides_are_written_in_order() {
    let t = Tensor::<u8>::from_slice(&[0, 1, 2, 3, 4, 5], &[2, 3]).unwrap();
    let file = written(&t.permute(&[1, 0]).unwrap());
    let (head, elements) = parts(&file);
    assert!(head.contains("(3, 2)"), "{head}");
    assert_eq!(elements, [0, 3, 1, 4, 2, 5]);
    let file = written(&t.slice(1, 1..3).unwrap());
    assert_eq!(parts(&file).1, [1, 2, 4, 5]);
    let file = written(&t.index(0, 1).unwrap().broadcast_to(&[2, 3]).unwrap());
    assert_eq!(parts(&file).1, [3, 4, 5, 3, 4, 5]);
}

#[test]
fn complex_elements_are_pairs_of_floats() {
    use tenure_tensor::Complex;
    let t =
        Tensor::from_slice(&[Complex::new(1.0f32, 2.0), Complex::new(-3.0, 0.5)], &[2]).unwrap();
    let file = written(&t);
    let order = if cfg!(target_endian = "little") { "<" } else { ">" };
    let (words, elements) = parts(&file);
    assert!(words.contains(&format!("'descr': '{order}c8'")), "{words}");
    let floats = [1.0f32, 2.0, -3.0, 0.5];
    assert_eq!(elements, floats.map(f32::to_ne_bytes).as_flattened());
    // Of a machine of either order, with the real part first.
    let parts = [1.5f64, -2.0];
    for (word, bytes) in
        [("<c16", parts.map(f64::to_le_bytes)), (">c16", parts.map(f64::to_be_bytes))]
    {
        let mut other = head(word, &[1]);
        other.extend(bytes.as_flattened());
        let read = read(&other, None).unwrap().typed::<Complex<f64>>().unwrap();
        assert_eq!(read.map_read().unwrap()[0], Complex::new(1.5, -2.0), "{word}");
        assert_eq!(written(&read)[..128], head(&format!("{order}c16"), &[1])[..]);
    }
    let long = head("<c32", &[0]);
    assert!(read(&long, None).unwrap_err().to_string().contains("at most 8"));
    let error = catalogue(&long[..]).unwrap_err().to_string();
    assert!(error.contains("complex") && error.contains("of other parts"), "{error}");
}

#[test]
fn images_have_no_padding() {
    for format in PixelFormat::all() {
        let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
        let mem = Some(TensorMemory::Mem);
        let padded = TensorDyn::image_builder(6, 4, format, dtype)
            .row_stride(64)
            .memory(mem)
            .build()
            .unwrap();
        let tight = TensorDyn::image(6, 4, format, dtype, mem, None).unwrap();
        for plane in 0..padded.plane_count() {
            let samples = padded.plane(plane).unwrap();
            let mut rows = samples.map_rows().unwrap();
            rows.rows_mut().for_each(|row| row.fill(plane as u8 + 1));
        }
        tight.copy_from(&padded).unwrap();
        let (file, expected) = (written(&padded), written(&tight));
        assert_eq!(parts(&file), parts(&expected), "{format}");
        assert_eq!(parts(&file).1.len(), tight.flat_bytes());
        assert!(!parts(&file).1.contains(&0), "{format}");
    }
}

#[test]
fn planes_in_several_buffers_are_one_array() {
    let luma = Tensor::<u8>::from_slice(&[1; 8], &[8]).unwrap();
    let chroma = Tensor::<u8>::from_slice(&[2; 4], &[4]).unwrap();
    let buffers = [luma.buffer().clone(), chroma.buffer().clone()];
    let places = [(0, Some(4)), (0, Some(4))];
    let t = TensorDyn::from_plane_buffers(&buffers, &places, 4, 2, PixelFormat::Nv12, DType::U8);
    let file = written(&t.unwrap());
    let (head, elements) = parts(&file);
    assert!(head.contains("(3, 4)"), "{head}");
    assert_eq!(elements, [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
}

#[test]
fn odd_sizes_have_the_shape_of_their_format() {
    let mem = Some(TensorMemory::Mem);
    let t = TensorDyn::image(5, 3, PixelFormat::Nv12, DType::U8, mem, None).unwrap();
    let file = written(&t);
    let (head, elements) = parts(&file);
    assert!(head.contains("(5, 6)"), "{head}");
    assert_eq!(elements.len(), 30);
}

#[test]
fn what_cannot_be_written_says_so() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let t = Tensor::<u8>::from_slice(&[1], &[1]).unwrap();
    let error = write(Full, &t).unwrap_err();
    assert!(matches!(&error, Error::Io(cause) if cause.kind() == std::io::ErrorKind::StorageFull));
    let _map = t.map().unwrap();
    assert!(matches!(write(vec![], &t), Err(Error::Tensor(_))));
}

#[test]
fn what_foreign_code_may_write_is_written_as_it_is() {
    // More than one piece, and not a multiple of it.
    let values: Vec<u32> = (0..200_003).collect();
    let t = Tensor::from_slice(&values, &[values.len()]).unwrap();
    let expected = written(&t);
    let truth = Tensor::<Bool>::new(&[3], Some(TensorMemory::Mem), None).unwrap();
    let nothing = Tensor::<u8>::new(&[0], Some(TensorMemory::Mem), None).unwrap();
    let lent = [&t.to_dyn(), &truth.to_dyn(), &nothing.to_dyn()].map(|t| {
        let whole = 0..t.buffer().len();
        t.buffer().hold(Access::ExportWrite, whole).unwrap()
    });
    assert!(t.map_read().is_err(), "references are excluded");
    assert_eq!(written(&t), expected);
    assert_eq!(parts(&written(&truth)).1, [0, 0, 0]);
    assert!(parts(&written(&nothing)).1.is_empty());
    drop(lent);
    let writing = t.map().unwrap();
    let mut file = vec![];
    assert!(write(&mut file, &t).is_err());
    assert!(file.is_empty(), "nothing of it");
    drop(writing);
}
