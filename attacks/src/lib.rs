//! How an attack tells a refusal from a success. The attacks themselves are the programs beside
//! this file, and none of them may use unsafe code. Nor does anything here but [`fork`].

pub mod fork;
#[cfg(feature = "bridge")]
pub mod peer;

/// Requires that an attack was refused, and for the right reason.
///
/// ```
/// use tenure_attacks::refused;
/// refused!("x".parse::<u8>(), error if error.to_string().contains("invalid digit"));
/// ```
#[macro_export]
macro_rules! refused {
    ($attack:expr, $reason:pat $(if $more:expr)?) => {
        match $attack {
            Err($reason) $(if $more)? => {}
            Err(error) => panic!("{}: refused for another reason: {error:?}", stringify!($attack)),
            Ok(_) => panic!("{}: succeeded", stringify!($attack)),
        }
    };
}

/// Errors of the memory under a tensor, as a pattern.
#[macro_export]
macro_rules! memory {
    ($($error:ident $(($detail:ident))? $({ $($fields:tt)* })?)|+) => {
        ::tenure::tensor::Error::Memory($(::tenure::memory::Error::$error $(($detail))? $({ $($fields)* })?)|+)
    };
}

/// Errors of the layout of a tensor, as a pattern.
#[macro_export]
macro_rules! layout {
    ($($error:ident $(($detail:ident))? $({ $($fields:tt)* })?)|+) => {
        ::tenure::tensor::Error::Layout($(::tenure::layout::Error::$error $(($detail))? $({ $($fields)* })?)|+)
    };
}

/// Descriptors of memory files that this process has open: `/proc/self/fd` names them to anybody.
pub fn open_memory_files() -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return vec![] };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:"))
        })
        .collect()
}

/// How many descriptors this process has open.
pub fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// The most memory that this process has had so far, in bytes.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says it here");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.expect("a number of kB") << 10
}
