//! Every way to make a tensor: constructors of one name for both kinds, and the builder.

use std::sync::Arc;

use tenure_memory::kind::mem::Mem;
use tenure_memory::{Buffer, Request};
use tenure_tensor::{
    Allocator, Colour, DType, Dyn, DynTensor, Element, Error, PixelFormat, Pool, Result, Tensor,
    TensorDyn, TensorMemory,
};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

type Constructor = fn(&[usize], DType, Option<TensorMemory>, Option<&str>) -> Result<TensorDyn>;

fn zeros<T: Element>(count: usize) -> Result<Tensor<T>> {
    Tensor::new(&[count], MEM, None)
}

#[test]
fn one_name_serves_both_kinds_in_every_form() {
    let shape = [2, 3];
    let inferred: Tensor<f32> = Tensor::new(&shape, MEM, None).unwrap();
    let named = Tensor::<f32>::new(&shape, MEM, Some("named")).unwrap();
    let many: Vec<Tensor<u8>> =
        (0..3).map(|_| Tensor::new(&shape, MEM, None)).collect::<Result<_>>().unwrap();
    let generic = zeros::<i16>(6).unwrap();
    let alias = TensorDyn::new(&shape, DType::F32, MEM, None).unwrap();
    let spelled = Tensor::<Dyn>::new(&shape, DType::F32, MEM, None).unwrap();
    let bracketed = <TensorDyn>::new(&shape, DType::F32, MEM, None).unwrap();
    let as_value: Constructor = TensorDyn::new;
    let by_value = as_value(&shape, DType::U8, MEM, None).unwrap();
    let picture: Tensor<u8> = Tensor::image(4, 2, PixelFormat::Grey, MEM, None).unwrap();
    let untyped = TensorDyn::image(4, 2, PixelFormat::Grey, DType::U8, MEM, None).unwrap();
    let built: Tensor<u8> = Tensor::builder(&shape).memory(MEM).build().unwrap();
    assert_eq!(inferred.shape(), named.shape());
    assert_eq!((many.len(), generic.len(), built.len()), (3, 6, 6));
    assert_eq!(picture.format(), untyped.format());
    for tensor in [alias, spelled, bracketed] {
        assert_eq!((tensor.shape(), tensor.dtype()), (&shape[..], DType::F32));
    }
    assert_eq!(by_value.size_bytes(), 6);
}

#[test]
fn a_builder_says_everything() {
    let pool = Pool::new(TensorMemory::Mem);
    let any: Arc<dyn Allocator> = Arc::new(Mem);
    let image = Tensor::<u8>::image_builder(6, 4, PixelFormat::Nv12)
        .pool(&pool)
        .row_stride(64)
        .name("frame")
        .colour(Colour::HD)
        .align(4096)
        .build()
        .unwrap();
    assert_eq!((image.row_stride(), image.name()), (Some(64), Some("frame")));
    assert_eq!(image.colour(), Some(Colour::HD));
    assert_eq!(image.map_span_read().unwrap().as_slice().as_ptr().addr() % 4096, 0);
    let again = TensorDyn::image_builder(6, 4, PixelFormat::Nv12, DType::U8).allocator(&any);
    assert_eq!(again.row_stride(None).build().unwrap().row_stride(), None);
    let batch = Tensor::<f32>::builder(&[2, 3, 4, 5]).format(PixelFormat::PlanarRgb).memory(MEM);
    assert_eq!(batch.build().unwrap().batch(1).unwrap().height(), Some(4));
    let rows = Tensor::<u8>::builder(&[4, 6, 3]).format(PixelFormat::Rgb).row_stride(32);
    assert_eq!(rows.memory(MEM).build().unwrap().row_stride(), Some(32));
}

#[test]
fn a_builder_refuses_what_makes_no_sense() {
    let strided = Tensor::<u8>::builder(&[4, 6]).row_stride(64).build();
    assert!(matches!(strided, Err(Error::NotAnImage { .. })), "{strided:?}");
    assert!(Tensor::<u8>::builder(&[4]).align(3).build().is_err());
    assert!(Tensor::<u8>::builder(&[4]).memory(TensorMemory::File).build().is_err());
    let short = Tensor::<u8>::builder(&[2, 2]).memory(MEM).build_from(&[1, 2, 3]).unwrap_err();
    assert!(short.to_string().contains("3 elements, the tensor 4"), "{short}");
}

