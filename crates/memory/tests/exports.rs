//! Exports that are to be read only, and what is left when something was written all the same.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "does what foreign code does: writes through a pointer")]

use std::sync::Arc;

use tenure_memory::{
    Access, Buffer, Hold, Protection, RawBuffer, Request, SlotMemory, TensorMemory, allocate,
    import,
};

#[path = "common/child.rs"]
mod child;
#[path = "common/limits.rs"]
mod limits;

const PAGE: usize = 4096;
/// More than is dropped without asking which pages were written, and not whole pages.
const SIZE: usize = 200 * PAGE + 100;

fn shared(bytes: usize) -> Buffer {
    Buffer::from_raw(allocate(Some(TensorMemory::Shm), &Request::new(bytes).unwrap()).unwrap())
}

/// The same memory as another process has it: sealed, and mapped for reading.
fn received(of: &Buffer) -> Buffer {
    let raw = of.raw().unwrap();
    raw.seal_for_others().unwrap();
    elsewhere(raw, of.len())
}

/// A second mapping of a memory file.
fn elsewhere(raw: &RawBuffer, bytes: usize) -> Buffer {
    let whole = import(raw.descriptor().unwrap(), bytes, Protection::ReadOnly, None).unwrap();
    whole.slice(0..bytes).unwrap()
}

fn write(hold: &Hold, at: usize, value: u8) {
    assert!(at < hold.len());
    // SAFETY: inside what is held.
    unsafe { hold.address().as_ptr().add(at).write_volatile(value) }
}

fn read(hold: &Hold, at: usize) -> u8 {
    assert!(at < hold.len());
    // SAFETY: inside what is held.
    unsafe { hold.address().as_ptr().add(at).read_volatile() }
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

#[test]
fn written_pages_are_dropped_and_no_others() {
    let memory = shared(SIZE);
    memory.write().unwrap().as_bytes_mut().fill(1);
    let reader = received(&memory);
    // A page, runs of pages, every other page (more runs than are asked for at once), all, the end.
    let patterns: [&dyn Fn(usize) -> bool; 6] = [
        &|page| page == 7,
        &|page| page / 10 == 3 || page / 50 == 2,
        &|page| page.is_multiple_of(2),
        &|_| true,
        &|page| page == SIZE / PAGE,
        &|_| false,
    ];
    let mut before = None;
    for pattern in patterns {
        let hold = reader.hold(Access::ExportRead, 0..SIZE).unwrap();
        assert!((0..SIZE).all(|at| read(&hold, at) == 1));
        (0..SIZE).step_by(PAGE).filter(|at| pattern(at / PAGE)).for_each(|at| write(&hold, at, 9));
        let written = |at: usize| at.is_multiple_of(PAGE) && pattern(at / PAGE);
        assert!((0..SIZE).all(|at| read(&hold, at) == if written(at) { 9 } else { 1 }));
        assert!(reader.read().unwrap().as_bytes().iter().all(|byte| *byte == 1));
        // The pages are the same ones each time.
        assert_eq!(*before.get_or_insert(hold.address()), hold.address());
        assert_eq!(hold.start(), None);
    }
    let hold = reader.hold(Access::ExportRead, 0..SIZE).unwrap();
    assert!((0..SIZE).all(|at| read(&hold, at) == 1));
    assert_ne!(hold.address(), reader.read().unwrap().hold().address());
}

#[test]
fn what_the_owner_writes_is_seen_where_nobody_else_wrote() {
    let memory = shared(SIZE);
    let reader = received(&memory);
    let hold = reader.hold(Access::ExportRead, PAGE..3 * PAGE).unwrap();
    assert_eq!(read(&hold, 5), 0);
    write(&hold, 0, 9);
    // Kernels and exports do not wait for each other.
    let kernel = memory.hold(Access::KernelWrite, 0..SIZE).unwrap();
    // SAFETY: inside what is held for writing.
    unsafe { kernel.address().as_ptr().write_bytes(4, SIZE) };
    drop(kernel);
    assert_eq!((read(&hold, 0), read(&hold, 1), read(&hold, PAGE)), (9, 0, 4));
    drop(hold);
    let hold = reader.hold(Access::ExportRead, PAGE..3 * PAGE).unwrap();
    assert_eq!((read(&hold, 0), read(&hold, 1), read(&hold, PAGE)), (4, 4, 4));
}

#[test]
fn windows_have_pages_of_their_own() {
    let memory = shared(SIZE);
    let reader = received(&memory);
    let raw = reader.raw().unwrap();
    let windows = [(); 3].map(|()| Buffer::from_raw(RawBuffer::lent(Arc::clone(raw), ())));
    let holds = windows.each_ref().map(|it| it.hold(Access::ExportRead, 0..SIZE).unwrap());
    write(&holds[0], 1, 1);
    write(&holds[1], 1, 2);
    assert_eq!(holds.each_ref().map(|hold| read(hold, 1)), [1, 2, 0]);
    drop(holds);
    let again = windows.each_ref().map(|it| it.hold(Access::ExportRead, 0..SIZE).unwrap());
    assert_eq!(again.each_ref().map(|hold| read(hold, 1)), [0, 0, 0]);
}

#[test]
fn exports_leave_nothing_behind() {
    // Other tests map memory too.
    child::alone("exports_leave_nothing_behind", leave_nothing_behind);
}

fn leave_nothing_behind() {
    const ROUNDS: usize = 50;
    let memory = shared(SIZE);
    let reader = received(&memory);
    let all = || {
        let holds = [(); 8].map(|()| {
            let window = RawBuffer::lent(Arc::clone(reader.raw().unwrap()), ());
            Buffer::from_raw(window).hold(Access::ExportRead, 0..SIZE).unwrap()
        });
        holds.iter().for_each(|hold| write(hold, 0, 3));
    };
    all();
    let before = mappings();
    (0..ROUNDS).for_each(|_| all());
    // The allocator maps a few of its own, AddressSanitizer's above all, which keeps what was freed.
    assert!(mappings() < before + ROUNDS, "{before} and then {}", mappings());
    assert_eq!(reader.raw().unwrap().held(), 0);
}

#[test]
fn empty_exports_and_small_memory() {
    let memory = shared(3);
    let reader = received(&memory);
    drop(reader.hold(Access::ExportRead, 3..3).unwrap());
    drop(reader.hold(Access::ExportRead, 0..0).unwrap());
    let hold = reader.hold(Access::ExportRead, 2..3).unwrap();
    write(&hold, 0, 1);
    drop(hold);
    assert_eq!(read(&reader.hold(Access::ExportRead, 2..3).unwrap(), 0), 0);
}

#[test]
fn threads_export_at_the_same_time() {
    let memory = shared(SIZE);
    let reader = received(&memory);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let window = Buffer::from_raw(RawBuffer::lent(Arc::clone(reader.raw().unwrap()), ()));
            scope.spawn(move || {
                for round in 0..200 {
                    let at = (round * 37 + thread) % 200 * PAGE;
                    let hold = window.hold(Access::ExportRead, 0..SIZE).unwrap();
                    assert_eq!(read(&hold, at), 0);
                    write(&hold, at, 1);
                    assert_eq!(read(&hold, at), 1);
                }
            });
        }
    });
}

