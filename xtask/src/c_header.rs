//! The header of the C library, `tenure.h`, from the functions of the crate `capi`.

use cbindgen::{Builder, Config};

use crate::cargo;
use crate::generated::Page;
use crate::{Failure, Outcome};

/// The crate, from the root of the repository.
const FOLDER: &str = "crates/capi";

/// The header as it should be.
pub(crate) fn page() -> Outcome<Page> {
    let folder = cargo::root()?.join(FOLDER);
    let failed = |what: &str| Failure::new(format!("{FOLDER}: {what}"));
    let config = Config::from_file(folder.join("cbindgen.toml")).map_err(|error| failed(&error))?;
    let bindings = Builder::new().with_crate(&folder).with_config(config).generate();
    let bindings = bindings.map_err(|error| failed(&error.to_string()))?;
    let mut header = vec![];
    bindings.write(&mut header);
    let text = String::from_utf8(header).map_err(|error| failed(&error.to_string()))?;
    // Types end in `_t`, so that a function can have their name; their values should not.
    let text = text.replace("TENURE_STATUS_T_", "TENURE_STATUS_");
    Ok(Page { path: format!("{FOLDER}/include/tenure.h").into(), text, chore: "c-header" })
}
