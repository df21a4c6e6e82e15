//! What programs do: set up, and then something during which the heap refuses.

use std::error::Error;
use std::fs;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use tenure::files::{self, Format};
use tenure::image::codec::{decode, encode_jpeg, encode_png};
use tenure::image::{Convert, ImageProcessor};
use tenure::memory::{Pool, Request, kind, share};
use tenure::stream::recording::{Recorder, Recording};
use tenure::stream::{Meta, Publisher, Spec, Subscriber, list_in, stat_in};
use tenure::{
    DType, DynTensor, PixelFormat, Quantization, Region, Sharing, Tensor, TensorDyn, TensorMemory,
};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Something to do, after something else was made ready.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn() -> Box<dyn FnOnce() -> Outcome>,
}

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        &[$(Scenario { name: stringify!($name), prepare: $name }),*]
    };
}

/// Those whose small allocations alone are refused. Scales of a quantisation are lists of the
/// standard library, of which a peer sends at most 128 KiB; the crate `png` has tables of a fixed
/// size above the line.
pub(crate) const SMALL: &[Scenario] = scenarios![many_scales, png];

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    heap,
    shared_memory,
    pools,
    messages,
    copies,
    dlpack,
    receiving,
    views,
    streams,
    recordings,
    safetensors,
    gguf,
    npy,
    jpeg,
    conversions,
];

/// Just above the line, so that pieces of it are small.
const BYTES: usize = 200 << 10;

fn heap() -> Box<dyn FnOnce() -> Outcome> {
    Box::new(|| {
        let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), Some("heap"))?;
        tensor.fill(7)?;
        let values = tensor.map_read()?.as_slice().iter().map(|byte| u64::from(*byte)).sum::<u64>();
        assert_eq!(values, 7 * BYTES as u64);
        let lazy = TensorDyn::builder(&[BYTES], DType::U8)
            .allocator(&Arc::new(Pool::new(kind::allocator(TensorMemory::Mem)?)))
            .lazy()
            .build()?;
        lazy.copy_from(&tensor)?;
        Ok(())
    })
}

fn shared_memory() -> Box<dyn FnOnce() -> Outcome> {
    Box::new(|| {
        let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Shm), None)?;
        let again = Tensor::<u8>::from_fd(tensor.clone_fd()?, &[BYTES], None)?;
        again.fill(1)?;
        let heap = again.to(Some(TensorMemory::Mem))?;
        assert_eq!(heap.map_read()?.as_slice()[BYTES - 1], 1);
        Ok(())
    })
}

fn pools() -> Box<dyn FnOnce() -> Outcome> {
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).unwrap());
    Box::new(move || {
        for round in 1..4 {
            let some: Vec<_> = (0..4)
                .map(|_| Tensor::<u8>::builder(&[round * (100 << 10)]).allocator(&pool).build())
                .collect::<Result<_, _>>()?;
            some.iter().try_for_each(|tensor| tensor.fill(3))?;
        }
        let request = Request::new(BYTES)?;
        drop(tenure::memory::allocate(Some(TensorMemory::Mem), &request)?);
        Ok(())
    })
}

fn messages() -> Box<dyn FnOnce() -> Outcome> {
    let body = vec![5u8; 100 << 10];
    Box::new(move || {
        let (here, there) = UnixStream::pair()?;
        share::send(&here, &body, &[])?;
        assert!(share::receive(&there)?.body == body);
        Ok(())
    })
}

fn copies() -> Box<dyn FnOnce() -> Outcome> {
    let tensor = Tensor::<u16>::new(&[300, 400], Some(TensorMemory::Mem), None).unwrap();
    Box::new(move || {
        let turned = tensor.permute(&[1, 0])?.to(Some(TensorMemory::Mem))?;
        turned.copy_from(&tensor.permute(&[1, 0])?)?;
        let values = vec![1u8; 10];
        Tensor::<u8>::from_slice(&values, &[10])?;
        tensor.slice(0, 0..150)?.copy_from(&tensor.slice(0, 150..300)?)?;
        Ok(())
    })
}

fn dlpack() -> Box<dyn FnOnce() -> Outcome> {
    use tenure::dlpack::{ExportRequest, Exported};
    let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None).unwrap();
    Box::new(move || {
        let back = TensorDyn::from_dlpack(tensor.to_dlpack()?)?;
        let copied = back.to_dlpack_for(&ExportRequest::new().copy(Some(true)))?;
        assert!(matches!(copied, Exported::Legacy(_)));
        Ok(())
    })
}

