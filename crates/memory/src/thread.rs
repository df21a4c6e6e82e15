//! What every thread that Tenure starts does first.

/// Lets SIGBUS reach this thread, whatever the thread that started it blocks.
///
/// A thread begins with the signals blocked that its starter blocks, and daemons block all of them.
/// The kernel kills a process in which a thread faults with SIGBUS blocked, so a thread of a library
/// that reads mapped files must not inherit that. All threads that Tenure starts call this before
/// anything else. One short system call; nothing on systems without the signal.
///
/// ```
/// std::thread::spawn(|| {
///     tenure_memory::prepare_thread();
///     // Works on the memory of tensors that other threads hold.
/// });
/// ```
pub fn prepare_thread() {
    #[cfg(linux_like)]
    crate::bus::unblock();
}
