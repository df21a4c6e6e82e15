//! Knobs of a camera: exposure, gain, test pattern.

use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::device::Device;
use crate::kernel::structures::{self, QueryControl, text};
use crate::{Error, Result, kernel};

/// What a control's value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlKind {
    /// A number.
    Integer,
    /// 0 or 1.
    Switch,
    /// The number of a menu entry.
    Menu,
    /// Setting it does something.
    Button,
    /// Bits.
    Bits,
    /// Something that is not one number.
    Other,
}

/// One knob of a camera.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Its number.
    pub id: u32,
    /// Its name: `Brightness`.
    pub name: String,
    /// What its value means.
    pub kind: ControlKind,
    /// The smallest value.
    pub minimum: i32,
    /// The largest value.
    pub maximum: i32,
    /// The value it has at first.
    pub default: i32,
    /// Whether it can be set now.
    pub writable: bool,
}

const NEXT: u32 = 0x8000_0000;
const DISABLED: u32 = 1;
const GRABBED: u32 = 2;
const READ_ONLY: u32 = 4;

pub(crate) fn list(device: &Device) -> Result<Vec<Control>> {
    let mut all: Vec<Control> = vec![];
    let mut last = 0;
    loop {
        let mut entry = QueryControl { id: last | NEXT, ..QueryControl::default() };
        match kernel::query_control(device.as_fd(), &mut entry) {
            Ok(()) if entry.id > last => last = entry.id,
            Ok(()) | Err(Errno::INVAL | Errno::NOTTY) => return Ok(all),
            Err(errno) => return Err(device.failed("listing controls")(errno)),
        }
        let kind = match entry.kind {
            1 => ControlKind::Integer,
            2 => ControlKind::Switch,
            3 | 9 => ControlKind::Menu,
            4 => ControlKind::Button,
            8 => ControlKind::Bits,
            // The head of a group of controls.
            6 => continue,
            _ => ControlKind::Other,
        };
        if entry.flags & DISABLED == 0 {
            all.push(Control {
                id: entry.id,
                name: text(&entry.name),
                kind,
                minimum: entry.minimum,
                maximum: entry.maximum,
                default: entry.default,
                writable: entry.flags & (GRABBED | READ_ONLY) == 0,
            });
        }
    }
}

pub(crate) fn find(device: &Device, name: &str) -> Result<Control> {
    let missing = || {
        Error::from(crate::detail::NoControl { path: device.path.clone(), name: name.to_owned() })
    };
    let named = |control: &Control| control.name.eq_ignore_ascii_case(name);
    list(device)?.into_iter().find(named).ok_or_else(missing)
}

pub(crate) fn get(device: &Device, name: &str) -> Result<i32> {
    let mut argument = structures::Control { id: find(device, name)?.id, value: 0 };
    kernel::get_control(device.as_fd(), &mut argument)
        .map_err(device.failed("reading a control"))?;
    Ok(argument.value)
}

pub(crate) fn set(device: &Device, name: &str, value: i32) -> Result<()> {
    let mut argument = structures::Control { id: find(device, name)?.id, value };
    kernel::set_control(device.as_fd(), &mut argument).map_err(device.failed("setting a control"))
}