/// A description as long as one may be.
fn many_scales() -> Box<dyn FnOnce() -> Outcome> {
    const SCALES: usize = 20_000;
    let tensor = Tensor::<i8>::new(&[SCALES], Some(TensorMemory::Shm), None).unwrap();
    let quantization = Quantization::per_axis(vec![0.5; SCALES], vec![], 0).unwrap();
    let tensor = tensor.with_quantization(quantization).unwrap();
    Box::new(move || {
        let (here, there) = UnixStream::pair()?;
        let sent = std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let sent = tenure::send(&here, &tensor, Sharing::ReadWrite);
                drop(here);
                sent.map_err(|error| error.to_string())
            });
            let received = tenure::receive(&there);
            drop(there);
            let sent = sending.join().expect("it does not panic");
            received.map_err(|error| sent.err().unwrap_or_else(|| error.to_string()))
        })?;
        assert!(sent.quantization().is_some_and(|it| it.scales().len() == SCALES));
        Ok(())
    })
}

fn streams() -> Box<dyn FnOnce() -> Outcome> {
    let directory = tempfile::tempdir().unwrap();
    Box::new(move || {
        let path = directory.path();
        let spec = Spec::tensor(DType::U8, &[BYTES])?;
        let mut publisher = Publisher::builder("oom").directory(path).spec(spec).open()?;
        let builder = Subscriber::builder("oom").directory(path);
        let mut subscriber = builder.answer_within(Duration::from_secs(20)).open()?;
        let blob = [1u8; 12 << 10];
        for round in 0..4u8 {
            let slot = publisher.claim()?;
            slot.typed::<u8>()?.fill(round)?;
            slot.publish(Meta::new().blob(&blob))?;
            let frame = subscriber.next(Duration::from_secs(20))?.ok_or("no frame came")?;
            assert_eq!(frame.map_read()?.as_slice()[0], round);
        }
        let heap = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None)?;
        publisher.publish_copy(&heap, Meta::new())?;
        assert_eq!(list_in(path)?.len(), 1);
        assert_eq!(stat_in(path, "oom")?.name, "oom");
        Ok(())
    })
}

/// Tensors that others sent, and what is done with them at once.
fn receiving() -> Box<dyn FnOnce() -> Outcome> {
    let numbers = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Shm), None).unwrap();
    let memory = Some(TensorMemory::Shm);
    let image = TensorDyn::image(320, 240, PixelFormat::Nv12, DType::U8, memory, None).unwrap();
    Box::new(move || {
        let (here, there) = UnixStream::pair()?;
        tenure::send(&here, &numbers, Sharing::ReadWrite)?;
        tenure::send(&here, &image, Sharing::ReadOnly)?;
        let received = tenure::receive(&there)?;
        assert_eq!(received.to(Some(TensorMemory::Mem))?.len(), BYTES);
        let frame = tenure::receive(&there)?;
        assert_eq!(frame.format(), Some(PixelFormat::Nv12));
        let mut flat = Vec::new();
        flat.try_reserve_exact(frame.flat_bytes())?;
        flat.resize(frame.flat_bytes(), 0);
        frame.copy_to_flat(&mut flat)?;
        Ok(())
    })
}

/// Every kind of view, and copies of some.
fn views() -> Box<dyn FnOnce() -> Outcome> {
    let memory = Some(TensorMemory::Mem);
    let tensor = Tensor::<u16>::new(&[4, 1, 200, 300], memory, None).unwrap();
    let image = picture();
    Box::new(move || {
        let heap = Some(TensorMemory::Mem);
        let batch = tensor.batch(2)?.squeeze(0)?;
        let turned = batch.permute(&[1, 0])?;
        assert_eq!(turned.to(heap)?.shape(), [300, 200]);
        assert_eq!(turned.map_strided_read()?.shape(), [300, 200]);
        let rows = batch.slice(0, 10..190)?.index(0, 3)?.unsqueeze(0)?;
        assert_eq!(rows.broadcast_to(&[180, 300])?.to(heap)?.len(), 180 * 300);
        assert_eq!(batch.reshape(&[60_000])?.len(), 60_000);
        let region = image.view(Region::new(10, 10, 200, 200))?;
        assert_eq!(region.to(heap)?.width(), Some(200));
        Ok(())
    })
}