#[test]
fn a_slot_and_its_windows_take_turns() {
    let raw = allocate(Some(TensorMemory::Shm), &Request::new(SIZE).unwrap()).unwrap();
    let slot = SlotMemory::new(raw);
    let elsewhere = elsewhere(slot.raw(), SIZE);
    let [one, two] = [(); 2].map(|()| Buffer::from_raw(slot.window(())));
    for round in 0..3 {
        // Closed: the memory can be read, and no window used.
        assert!(one.read().unwrap_err().is_busy());
        let reading = elsewhere.read().unwrap();
        assert!(slot.open(one.raw().unwrap()).unwrap_err().is_busy());
        drop(reading);
        slot.open(one.raw().unwrap()).unwrap();
        // Open: the other way round.
        assert!(elsewhere.read().unwrap_err().is_busy());
        assert!(slot.open(two.raw().unwrap()).unwrap_err().is_busy());
        let mut guard = one.write().unwrap();
        guard.as_bytes_mut().fill(round);
        assert!(slot.close(one.raw().unwrap()).unwrap_err().is_busy());
        drop(guard);
        slot.close(one.raw().unwrap()).unwrap();
        assert!(elsewhere.read().unwrap().as_bytes().iter().all(|byte| *byte == round));
    }
    // A window that goes gives the turn back.
    slot.open(two.raw().unwrap()).unwrap();
    drop(two);
    slot.open(one.raw().unwrap()).unwrap();
    // Memory of one slot is not opened with a window of another.
    let raw = allocate(Some(TensorMemory::Shm), &Request::new(SIZE).unwrap()).unwrap();
    let other = SlotMemory::new(raw);
    assert!(other.open(one.raw().unwrap()).is_err());
    assert!(other.part(one.raw().unwrap()).is_err());
    assert!(other.open(elsewhere.raw().unwrap()).is_err());
}

