//! How much memory there is to be had.

/// Bytes of main memory that this process can have now without swapping: what the machine has
/// available, or what the control groups of the process leave if that is less. `None` where the
/// system does not say: on systems other than Linux, or without `/proc`.
///
/// ```
/// if let Some(bytes) = tenure_memory::available_memory() {
///     println!("{} MiB", bytes >> 20);
/// }
/// ```
pub fn available_memory() -> Option<u64> {
    #[cfg(linux_like)]
    return crate::kind::room::available().map(|(bytes, _)| bytes);
    #[cfg(not(linux_like))]
    None
}
