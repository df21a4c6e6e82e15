//! The table of functions over a driver of this process, whose memory is main memory: whose function
//! is called for which block, and that every descriptor and mapping is given back.
#![expect(unsafe_code, reason = "a driver in main memory, by address")]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::os::fd::{AsFd, FromRawFd};
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut as at};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tenure_memory::DeviceVendor;

use super::*;
use crate::Gpu;
use crate::device::Task;
use crate::streamed::{Functions, Host, Seen, load};

const INVALID: Code = 1;
const CONTEXT_GONE: Code = 201;

/// Aligned as drivers do it.
#[derive(Clone, Copy)]
#[repr(align(256))]
struct Lot(#[expect(dead_code, reason = "reached by address")] [u64; 32]);

thread_local! {
    /// What was called; and the allocations of the driver, by address.
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(vec![]) };
    static HEAP: RefCell<HashMap<usize, Box<[Lot]>>> = RefCell::default();
    /// The context of this thread; whether ours was destroyed; and which copy fails.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static GONE: Cell<bool> = const { Cell::new(false) };
    static RECORDS: Cell<Code> = const { Cell::new(0) };
}

fn called(what: &'static str) -> Code {
    CALLS.with_borrow_mut(|calls| calls.push(what));
    0
}

/// How often something was called since the last time.
fn calls(what: &str) -> usize {
    CALLS.with_borrow_mut(|calls| {
        let before = calls.len();
        calls.retain(|call| *call != what);
        before - calls.len()
    })
}

unsafe extern "C" fn malloc(place: *mut usize, bytes: usize) -> Code {
    if bytes > 1 << 40 {
        return super::super::OUT_OF_MEMORY;
    }
    let mut memory = vec![Lot([0; 32]); bytes.div_ceil(size_of::<Lot>())].into_boxed_slice();
    let address = memory.as_mut_ptr().expose_provenance();
    HEAP.with_borrow_mut(|heap| heap.insert(address, memory));
    // SAFETY: the caller's place.
    unsafe { place.write(address) };
    0
}

unsafe extern "C" fn malloc_with(place: *mut usize, bytes: usize, _flags: c_uint) -> Code {
    // SAFETY: as there.
    unsafe { malloc(place, bytes) }
}

unsafe extern "C" fn free_it(address: usize) -> Code {
    HEAP.with_borrow_mut(|heap| heap.remove(&address));
    called("free")
}

unsafe extern "C" fn fill(to: usize, value: c_uint, words: usize, _stream: Handle) -> Code {
    for word in 0..words {
        // SAFETY: inside a block, by the promise of `Device::submit`.
        unsafe { at::<c_uint>(to).add(word).write(value) };
    }
    0
}

unsafe extern "C" fn make(place: *mut Handle, _flags: c_uint) -> Code {
    // SAFETY: the caller's place.
    unsafe { place.write(ptr::without_provenance_mut(1)) };
    0
}

unsafe extern "C" fn nothing(_handle: Handle) -> Code {
    0
}

unsafe extern "C" fn record(_event: Handle, _stream: Handle) -> Code {
    RECORDS.get()
}

unsafe extern "C" fn finish(_stream: Handle) -> Code {
    called("finish")
}

unsafe extern "C" fn room(free: *mut usize, all: *mut usize) -> Code {
    // SAFETY: the caller's places.
    unsafe {
        free.write(12_345);
        all.write(1 << 30);
    }
    0
}

unsafe extern "C" fn register(_address: usize, _bytes: usize, flags: c_uint) -> Code {
    assert_eq!(flags, 3);
    called("register")
}

unsafe extern "C" fn unregister(_address: usize) -> Code {
    called("unregister")
}

unsafe extern "C" fn host_address(place: *mut usize, address: usize, _flags: c_uint) -> Code {
    // SAFETY: the caller's place.
    unsafe { place.write(address) };
    0
}

fn copy(to: usize, from: usize, bytes: usize) {
    // SAFETY: inside blocks, by the promise of `Device::submit`.
    unsafe { ptr::copy(with_exposed_provenance::<u8>(from), at::<u8>(to), bytes) };
}

