//! Systems without a backend.

use std::sync::Arc;

use tenure::TensorMemory;
use tenure::memory::Allocator;

use super::Kind;

pub(in crate::info) fn gpus() -> Vec<Kind> {
    let (name, title) = ("gpu", "devices");
    let reason = Some("this build opens devices on Linux only".to_owned());
    vec![Kind { name, title, works: false, reason, devices: vec![] }]
}

/// Devices that work: none.
pub(in crate::info) struct Opened;

impl Opened {
    pub(in crate::info) fn new(_: &[Kind]) -> Opened {
        Opened
    }

    #[expect(clippy::unused_self, reason = "where there are devices, they are in there")]
    pub(in crate::info) fn allocator(
        &mut self,
        _: TensorMemory,
    ) -> Result<(String, Arc<dyn Allocator>), String> {
        Err("it belongs to a device, and no device works here: see GPUs".to_owned())
    }
}
