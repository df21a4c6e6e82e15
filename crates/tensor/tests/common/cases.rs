//! Tensors of every kind that can be sent to another process.

use std::sync::Arc;

use tenure_memory::kind::shm::Shm;
use tenure_tensor::{
    Buffer, Colour, DType, DynTensor, Layout, PixelFormat, PlaneDescriptor, Pool, Quantization,
    Region, Tensor, TensorDyn, TensorMemory,
};

pub(crate) const SHM: Option<TensorMemory> = Some(TensorMemory::Shm);

/// The memory that the tensors are made in: shared memory, or what `TENURE_TEST_MEMORY` names.
pub(crate) fn shared() -> Option<TensorMemory> {
    match std::env::var("TENURE_TEST_MEMORY") {
        Ok(word) => Some(TensorMemory::try_from(word.as_str()).unwrap()),
        Err(_) => SHM,
    }
}

/// A tensor in shared memory whose bytes all differ from their neighbours.
pub(crate) fn numbered(shape: &[usize], dtype: DType) -> TensorDyn {
    let tensor = TensorDyn::new(shape, dtype, shared(), None).unwrap();
    number(tensor.buffer());
    tensor
}

pub(crate) fn number(buffer: &Buffer) {
    for (n, byte) in buffer.write().unwrap().as_bytes_mut().iter_mut().enumerate() {
        *byte = (n % 251) as u8;
    }
}

fn image(width: usize, height: usize, format: PixelFormat, stride: Option<usize>) -> TensorDyn {
    let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    let image = TensorDyn::image_builder(width, height, format, dtype)
        .row_stride(stride)
        .memory(shared())
        .name("image")
        .build()
        .unwrap();
    number(image.buffer());
    image
}

fn plane(bytes: usize, offset: usize, stride: usize) -> PlaneDescriptor {
    let memory = numbered(&[bytes], DType::U8);
    PlaneDescriptor::new(memory.clone_fd().unwrap())
        .unwrap()
        .with_offset(offset)
        .with_stride(stride)
}

/// Plain tensors and views of them.
pub(crate) fn plain() -> Vec<TensorDyn> {
    let mut all: Vec<TensorDyn> = DType::all().map(|dtype| numbered(&[3, 4, 6], dtype)).collect();
    all.extend(
        [vec![], vec![0], vec![3, 0, 2], vec![1; 8], vec![2, 1, 3, 1, 2]]
            .map(|shape| numbered(&shape, DType::F32)),
    );
    let whole = numbered(&[6, 8, 4], DType::I16);
    all.push(whole.slice(0, 2..5).unwrap());
    all.push(whole.slice_step(1, 1..8, 3).unwrap());
    all.push(whole.permute(&[2, 0, 1]).unwrap());
    all.push(whole.index(1, 7).unwrap().slice(1, 3..4).unwrap());
    all.push(whole.slice(2, 1..2).unwrap().broadcast_to(&[6, 8, 5]).unwrap());
    all.push(whole.slice(0, 6..6).unwrap());
    all.push(numbered(&[4, 6], DType::I4).slice(0, 1..3).unwrap());
    let backwards = Layout::strided(DType::U16, &[5, 3], &[-6, 2], 48).unwrap();
    all.push(
        TensorDyn::from_buffer(numbered(&[60], DType::U8).buffer().clone(), backwards).unwrap(),
    );
    let named = TensorDyn::new(&[2], DType::U8, shared(), Some("ein Name ✓")).unwrap();
    all.push(named);
    all
}

/// Quantised tensors.
pub(crate) fn quantised() -> Vec<TensorDyn> {
    let by_axis = Quantization::per_axis(vec![0.5, 0.25, 2.0, 1e-9], vec![1, -2, 3, 0], 1).unwrap();
    let symmetric = Quantization::per_axis(vec![0.5, 0.25], vec![], 0).unwrap();
    let tensor = numbered(&[2, 4, 3], DType::I8);
    let by_axis = tensor.clone().with_quantization(by_axis).unwrap();
    vec![
        tensor.clone().with_quantization(Quantization::per_tensor(0.1, 128).unwrap()).unwrap(),
        tensor.clone().with_quantization(Quantization::per_tensor(0.1, 0).unwrap()).unwrap(),
        tensor.clone().with_quantization(symmetric).unwrap(),
        by_axis.slice_step(1, 0..4, 2).unwrap(),
        by_axis.index(1, 2).unwrap(),
        by_axis.permute(&[1, 0, 2]).unwrap(),
        by_axis,
    ]
}