/// An imported descriptor: mapped whole.
struct Imported(*mut c_void, usize, c_int);

unsafe extern "C" fn import(place: *mut Handle, wanted: *const ExternalMemory) -> Code {
    // SAFETY: structure and place of the caller, which says that the descriptor is open.
    unsafe {
        let wanted = &*wanted;
        let (bytes, fd) = (wanted.size as usize, BorrowedFd::borrow_raw(wanted.handle.fd));
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let Ok(base) = mmap(ptr::null_mut(), bytes, both, MapFlags::SHARED, fd, 0) else {
            return INVALID;
        };
        let imported = Imported(base, bytes, wanted.handle.fd);
        place.write(Box::into_raw(Box::new(imported)).cast());
    }
    called("import")
}

unsafe extern "C" fn mapped(place: *mut usize, memory: Handle, all: *const ExternalBuffer) -> Code {
    // SAFETY: of the caller, and made by `import`.
    unsafe {
        let imported = &*memory.cast::<Imported>();
        // A driver that has no room for large ones.
        if (*all).size as usize > imported.1 || (*all).size > 1 << 20 {
            return INVALID;
        }
        place.write(imported.0.expose_provenance());
    }
    0
}

unsafe extern "C" fn destroy(memory: Handle) -> Code {
    // SAFETY: made by `import`, once.
    unsafe {
        let imported = Box::from_raw(memory.cast::<Imported>());
        let _ = munmap(imported.0, imported.1);
        called("destroy")
    }
}

/// The same by a driver that took the descriptor.
unsafe extern "C" fn destroy_and_close(memory: Handle) -> Code {
    // SAFETY: as there; the descriptor is the driver's.
    unsafe {
        drop(OwnedFd::from_raw_fd((*memory.cast::<Imported>()).2));
        destroy(memory)
    }
}

unsafe extern "C" fn get_ipc(place: *mut IpcHandle, address: usize) -> Code {
    let mut handle = [0; 64];
    handle[..8].copy_from_slice(&(address as u64).to_ne_bytes());
    // SAFETY: the caller's place.
    unsafe { place.write(handle) };
    0
}

unsafe extern "C" fn open_ipc(place: *mut usize, handle: Passed, flags: c_uint) -> Code {
    let (words, _) = handle.bytes.as_chunks::<8>();
    let address = u64::from_ne_bytes(words[0]) as usize;
    if flags != LAZY_PEER || !HEAP.with_borrow(|heap| heap.contains_key(&address)) {
        return INVALID;
    }
    // SAFETY: the caller's place.
    unsafe { place.write(address) };
    called("open")
}

unsafe extern "C" fn close_ipc(_address: usize) -> Code {
    called("close")
}

unsafe extern "C" fn range(first: *mut usize, bytes: *mut usize, address: usize) -> Code {
    let found = HEAP.with_borrow(|heap| heap.get(&address).map(|memory| size_of_val(&**memory)));
    // SAFETY: the caller's places.
    unsafe {
        first.write(address);
        bytes.write(found.unwrap_or(0));
    }
    0
}

