//! Systems without a backend.

use super::Kind;

pub(in crate::info) fn gpus() -> Vec<Kind> {
    let (name, title) = ("gpu", "devices");
    let reason = Some("this build opens devices on Linux only".to_owned());
    vec![Kind { name, title, works: false, reason, devices: vec![] }]
}