#[test]
fn a_parted_window_is_alone() {
    let raw = allocate(Some(TensorMemory::Shm), &Request::new(SIZE).unwrap()).unwrap();
    let mut slot = SlotMemory::new(raw);
    let elsewhere = elsewhere(slot.raw(), SIZE);
    let mut kept = vec![];
    for round in 0..6 {
        let closed = Buffer::from_raw(slot.window(()));
        let window = Buffer::from_raw(slot.window(()));
        assert!(slot.part(window.raw().unwrap()).is_err(), "it is not open");
        slot.open(window.raw().unwrap()).unwrap();
        let mut guard = window.write().unwrap();
        guard.as_bytes_mut().fill(round);
        let parted = slot.part(window.raw().unwrap()).unwrap();
        // The memory as it was has no more windows, and none of them opens.
        assert!(slot.open(closed.raw().unwrap()).is_err());
        assert!(parted.open(closed.raw().unwrap()).is_err());
        slot = parted;
        assert!(window.raw().unwrap().is_parted());
        assert!(window.clone_descriptor().is_err());
        guard.as_bytes_mut()[0] = 100;
        kept.push((guard, round));
        let reading = elsewhere.read().unwrap();
        assert!(reading.as_bytes().iter().all(|byte| *byte == round));
        for (guard, round) in &kept {
            assert_eq!(guard.as_bytes()[0], 100);
            assert!(guard.as_bytes()[1..].iter().all(|byte| byte == round));
        }
        // Guards on it are in nobody's way, and nobody in theirs.
        assert!(window.read().unwrap_err().is_busy());
    }
    drop(slot);
    drop(elsewhere);
    assert!(
        kept.iter().all(|(guard, round)| guard.as_bytes()[1..].iter().all(|byte| byte == round))
    );
}

#[test]
fn a_reader_of_a_parted_window_is_parted_with_it() {
    let raw = allocate(Some(TensorMemory::Shm), &Request::new(SIZE).unwrap()).unwrap();
    let slot = SlotMemory::new(raw);
    let window = Buffer::from_raw(slot.window(()));
    slot.open(window.raw().unwrap()).unwrap();
    let reader = Buffer::from_raw(RawBuffer::read_only(Arc::clone(window.raw().unwrap())));
    let before = window.place().unwrap().allocation;
    assert_eq!(reader.place().unwrap().allocation, before);
    let parted = slot.part(window.raw().unwrap()).unwrap();
    // Both show the private copy, and not what others have.
    window.write().unwrap().as_bytes_mut().fill(7);
    assert_eq!(reader.read().unwrap().as_bytes()[0], 7);
    assert_eq!(elsewhere(parted.raw(), SIZE).read().unwrap().as_bytes()[0], 0);
    assert!(reader.raw().unwrap().is_parted());
    assert_eq!(reader.place(), window.place());
    assert_eq!(reader.raw().unwrap().identity(), window.raw().unwrap().identity());
    assert_ne!(reader.place().unwrap().allocation, before);
}

#[test]
fn what_a_device_uses_is_not_parted() {
    let raw = allocate(Some(TensorMemory::Shm), &Request::new(SIZE).unwrap()).unwrap();
    let slot = SlotMemory::new(raw);
    let window = Buffer::from_raw(slot.window(()));
    slot.open(window.raw().unwrap()).unwrap();
    for access in [Access::KernelRead, Access::KernelWrite, Access::Publish] {
        let hold = window.hold(access, 0..1).unwrap();
        let error = slot.part(window.raw().unwrap()).unwrap_err();
        assert!(error.is_busy(), "{error}");
        drop(hold);
    }
    slot.part(window.raw().unwrap()).unwrap();
    // Memory that the kernel cannot move says so.
    let slot =
        SlotMemory::new(allocate(Some(TensorMemory::Mem), &Request::new(64).unwrap()).unwrap());
    let window = Buffer::from_raw(slot.window(()));
    slot.open(window.raw().unwrap()).unwrap();
    assert!(!slot.part(window.raw().unwrap()).unwrap_err().is_busy());
    window.write().unwrap().as_bytes_mut().fill(1);
    slot.close(window.raw().unwrap()).unwrap();
}

/// From now on this process gets an error where it would move pages, or ask which were written:
/// as on an old kernel.
fn as_on_an_old_kernel() {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_EQUAL, libc::SYS_mremap as u32, 2, 0),
        step(JUMP_IF_EQUAL, libc::SYS_ioctl as u32, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32, 0, 0),
    ];
    filter(&mut program);
}

/// Has the kernel ask `program` about every call of this process from now on.
fn filter(program: &mut [libc::sock_filter]) {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel checks the program, which lives until the call returns.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
        assert_eq!(libc::syscall(libc::SYS_seccomp, mode, flags, &raw const filter), 0);
    }
}