/// A device in a context; CUDA takes descriptors, HIP does not.
fn device(number: u32, context: usize, vendor: DeviceVendor) -> Streamed {
    let cuda = vendor == DeviceVendor::Cuda;
    let (library, _) = load(&["libc.so.6"]).unwrap();
    let outside = Outside {
        context,
        can_access: Box::new(|_| true),
        enable_access: Box::new(|_| called("enable")),
        copy_peer: Box::new(|to, from, bytes, _| {
            assert_ne!(to.1, from.1);
            copy(to.0, from.0, bytes);
            called("peer")
        }),
        fds: FdTypes {
            opaque: 1,
            dma: if cuda { Ok(9) } else { Err("import of DMA-BUFs on this one") },
            takes: cuda,
        },
        import,
        mapped,
        destroy: if cuda { destroy_and_close } else { destroy },
        get_ipc,
        open_ipc,
        close_ipc,
        range,
    };
    let functions = Functions {
        enter: Box::new(move || {
            if GONE.get() {
                return Err(CONTEXT_GONE);
            }
            Ok(CURRENT.replace(context))
        }),
        leave: Box::new(|before| CURRENT.set(before)),
        room,
        malloc,
        free: free_it,
        malloc_host: malloc_with,
        free_host: free_it,
        malloc_managed: malloc_with,
        copy: Box::new(|to, from, bytes, _| {
            copy(to, from, bytes);
            called("copy")
        }),
        fill,
        stream: make,
        finish,
        end_stream: nothing,
        event: make,
        record,
        query: nothing,
        synchronize: nothing,
        end_event: nothing,
        host: Host { register, unregister, address: host_address },
        outside,
        close: Box::new(|| ()),
        _library: library,
    };
    let (name, uuid) = ("in main memory".to_owned(), [number as u8; 16]);
    let seen = Seen {
        number,
        name,
        bytes: 1 << 30,
        integrated: cuda,
        managed: true,
        uuid,
        host: true,
        dma: cuda,
    };
    Streamed::new(seen.properties("1", vendor), functions).unwrap()
}

/// Fills a block, or copies between two, and waits.
fn run(device: &Streamed, task: Task) {
    // SAFETY: blocks of 4096 bytes that exist until this returns.
    let work = unsafe { device.submit(0, &[task]) }.unwrap();
    assert!(device.wait(work, None).unwrap());
}

/// The first word of a block, copied out.
fn first_word(device: &Streamed, block: u64) -> u32 {
    let out = device.allocate(TensorMemory::Pinned, 4096).unwrap();
    run(device, Task::Copy { to: (out.id, 0), from: (block, 0), bytes: 4096 });
    // SAFETY: pinned memory that the device wrote, and is done with.
    let word = unsafe { out.host.unwrap().0.cast::<u32>().read() };
    free(device, out.id);
    word
}

/// Gives back what nobody uses any more.
fn free(device: &Streamed, block: u64) {
    // SAFETY: work was waited for, and addresses are not kept.
    unsafe { device.free(block) };
}

/// A descriptor of a memory file as a block.
fn import_fd(device: &Streamed, fd: BorrowedFd<'_>, kind: FdKind, bytes: usize) -> Result<Block> {
    // SAFETY: what the driver here exports are files, whose size it knows.
    unsafe { device.import_fd(fd, kind, bytes) }
}

fn filled(device: &Streamed, memory: TensorMemory, pattern: [u8; 4]) -> u64 {
    let block = device.allocate(memory, 4096).unwrap();
    run(device, Task::Fill { to: (block.id, 0), bytes: 4096, pattern });
    block.id
}

#[test]
fn peers_are_copied_as_peers_and_the_rest_as_it_is() {
    use DeviceVendor::{Cuda, Rocm};
    let (here, there) = (device(0, 10, Cuda), device(1, 20, Cuda));
    let far = filled(&here, TensorMemory::Device, [7; 4]);
    let (peer, first) = there.import_peer(&here, far).unwrap();
    assert_eq!((first, calls("enable"), calls("copy")), (0, 1, 0));
    assert_eq!(first_word(&there, peer), 0x0707_0707);
    assert_eq!((calls("peer"), calls("copy")), (1, 0));
    // The other way.
    let own = filled(&there, TensorMemory::Device, [9; 4]);
    run(&there, Task::Copy { to: (peer, 0), from: (own, 0), bytes: 4096 });
    assert_eq!((first_word(&here, far), calls("peer"), calls("copy")), (0x0909_0909, 1, 1));
    // Pinned memory has one address for all; and so has the same device, opened twice.
    let pinned = filled(&here, TensorMemory::Pinned, [3; 4]);
    let (pinned, _) = there.import_peer(&here, pinned).unwrap();
    let twice = device(0, 10, Cuda);
    let (same, _) = twice.import_peer(&here, far).unwrap();
    assert_eq!((first_word(&there, pinned), first_word(&twice, same)), (0x0303_0303, 0x0909_0909));
    assert_eq!((calls("peer"), calls("copy"), calls("enable")), (0, 2, 0));
    // What is another's is not freed.
    calls("free");
    for (device, block) in [(&there, peer), (&there, pinned), (&twice, same)] {
        free(device, block);
    }
    assert_eq!((calls("free"), first_word(&here, far)), (0, 0x0909_0909));
    assert!(there.import_peer(&here, 999).is_err());
    assert!(device(0, 10, Rocm).import_peer(&here, far).is_err());
    assert!(here.import_peer(&crate::testing::TestDevice::new(), 1).is_err());
}