#[test]
fn lazy_tensors_come_from_everything_that_can_be_kept() {
    struct Counting;
    impl Allocator for Counting {
        fn memory(&self) -> TensorMemory {
            TensorMemory::Mem
        }
        fn allocate(
            &self,
            request: &Request<'_>,
        ) -> tenure_memory::Result<tenure_memory::RawBuffer> {
            Mem.allocate(request)
        }
    }
    let pool = Pool::new(Mem);
    let shared = Arc::new(Counting);
    let builder = Tensor::<u8>::builder(&[100]).lazy();
    for builder in [
        builder.memory(MEM),
        builder.pool(&pool),
        builder.allocator(&Mem),
        builder.allocator(&shared),
        builder.without_zeroing().pool(&pool),
    ] {
        let tensor = builder.build().unwrap();
        assert!(!tensor.buffer().is_placed() && tensor.memory() == TensorMemory::Mem);
        tensor.fill(1).unwrap();
        assert!(tensor.buffer().is_placed());
    }
    assert_eq!(pool.report().misses + pool.report().hits, 2);
    let error = builder.allocator(&Counting).build().unwrap_err().to_string();
    assert!(error.contains("cannot be kept: give a pool"), "{error}");
    let image = Tensor::<u8>::image_builder(64, 4, PixelFormat::Grey).memory(MEM).lazy();
    let image = image.build_from(&[3; 256]).unwrap();
    assert_eq!(image.map_read().unwrap().as_slice(), &[3; 256]);
}

#[test]
fn everything_new_is_zero_but_what_was_asked_otherwise() {
    let pool = Pool::new(TensorMemory::Mem);
    let elements = Tensor::<u8>::builder(&[1000]).pool(&pool);
    let image = Tensor::<u8>::image_builder(10, 10, PixelFormat::Rgba).row_stride(64).pool(&pool);
    let bytes = |tensor: &Tensor<u8>| -> Vec<u8> {
        let buffer: &Buffer = tensor.buffer();
        buffer.read().unwrap().as_bytes().to_vec()
    };
    let spoil = |tensor: Tensor<u8>| tensor.buffer().write().unwrap().as_bytes_mut().fill(9);
    for builder in [elements, image, elements.lazy(), image.lazy()] {
        spoil(builder.build().unwrap());
        assert!(bytes(&builder.build_and_place()).iter().all(|byte| *byte == 0));
        spoil(builder.build().unwrap());
        assert!(bytes(&builder.without_zeroing().build_and_place()).contains(&9));
    }
    // A copy writes every element; gaps between rows do not show what was there before.
    let source = Tensor::<u8>::image(10, 10, PixelFormat::Rgba, MEM, None).unwrap();
    source.fill(7).unwrap();
    spoil(elements.build().unwrap());
    let copy = source.to(&pool).unwrap();
    assert!(copy.map_read().unwrap().as_slice().iter().all(|byte| *byte == 7));
    spoil(image.build().unwrap());
    let from = image.build_from(&[7; 400]).unwrap();
    assert!(bytes(&from).iter().all(|byte| *byte == 7 || *byte == 0));
    assert_eq!(pool.report().used, 2);
}

/// A lazy tensor has its bytes when this is done.
trait Placed {
    fn build_and_place(self) -> Tensor<u8>;
}

impl Placed for tenure_tensor::TensorBuilder<'_, u8> {
    fn build_and_place(self) -> Tensor<u8> {
        let tensor = self.build().unwrap();
        tensor.buffer().ensure().unwrap();
        tensor
    }
}

#[test]
fn values_come_in_any_memory() {
    let values: Vec<u8> = (0..24).collect();
    let builder = Tensor::<u8>::image_builder(4, 2, PixelFormat::Rgb).memory(MEM);
    for image in [builder, builder.row_stride(32), builder.lazy()] {
        let image = image.build_from(&values).unwrap();
        let mut flat = vec![0; 24];
        image.copy_to_flat(&mut flat).unwrap();
        assert_eq!(flat, values);
    }
}
