//! Libraries of drivers, loaded at run time.
#![expect(unsafe_code, reason = "loads libraries and looks functions up in them")]

use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;

use crate::Missing;

/// Libraries that were loaded, by name. They are never unloaded: drivers leave threads behind, which
/// would go on in what is gone.
static LOADED: Mutex<Vec<(String, Arc<Library>)>> = Mutex::new(Vec::new());

/// A library, by the first of its names that loads.
pub(crate) fn load(names: &[&str]) -> Result<(Arc<Library>, String), Missing> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reason = String::new();
    for name in names {
        if let Some((name, library)) = loaded.iter().find(|(known, _)| known == name) {
            return Ok((Arc::clone(library), name.clone()));
        }
        // SAFETY: loading a driver's library runs its initialisers, as every program does that
        // uses it.
        match unsafe { Library::new(name) } {
            Ok(library) => {
                let library = Arc::new(library);
                loaded.push(((*name).to_owned(), Arc::clone(&library)));
                return Ok((library, (*name).to_owned()));
            }
            Err(error) if reason.is_empty() => reason = error.to_string(),
            Err(_) => {}
        }
    }
    let library = names.first().copied().unwrap_or_default().to_owned();
    Err(Missing::NoLibrary { library, reason })
}

/// A function of a library.
///
/// # Safety
/// `F` must be a function pointer of the function's type.
pub(crate) unsafe fn function<F: Copy>(
    library: &Library,
    name: &'static str,
    of: &str,
) -> Result<F, Missing> {
    // SAFETY: by the caller's promise.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|found| *found).map_err(|_| Missing::TooOld {
        library: of.to_owned(),
        needed: format!("a driver that has {name}"),
        found: "one that does not".to_owned(),
    })
}