/// How many descriptors of this process are the file with this name.
fn open_files(name: &str) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let link = |entry: std::fs::DirEntry| std::fs::read_link(entry.path()).ok();
    all.filter_map(link).filter(|path| path.to_string_lossy().contains(name)).count()
}

#[test]
fn descriptors_are_imported_and_given_back() {
    for vendor in [DeviceVendor::Cuda, DeviceVendor::Rocm] {
        let (device, name) = (device(0, 10, vendor), format!("tenure-outside-{vendor:?}"));
        let file = memfd_create(&*name, MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&file, &[5; 8192], 0).unwrap();
        let fd = || file.as_fd();
        let block = import_fd(&device, fd(), FdKind::Opaque, 4096).unwrap();
        assert_eq!((block.bytes, block.host), (4096, None));
        assert_eq!((first_word(&device, block.id), open_files(&name)), (0x0505_0505, 2));
        free(&device, block.id);
        assert_eq!((calls("destroy"), open_files(&name)), (1, 1));
        match import_fd(&device, fd(), FdKind::DmaBuf, 8000) {
            Ok(block) => {
                run(&device, Task::Fill { to: (block.id, 0), bytes: 4096, pattern: [8; 4] });
                free(&device, block.id);
                let mut byte = [0];
                rustix::io::pread(&file, &mut byte, 4095).unwrap();
                assert_eq!((byte, vendor), ([8], DeviceVendor::Cuda));
            }
            Err(error) => assert!(error.to_string().contains("DMA-BUFs on this one"), "{error}"),
        }
        // Too short, no file at all, and one that the driver takes and cannot map.
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert!(import_fd(&device, fd(), FdKind::DmaBuf, 8193).is_err());
        assert!(import_fd(&device, reader.as_fd(), FdKind::DmaBuf, 10).is_err());
        assert!(import_fd(&device, reader.as_fd(), FdKind::Opaque, 10).is_err());
        rustix::fs::ftruncate(&file, 4 << 20).unwrap();
        calls("destroy");
        assert!(import_fd(&device, fd(), FdKind::Opaque, 2 << 20).is_err());
        assert_eq!((calls("destroy"), open_files(&name)), (1, 1));
        // With the device goes what was not freed.
        let _left = import_fd(&device, fd(), FdKind::Opaque, 4096).unwrap();
        drop(device);
        assert_eq!((calls("destroy"), open_files(&name)), (1, 1));
    }
}

#[test]
fn handles_are_of_whole_blocks_and_are_closed() {
    let (here, there) = (device(0, 10, DeviceVendor::Rocm), device(0, 10, DeviceVendor::Rocm));
    let block = filled(&here, TensorMemory::Device, [6; 4]);
    let (handle, bytes) = here.ipc(block).unwrap();
    assert_eq!(bytes, 4096);
    // SAFETY: a handle of a block that exists; or one that the driver knows not to be.
    let open = |handle: &IpcHandle, bytes| unsafe { there.open_ipc(handle, bytes) };
    let opened = open(&handle, bytes).unwrap();
    assert_eq!((first_word(&there, opened.id), opened.bytes), (0x0606_0606, 4096));
    free(&there, opened.id);
    assert_eq!((calls("open"), calls("close")), (1, 1));
    let words = open(&handle, 4097).unwrap_err().to_string();
    assert!(words.contains("has 4096 bytes, and 4097 were promised"), "{words}");
    assert!(open(&handle, usize::MAX).is_err());
    assert_eq!((calls("open"), calls("close")), (2, 2));
    assert!(open(&[0xee; 64], 10).unwrap_err().to_string().contains("answers 1"));
    // Only memory of its own, and of the device.
    let pinned = filled(&here, TensorMemory::Pinned, [1; 4]);
    assert!(here.ipc(pinned).is_err() && here.ipc(999).is_err());
    let again = open(&handle, bytes).unwrap();
    assert!(there.ipc(again.id).is_err());
}

