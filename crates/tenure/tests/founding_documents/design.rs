//! Our own design: its words as types, and its decisions.

use std::sync::Arc;

use tenure::memory::{Buffer, CpuAddress, RawKind, Request, kind, open_file};
use tenure::{DType, DynTensor, LogicalMemorySpace, Tensor, TensorDyn, TensorMemory};

fn heap(bytes: usize) -> tenure::RawBuffer {
    let allocator = kind::allocator(TensorMemory::Mem).unwrap();
    allocator.allocate(&Request::new(bytes).unwrap().with_name(Some("block"))).unwrap()
}

/// "memory: {Mem, Dma, Shm, Pbo, File, Pinned, Device, Managed}, fixed C discriminants."
#[test]
fn memories_and_their_codes() {
    let words: Vec<_> = TensorMemory::all().map(|memory| (memory.code(), memory.name())).collect();
    let expected = ["mem", "dma", "shm", "pbo", "file", "pinned", "device", "managed"];
    assert_eq!(words, (0..).zip(expected).collect::<Vec<_>>());
    let table: Vec<_> = kind::ALL.iter().map(|kind| kind.memory).collect();
    assert_eq!(table, TensorMemory::all().collect::<Vec<_>>(), "adding one is a row");
}

/// "TensorMemory: Copy, TryFrom<&str>, Into<String>": the words of memories, and of spaces.
#[test]
fn words_of_memories_and_spaces() {
    for memory in TensorMemory::all() {
        let word: String = memory.into();
        assert_eq!((word.as_str(), memory.to_string().as_str()), (memory.name(), memory.name()));
        assert_eq!(TensorMemory::try_from(&*word).unwrap(), memory);
        assert_eq!(TensorMemory::from_code(memory.code()), Some(memory));
    }
    assert_eq!(TensorMemory::from_code(8), None);
    let unknown = TensorMemory::try_from("ram").unwrap_err().to_string();
    assert!(TensorMemory::all().all(|memory| unknown.contains(memory.name())), "{unknown}");
    // "space: where bytes live"; the mechanism of a memory says where, but for those of devices.
    for (memory, space) in [
        (TensorMemory::Mem, LogicalMemorySpace::MainMemory),
        (TensorMemory::Shm, LogicalMemorySpace::MainMemory),
        (TensorMemory::Dma, LogicalMemorySpace::MainMemory),
    ] {
        if let Ok(allocator) = kind::allocator(memory) {
            assert_eq!((allocator.memory(), allocator.space()), (memory, space));
        }
    }
    let gpu = LogicalMemorySpace::GpuMemory { device_id: 1 };
    let words = [LogicalMemorySpace::MainMemory, LogicalMemorySpace::PinnedMemory, gpu];
    let words: Vec<_> = words.iter().map(LogicalMemorySpace::to_string).collect();
    assert_eq!(words, ["main", "pinned", "gpu:1"]);
}

/// "identity: cache key and liveness: id(), weak()"; "map: reading and writing are different types";
/// "layout", "fence: work on its way, until it is done"; "arena: one raw buffer that many are placed in".
#[test]
fn words_are_types() {
    use tenure::{BufferIdentity, Layout, TensorMap, TensorRead};
    let tensor = Tensor::<u8>::new(&[8], Some(TensorMemory::Mem), None).unwrap();
    let identity: &BufferIdentity = tensor.buffer_identity();
    assert!(identity.id() > 0 && identity.weak().upgrade().is_some());
    let layout: &Layout = tensor.layout();
    assert_eq!((layout.dtype(), layout.shape(), layout.offset()), (DType::U8, &[8][..], 0));
    let mut written: TensorMap<u8> = tensor.map().unwrap();
    written[0] = 1;
    drop(written);
    let read: TensorRead<u8> = tensor.map_read().unwrap();
    assert_eq!(read[0], 1);
    #[cfg(target_os = "linux")]
    {
        let (signal, fence) = tenure::memory::Fence::pair().unwrap();
        assert!(!fence.is_done().unwrap());
        signal.done();
        assert!(fence.is_done().unwrap());
    }
    let arena = Buffer::from_raw(heap(4096));
    let allocator = kind::allocator(TensorMemory::Mem).unwrap();
    for offset in [0, 1024] {
        let buffer = Buffer::lazy(allocator, 512, None).unwrap();
        buffer.place_in(&arena, offset).unwrap();
        assert_eq!(buffer.place().unwrap().allocation, arena.identity().id());
    }
}

