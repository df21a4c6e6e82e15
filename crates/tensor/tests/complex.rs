//! Complex elements: pairs of floats, aligned as one of them.

use tenure_tensor::{Complex, DType, DynTensor, Layout, Tensor, TensorDyn, TensorMemory};

fn numbers(count: usize) -> Vec<Complex<f64>> {
    (0..count).map(|n| Complex::new(n as f64, -0.5 - n as f64)).collect()
}

#[test]
fn they_are_elements_as_any_other() {
    let t = Tensor::<Complex<f32>>::new(&[2, 3], None, None).unwrap();
    assert_eq!((t.dtype(), t.size_bytes()), (DType::Complex64, 48));
    t.fill(Complex::new(1.5, -2.0)).unwrap();
    t.map().unwrap()[4] = Complex::new(0.0, 1.0);
    let map = t.map_strided_read().unwrap();
    assert_eq!(map[[1, 1]] * map[[1, 1]], Complex::new(-1.0, 0.0));
    drop(map);
    // As the floats that they are, the real part first.
    let floats = t.view_as::<f32>().unwrap();
    assert_eq!(floats.shape(), &[2, 6]);
    assert_eq!(floats.map_read().unwrap()[6..10], [1.5, -2.0, 0.0, 1.0]);
    let any = t.to_dyn();
    assert!(any.typed::<f64>().is_err() && any.typed::<Complex<f64>>().is_err());
    assert!(any.typed::<Complex<f32>>().unwrap().aliases(&t));
    let wide = TensorDyn::new(&[2], DType::Complex128, None, None).unwrap();
    assert_eq!(wide.size_bytes(), 32);
}

#[test]
fn every_layout_is_copied() {
    let t = Tensor::from_slice(&numbers(60), &[3, 4, 5]).unwrap();
    for axes in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        let turned = t.permute(&axes).unwrap();
        let copy = turned.to(Some(TensorMemory::Mem)).unwrap();
        assert!(copy.is_contiguous());
        let (own, copied) = (turned.map_strided_read().unwrap(), copy.map_read().unwrap());
        assert!(own.iter().eq(copied.iter()), "{axes:?}");
    }
    // Two to four channels have loops of their own, and so do transposes.
    let channels = Tensor::from_slice(&numbers(60), &[20, 3]).unwrap();
    let planes = channels.permute(&[1, 0]).unwrap().to(Some(TensorMemory::Mem)).unwrap();
    assert_eq!(planes.map_read().unwrap()[21], Complex::new(4.0, -4.5));
    let back = Tensor::<Complex<f64>>::new(&[20, 3], None, None).unwrap();
    back.copy_from(&planes.permute(&[1, 0]).unwrap()).unwrap();
    assert_eq!(back.map_read().unwrap()[..], numbers(60));
}

#[test]
fn they_are_aligned_as_their_parts() {
    let bytes = Tensor::<u8>::new(&[64], Some(TensorMemory::Mem), None).unwrap();
    let over = |start: usize, dtype| {
        let layout = Layout::contiguous(dtype, &[1]).unwrap();
        TensorDyn::from_buffer(bytes.buffer().slice(start..start + 16).unwrap(), layout)
    };
    assert!(over(4, DType::Complex64).is_ok() && over(8, DType::Complex128).is_ok());
    assert!(over(2, DType::Complex64).is_err());
    // 32-bit x86 aligns numbers of 64 bits to four bytes.
    assert_eq!(over(4, DType::Complex128).is_err(), align_of::<f64>() > 4);
    let odd = over(4, DType::Complex64).unwrap().typed::<Complex<f32>>().unwrap();
    odd.map().unwrap()[0] = Complex::new(1.0, 2.0);
}

#[test]
fn they_print_and_are_no_pictures() {
    let t = Tensor::from_slice(&[Complex::new(1.0f32, -2.0)], &[1]).unwrap();
    let text = format!("{t:?}");
    assert!(text.starts_with("Tensor<complex64>[1] in mem: [Complex"), "{text}");
    assert!(
        TensorDyn::new(&[2, 2, 3], DType::Complex64, None, None)
            .unwrap()
            .with_format(tenure_tensor::PixelFormat::Rgb)
            .is_err()
    );
}

#[cfg(feature = "dlpack")]
#[test]
fn dlpack_has_a_code_for_them() {
    let t = Tensor::from_slice(&numbers(6), &[2, 3]).unwrap();
    let lent = t.to_dlpack().unwrap();
    let dtype = lent.tensor().dtype;
    assert_eq!((dtype.code, dtype.bits, dtype.lanes), (5, 128, 1));
    let back = Tensor::<Complex<f64>>::from_dlpack(lent).unwrap();
    assert!(back.aliases(&t));
    assert_eq!(back.map_read().unwrap()[5], Complex::new(5.0, -5.5));
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_have_them() {
    let t = Tensor::from_slice(&numbers(6), &[2, 3]).unwrap();
    let map = t.map_read().unwrap();
    assert_eq!(map.array().unwrap()[[1, 2]].re, 5.0);
}
