//! The codes of C are those of Rust, all of them, in their order.

use super::*;

#[test]
fn memories() {
    let codes = [
        (TENURE_MEMORY_MEM, "mem"),
        (TENURE_MEMORY_DMA, "dma"),
        (TENURE_MEMORY_SHM, "shm"),
        (TENURE_MEMORY_PBO, "pbo"),
        (TENURE_MEMORY_FILE, "file"),
        (TENURE_MEMORY_PINNED, "pinned"),
        (TENURE_MEMORY_DEVICE, "device"),
        (TENURE_MEMORY_MANAGED, "managed"),
    ];
    let ours: Vec<i32> = TensorMemory::all().map(|one| i32::from(one.code())).collect();
    assert_eq!(codes.map(|row| row.0).as_slice(), ours);
    for (code, word) in codes {
        assert_eq!(memory(code).unwrap().unwrap().name(), word);
    }
    assert_eq!(memory(TENURE_MEMORY_AUTO).unwrap(), None);
    assert_eq!(TENURE_MEMORY_DMA, 1);
    for code in [-2, 8, 256, i32::MAX] {
        assert!(memory(code).unwrap_err().text.contains("1 dma"));
    }
}

#[test]
fn element_types() {
    let codes = [
        (TENURE_DTYPE_U8, "u8"),
        (TENURE_DTYPE_I8, "i8"),
        (TENURE_DTYPE_U16, "u16"),
        (TENURE_DTYPE_I16, "i16"),
        (TENURE_DTYPE_U32, "u32"),
        (TENURE_DTYPE_I32, "i32"),
        (TENURE_DTYPE_U64, "u64"),
        (TENURE_DTYPE_I64, "i64"),
        (TENURE_DTYPE_F16, "f16"),
        (TENURE_DTYPE_BF16, "bf16"),
        (TENURE_DTYPE_F32, "f32"),
        (TENURE_DTYPE_F64, "f64"),
        (TENURE_DTYPE_BOOL, "bool"),
        (TENURE_DTYPE_F8_E4M3, "f8e4m3"),
        (TENURE_DTYPE_F8_E5M2, "f8e5m2"),
        (TENURE_DTYPE_U4, "u4"),
        (TENURE_DTYPE_I4, "i4"),
        (TENURE_DTYPE_F4_E2M1, "f4e2m1"),
        (TENURE_DTYPE_COMPLEX64, "complex64"),
        (TENURE_DTYPE_COMPLEX128, "complex128"),
    ];
    assert_eq!(DType::all().count(), codes.len());
    for (code, word) in codes {
        assert_eq!(dtype(code).unwrap().name(), word);
    }
    assert!(dtype(20).unwrap_err().text.contains("10 f32"));
    assert!(dtype(-1).is_err());
}

#[test]
fn formats() {
    let codes = [
        (TENURE_FORMAT_RGB, "rgb"),
        (TENURE_FORMAT_BGR, "bgr"),
        (TENURE_FORMAT_RGBA, "rgba"),
        (TENURE_FORMAT_BGRA, "bgra"),
        (TENURE_FORMAT_GREY, "grey"),
        (TENURE_FORMAT_YUYV, "yuyv"),
        (TENURE_FORMAT_UYVY, "uyvy"),
        (TENURE_FORMAT_NV12, "nv12"),
        (TENURE_FORMAT_NV21, "nv21"),
        (TENURE_FORMAT_NV16, "nv16"),
        (TENURE_FORMAT_NV24, "nv24"),
        (TENURE_FORMAT_I420, "i420"),
        (TENURE_FORMAT_P010, "p010"),
        (TENURE_FORMAT_PLANAR_RGB, "planar-rgb"),
        (TENURE_FORMAT_PLANAR_RGBA, "planar-rgba"),
    ];
    assert_eq!(PixelFormat::all().count(), codes.len());
    for (code, word) in codes {
        assert_eq!(format(code).unwrap().name(), word);
    }
    assert!(format(15).unwrap_err().text.contains("7 nv12"));
    assert!(format(TENURE_FORMAT_NONE).is_err());
}

#[test]
fn colours() {
    let hd = colour(TENURE_MATRIX_BT709, TENURE_RANGE_LIMITED).unwrap();
    assert_eq!(hd, Some(Colour::HD));
    assert_eq!(colour(TENURE_MATRIX_BT601, TENURE_RANGE_FULL).unwrap(), Some(Colour::JPEG));
    assert_eq!(colour(TENURE_MATRIX_NONE, 77).unwrap(), None);
    assert!(colour(3, 0).is_err() && colour(0, 2).is_err());
}