/// A recording of frames, made and read.
fn recordings() -> Box<dyn FnOnce() -> Outcome> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let spec = Spec::tensor(DType::U8, &[BYTES]).unwrap();
    let builder = Publisher::builder("kept").directory(&path).spec(spec);
    let mut publisher = builder.open().unwrap();
    let mut subscriber = Subscriber::builder("kept").directory(&path).open().unwrap();
    let slot = publisher.claim().unwrap();
    slot.typed::<u8>().unwrap().fill(7).unwrap();
    slot.publish(Meta::new().blob(&[1; 12 << 10])).unwrap();
    let frame = subscriber.next(Duration::from_secs(20)).unwrap().unwrap();
    Box::new(move || {
        let folder = path.join("folder");
        let mut recorder = Recorder::create(&folder)?;
        assert_eq!(recorder.add(&frame)?, BYTES as u64);
        assert_eq!(recorder.add(&frame)?, BYTES as u64);
        let mut recording = Recording::open(&folder)?;
        assert_eq!(recording.check(|| false)?, 2);
        let entry = recording.next()?.ok_or("no frame is in it")?;
        let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None)?.to_dyn();
        recording.read(&entry, &tensor)?;
        drop((subscriber, publisher, directory));
        Ok(())
    })
}

/// A file of one tensor with a head of 100 KB.
fn safetensors() -> Box<dyn FnOnce() -> Outcome> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.safetensors");
    let head = format!(
        "{{\"__metadata__\":{{\"k\":\"v\"}},\"t\":{{\"dtype\":\"U8\",\"shape\":[{BYTES}],\
         \"data_offsets\":[0,{BYTES}]}}}}{}",
        " ".repeat(100 << 10)
    );
    let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
    bytes.extend(head.as_bytes());
    bytes.resize(bytes.len() + BYTES, 9);
    fs::write(&path, &bytes).unwrap();
    Box::new(move || {
        let file = files::open(&path)?;
        assert_eq!(file.tensor("t")?.to(Some(TensorMemory::Mem))?.len(), BYTES);
        let loaded = file.load().memory(TensorMemory::Mem).threads(2).run()?;
        assert_eq!(loaded.tensor("t")?.len(), BYTES);
        drop(directory);
        Ok(())
    })
}

/// A file with a text of 100 KB in its head.
fn gguf() -> Box<dyn FnOnce() -> Outcome> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gguf");
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(3u64.to_le_bytes());
    bytes.extend(b"key");
    bytes.extend(8u32.to_le_bytes());
    bytes.extend((100u64 << 10).to_le_bytes());
    bytes.resize(bytes.len() + (100 << 10), b'v');
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(b"t");
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((BYTES as u64).to_le_bytes());
    bytes.extend(24u32.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32) + BYTES, 9);
    fs::write(&path, &bytes).unwrap();
    Box::new(move || {
        let file = files::open_as(&path, Format::Gguf)?;
        assert_eq!(
            file.load().memory(TensorMemory::Mem).threads(1).run()?.tensor("t")?.len(),
            BYTES
        );
        drop(directory);
        Ok(())
    })
}

/// An array of a file that was read before.
fn npy() -> Box<dyn FnOnce() -> Outcome> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None).unwrap();
    files::npy::save(&path, &tensor).unwrap();
    let bytes = fs::read(&path).unwrap();
    Box::new(move || {
        let array = files::npy::read(&bytes, Some(TensorMemory::Mem))?;
        assert_eq!(array.len(), BYTES);
        let mut written = Vec::new();
        written.try_reserve_exact(bytes.len() + 128)?;
        files::npy::write(&mut written, &array)?;
        files::npy::save(&path, &array)?;
        drop(directory);
        Ok(())
    })
}

fn picture() -> TensorDyn {
    let memory = Some(TensorMemory::Mem);
    TensorDyn::image(320, 240, PixelFormat::Rgb, DType::U8, memory, None).unwrap()
}

fn jpeg() -> Box<dyn FnOnce() -> Outcome> {
    let image = picture();
    Box::new(move || {
        let mut bytes = vec![];
        encode_jpeg(&image, 90, &mut bytes)?;
        let back = decode(&bytes, Some(TensorMemory::Mem))?;
        assert_eq!((back.width(), back.height()), (Some(320), Some(240)));
        Ok(())
    })
}

fn png() -> Box<dyn FnOnce() -> Outcome> {
    let image = picture();
    Box::new(move || {
        let mut bytes = vec![];
        encode_png(&image, &mut bytes)?;
        let back = decode(&bytes, Some(TensorMemory::Mem))?;
        assert_eq!((back.width(), back.height()), (Some(320), Some(240)));
        Ok(())
    })
}

fn conversions() -> Box<dyn FnOnce() -> Outcome> {
    let memory = Some(TensorMemory::Mem);
    let image = |format, dtype, width, height| {
        TensorDyn::image(width, height, format, dtype, memory, None).unwrap()
    };
    let source = image(PixelFormat::Nv12, DType::U8, 1280, 720);
    let target = image(PixelFormat::PlanarRgb, DType::F32, 640, 640);
    Box::new(move || {
        let processor = ImageProcessor::new()?;
        processor.convert(&source, &target, &Convert::default())?;
        Ok(())
    })
}