/// "raw buffer: one allocation", which tells its variant, so that it can be matched.
#[test]
fn raw_buffers_can_be_matched() {
    let raw = heap(100);
    let on_the_heap = match raw.kind() {
        RawKind::Heap => true,
        RawKind::MappedFile | RawKind::SharedMemory | RawKind::DmaBuf => false,
        _ => false,
    };
    assert!(on_the_heap && raw.cpu_accessible() && raw.writable());
    assert_eq!((raw.size(), raw.memory(), raw.name()), (100, TensorMemory::Mem, Some("block")));
    assert_eq!(raw.space(), LogicalMemorySpace::MainMemory);
    let address = CpuAddress::WhileMapped;
    assert_ne!(address, CpuAddress::None);
}

/// "Mmap: memory-mapped file region (read-only). Used by the DISK device."
#[test]
fn mapped_files_are_disk() {
    assert_eq!(TensorMemory::try_from("disk").unwrap(), TensorMemory::File);
    assert!(RawKind::MappedFile.name().contains("DISK"));
    let title = kind::ALL.iter().find(|kind| kind.memory == TensorMemory::File).unwrap().title;
    assert!(title.contains("DISK"), "as `tenure info` prints it");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [7; 5000]).unwrap();
    match open_file(file.path()) {
        Ok(buffer) => {
            let raw = buffer.raw().unwrap();
            assert_eq!((raw.kind(), raw.writable()), (RawKind::MappedFile, false));
            assert_eq!(buffer.read().unwrap().as_bytes(), [7; 5000]);
        }
        Err(error) => assert!(error.to_string().contains("not available"), "{error}"),
    }
}

/// "buffer: lazy, cheap to clone, sliceable, placed exactly once." "view(offset, size)."
#[test]
fn buffers_are_lazy_and_placed_once() {
    let allocator = kind::allocator(TensorMemory::Mem).unwrap();
    let buffer = Buffer::lazy(allocator, 1024, None).unwrap();
    let (clone, half) = (buffer.clone(), buffer.slice(512..1024).unwrap());
    assert!(!buffer.is_placed() && (half.len(), half.offset()) == (512, 512));
    let arena = Buffer::from_raw(heap(4096));
    buffer.place_in(&arena, 256).unwrap();
    assert!(clone.is_placed() && half.aliases(&arena), "clones and slices follow");
    assert!(buffer.place_in(&arena, 0).is_err(), "once");
    assert!(buffer.slice(0..1025).is_err());
    assert_eq!(half.identity().id(), buffer.identity().id());
}

/// "Every touch is a borrow: a conflict is Busy at once; disjoint ranges map at the same time;
/// guards own what they guard."
#[test]
fn every_touch_is_a_borrow() {
    let t = Tensor::<u8>::new(&[8], Some(TensorMemory::Mem), None).unwrap();
    let (low, high) = (t.slice(0, 0..4).unwrap(), t.slice(0, 4..8).unwrap());
    let (one, two) = (low.map().unwrap(), high.map().unwrap());
    assert!(t.map_read().is_err());
    drop((t, low, high));
    assert_eq!((one.as_slice().len(), two.as_slice().len()), (4, 4));
    let r = Tensor::<u8>::new(&[8], Some(TensorMemory::Mem), None).unwrap();
    let (first, second) = (r.map_read().unwrap(), r.map_read().unwrap());
    assert!(r.map().is_err(), "many readers or one writer");
    drop((first, second));
    assert!(r.map().is_ok());
}

/// "One struct Tensor<E = Dyn>; TensorDyn is its name for element types known at run time."
#[test]
fn one_tensor_type() {
    let dynamic: Tensor = TensorDyn::new(&[4], DType::F32, None, None).unwrap();
    let typed: Tensor<f32> = dynamic.typed().unwrap();
    assert!(typed.aliases(&dynamic) && dynamic.typed::<u8>().is_err());
    assert_eq!((typed.shape(), typed.strides(), typed.rank()), (&[4][..], &[1][..], 1));
}

/// "All arithmetic on sizes is checked."
#[test]
fn sizes_are_checked() {
    let absurd = TensorDyn::new(&[usize::MAX, 2], DType::F64, None, None);
    assert!(absurd.unwrap_err().to_string().contains("more elements or bytes"));
    assert!(Request::new(usize::MAX).is_err());
}

/// "A fallback keeps every refusal and its reason."
#[test]
fn refusals_are_kept() {
    let t = Tensor::<u8>::new(&[64], None, None).unwrap();
    let order = tenure::memory::automatic();
    let served = order.iter().position(|memory| *memory == t.memory()).unwrap();
    assert_eq!(t.refusals().len(), served);
}

/// "Pool: raw buffers kept for reuse; is itself an Allocator."
#[test]
fn pools_are_allocators() {
    let pool = tenure::Pool::new(kind::allocator(TensorMemory::Mem).unwrap());
    let pool: Arc<dyn tenure::Allocator> = Arc::new(pool);
    let again = |_| pool.allocate(&Request::new(64).unwrap()).unwrap().identity().id();
    assert_eq!(again(0), again(1), "a pooled allocation keeps its identity");
}