/// Images of every format, whole and in part, alone and in batches.
pub(crate) fn images() -> Vec<TensorDyn> {
    let mut all = vec![];
    for format in PixelFormat::all() {
        all.push(image(5, 3, format, None).with_colour(Colour::JPEG));
        all.push(image(8, 6, format, Some(64)).with_colour(Colour::HD));
        let whole = image(16, 12, format, None);
        all.push(whole.view(Region::new(4, 2, 6, 8)).unwrap());
        all.push(whole.plane(whole.plane_count() - 1).unwrap());
    }
    all.push(numbered(&[7, 5], DType::U8).with_format(PixelFormat::Grey).unwrap());
    all.push(numbered(&[7, 5, 1], DType::F32).with_format(PixelFormat::Grey).unwrap());
    let padded = numbered(&[7, 9], DType::U8).slice(1, 0..5).unwrap();
    all.push(padded.with_format(PixelFormat::Grey).unwrap());
    all.push(numbered(&[4, 6, 5, 3], DType::U8).with_format(PixelFormat::Rgb).unwrap());
    all.push(numbered(&[2, 3, 6, 5, 4], DType::F16).with_format(PixelFormat::Bgra).unwrap());
    all.push(numbered(&[3, 9, 6], DType::U8).with_format(PixelFormat::Nv12).unwrap());
    let batch = numbered(&[3, 3, 6, 4], DType::F32).with_format(PixelFormat::PlanarRgb).unwrap();
    all.push(batch.batch(2).unwrap());
    all.push(batch);
    let moved = image(8, 8, PixelFormat::Rgba, None);
    let mut moved = moved.clone();
    moved.configure_image(4, 4, PixelFormat::Nv12, Some(8)).unwrap();
    all.push(moved.with_plane_offset(64).unwrap());
    all
}

/// Images whose planes lie in memory of their own.
pub(crate) fn several_memories() -> Vec<TensorDyn> {
    let nv12 = [plane(500, 20, 16), plane(300, 100, 24)];
    let nv12 = TensorDyn::from_planes(&nv12, 10, 8, PixelFormat::Nv12, DType::U8).unwrap();
    let i420 = [plane(500, 0, 16), plane(300, 1, 8), plane(300, 2, 9)];
    let i420 = TensorDyn::from_planes(&i420, 9, 7, PixelFormat::I420, DType::U8).unwrap();
    let rgba = [(); 4].map(|()| plane(1000, 8, 40));
    let rgba = TensorDyn::from_planes(&rgba, 10, 8, PixelFormat::PlanarRgba, DType::F32).unwrap();
    let view = nv12.view(Region::new(2, 2, 4, 4)).unwrap();
    vec![nv12.with_colour(Colour::HD), i420, rgba, view]
}

/// Tensors whose bytes come from elsewhere than an allocation of their own.
pub(crate) fn placed() -> Vec<TensorDyn> {
    let pool = Pool::new(tenure_memory::kind::allocator(TensorMemory::Shm).unwrap());
    let pooled =
        TensorDyn::builder(&[100], DType::U8).allocator(&pool).name("pooled").build().unwrap();
    let shm: Arc<dyn tenure_tensor::Allocator> = Arc::new(Shm::new());
    let lazy =
        Tensor::<u16>::builder(&[10, 10]).allocator(&shm).name("lazy").lazy().build().unwrap();
    let arena = numbered(&[4096], DType::U8);
    let in_arena = Tensor::<u16>::builder(&[10, 10])
        .allocator(&shm)
        .name("in an arena")
        .lazy()
        .build()
        .unwrap();
    in_arena.buffer().place_in(arena.buffer(), 512).unwrap();
    let image = numbered(&[2048], DType::U8).buffer().slice(256..2048).unwrap();
    let image = TensorDyn::from_plane_buffers(
        &[image],
        &[(0, Some(20)), (800, Some(32))],
        16,
        8,
        PixelFormat::Nv12,
        DType::U8,
    )
    .unwrap();
    vec![pooled, lazy.to_dyn(), in_arena.to_dyn(), image]
}

/// All of them.
pub(crate) fn all() -> Vec<TensorDyn> {
    [plain(), quantised(), images(), several_memories(), placed()].into_iter().flatten().collect()
}

/// Checks that two tensors mean the same, byte for byte.
pub(crate) fn assert_same(sent: &TensorDyn, got: &TensorDyn) {
    let what = format!("{sent:?} {:?}", sent.image_layout());
    assert_eq!(sent.dtype(), got.dtype(), "{what}");
    assert_eq!(sent.shape(), got.shape(), "{what}");
    assert_eq!(sent.strides(), got.strides(), "{what}");
    assert_eq!(sent.name(), got.name(), "{what}");
    assert_eq!(sent.format(), got.format(), "{what}");
    assert_eq!((sent.width(), sent.height()), (got.width(), got.height()), "{what}");
    assert_eq!(sent.effective_row_stride(), got.effective_row_stride(), "{what}");
    assert_eq!(sent.colour(), got.colour(), "{what}");
    assert_eq!(sent.quantization(), got.quantization(), "{what}");
    assert_eq!(sent.plane_count(), got.plane_count(), "{what}");
    assert_eq!(sent.is_multi_buffer(), got.is_multi_buffer(), "{what}");
    let flat = |tensor: &TensorDyn| {
        let mut flat = vec![0; tensor.flat_bytes()];
        tensor.copy_to_flat(&mut flat).unwrap();
        flat
    };
    assert_eq!(flat(sent), flat(got), "{what}");
}