#[test]
fn main_memory_is_registered_once_and_let_go_of_before_it_goes() {
    use tenure_memory::Access::KernelRead;
    use tenure_memory::TensorMemory::{Device, Mem};
    let gpu = Gpu::over(device(0, 10, DeviceVendor::Cuda)).unwrap();
    let here = tenure_tensor::Tensor::<u8>::new(&[1 << 20], Some(Mem), None).unwrap();
    here.fill(5).unwrap();
    let there = gpu.to(&here, Device).unwrap();
    here.copy_from(&there).unwrap();
    assert_eq!((calls("register"), gpu.staging().misses, gpu.imports().hits), (1, 0, 1));
    // What kernels are given is an address: here that of main memory itself.
    let reached = gpu.reach(here.buffer(), KernelRead).unwrap();
    let address = gpu.address_of(&reached).unwrap();
    assert_eq!(address.0, here.buffer().hold(KernelRead, 0..1).unwrap().address());
    drop(reached);
    let part = there.slice(0, 100..200).unwrap();
    let reached = gpu.reach(part.buffer(), KernelRead).unwrap();
    let first = there.buffer().raw().unwrap().device_address().unwrap();
    let address = gpu.address_of(&reached).unwrap().0;
    assert_eq!(address.addr().get(), first.addr().get() + part.buffer().start());
    drop(reached);
    assert_eq!(calls("unregister"), 0);
    drop(here);
    assert_eq!((calls("unregister"), gpu.imports().imported), (1, 0));
}

#[test]
fn what_the_program_had_chosen_is_chosen_again() {
    CURRENT.set(77);
    let device = device(0, 10, DeviceVendor::Cuda);
    let block = filled(&device, TensorMemory::Device, [7; 4]);
    assert_eq!((first_word(&device, block), CURRENT.get()), (0x0707_0707, 77));
    drop(device);
    assert_eq!(CURRENT.get(), 77);
}

#[test]
fn work_whose_event_is_not_recorded_is_waited_for() {
    let device = device(0, 10, DeviceVendor::Cuda);
    let block = filled(&device, TensorMemory::Device, [7; 4]);
    calls("finish");
    RECORDS.set(INVALID);
    // SAFETY: inside the block, which exists.
    let begun =
        unsafe { device.submit(0, &[Task::Fill { to: (block, 0), bytes: 4, pattern: [1; 4] }]) };
    RECORDS.set(0);
    assert!(begun.is_err());
    assert_eq!(calls("finish"), 1);
}

#[test]
fn a_context_that_was_destroyed_is_a_lost_device() {
    let gpu = Gpu::over(device(0, 10, DeviceVendor::Cuda)).unwrap();
    let here = tenure_tensor::Tensor::<u8>::new(&[100], None, None).unwrap();
    let there = gpu.to(&here, TensorMemory::Device).unwrap();
    GONE.set(true);
    let fault = |error: tenure_tensor::Error| match error {
        tenure_tensor::Error::Memory(Error::Device(device)) => device.fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(here.copy_from(&there).unwrap_err()), DeviceFault::Lost);
    assert_eq!(fault(gpu.to(&here, TensorMemory::Device).unwrap_err()), DeviceFault::Lost);
    // Tensors go after it.
    drop((there, gpu));
    GONE.set(false);
}

#[test]
fn a_device_without_room_says_how_much_there_is() {
    let device = device(0, 10, DeviceVendor::Cuda);
    let full = |memory| match device.allocate(memory, 1 << 41) {
        Err(Error::OutOfMemory(full)) => full.available,
        other => panic!("{other:?}"),
    };
    assert_eq!(full(TensorMemory::Device), Some(12_345));
    assert_eq!(full(TensorMemory::Pinned), None);
}
