//! Memory of a device as another process names it: what is taken is inside its block, and is sent on
//! as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_gpu::IpcExported;

fuzz_target!(|sent: &[u8]| {
    if let Ok(exported) = IpcExported::from_bytes(sent) {
        assert!(exported.bytes() > 0);
        assert_eq!(exported.to_bytes(), sent);
    }
});