#[test]
fn an_old_kernel_drops_all_pages_and_moves_none() {
    child::alone("an_old_kernel_drops_all_pages_and_moves_none", || {
        as_on_an_old_kernel();
        let memory = shared(SIZE);
        let reader = received(&memory);
        for round in 0..3 {
            let hold = reader.hold(Access::ExportRead, 0..SIZE).unwrap();
            assert!((0..SIZE).all(|at| read(&hold, at) == 0), "round {round}");
            (0..SIZE).step_by(3 * PAGE).for_each(|at| write(&hold, at, 9));
        }
        let raw = allocate(Some(TensorMemory::Shm), &Request::new(SIZE).unwrap()).unwrap();
        let slot = SlotMemory::new(raw);
        let window = Buffer::from_raw(slot.window(()));
        slot.open(window.raw().unwrap()).unwrap();
        let mut guard = window.write().unwrap();
        let error = slot.part(window.raw().unwrap()).unwrap_err();
        assert!(!error.is_busy(), "{error}");
        // Nothing has changed.
        guard.as_bytes_mut().fill(5);
        drop(guard);
        slot.close(window.raw().unwrap()).unwrap();
        let read = elsewhere(slot.raw(), SIZE);
        assert!(read.read().unwrap().as_bytes().iter().all(|byte| *byte == 5));
    });
}

/// From now on this process gets an error where it would map pages of a file that are its own: as
/// from a kernel that cannot promise memory for them.
fn without_private_pages_of_files() {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    // Where `struct seccomp_data` has the lower half of the fourth argument: the flags.
    const FLAGS: u32 = if cfg!(target_endian = "big") { 44 } else { 40 };
    #[cfg(target_pointer_width = "32")]
    const MAP: u32 = libc::SYS_mmap2 as u32;
    #[cfg(not(target_pointer_width = "32"))]
    const MAP: u32 = libc::SYS_mmap as u32;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_EQUAL, MAP, 0, 3),
        step(LOAD, FLAGS, 0, 0),
        step(JUMP_IF_SET, (libc::MAP_ANONYMOUS | libc::MAP_SHARED) as u32, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOMEM as u32, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    filter(&mut program);
}

#[test]
fn without_private_pages_an_export_is_a_copy() {
    child::alone("without_private_pages_an_export_is_a_copy", || {
        let memory = shared(SIZE);
        memory.write().unwrap().as_bytes_mut().fill(3);
        let reader = received(&memory);
        without_private_pages_of_files();
        for _ in 0..3 {
            let hold = reader.hold(Access::ExportRead, 0..SIZE).unwrap();
            assert!((0..SIZE).all(|at| read(&hold, at) == 3));
            // Where this was the mapping itself, the process ended here.
            (0..SIZE).for_each(|at| write(&hold, at, 9));
            assert!(reader.read().unwrap().as_bytes().iter().all(|byte| *byte == 3));
        }
        // What is written here later would not be seen in a copy.
        let refused = memory.hold(Access::ExportRead, 0..SIZE).unwrap_err();
        assert!(refused.to_string().contains("mapping pages for an export"), "{refused}");
        assert_eq!(reader.raw().unwrap().held(), 0);
    });
}

#[test]
fn without_room_for_pages_an_export_is_refused() {
    child::alone("without_room_for_pages_an_export_is_refused", || {
        let memory = shared(SIZE);
        memory.write().unwrap().as_bytes_mut().fill(3);
        let reader = received(&memory);
        let most = limits::address_space() + PAGE as u64;
        limits::limited(rustix::process::Resource::As, most, || {
            for from in [&reader, &memory] {
                let refused = from.hold(Access::ExportRead, 0..SIZE).unwrap_err();
                assert!(refused.to_string().contains("export"), "{refused}");
            }
            // Guards need none.
            assert!(reader.read().unwrap().as_bytes().iter().all(|byte| *byte == 3));
        });
        assert_eq!(reader.raw().unwrap().held(), 0);
        let hold = reader.hold(Access::ExportRead, 0..SIZE).unwrap();
        write(&hold, 0, 1);
        assert_eq!(reader.read().unwrap().as_bytes()[0], 3);
    });
}

#[test]
fn views_that_are_kept_survive_fork() {
    let memory = shared(SIZE);
    let reader = received(&memory);
    let hold = reader.hold(Access::ExportRead, 0..SIZE).unwrap();
    write(&hold, 0, 1);
    // SAFETY: the child only writes through a pointer and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        write(&hold, 0, 2);
        write(&hold, PAGE, 2);
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(i32::from(read(&hold, 0) != 2)) };
    }
    let mut status = -1;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!((status, read(&hold, 0), read(&hold, PAGE)), (0, 1, 0));
    assert!(reader.read().unwrap().as_bytes().iter().all(|byte| *byte == 0));
}
