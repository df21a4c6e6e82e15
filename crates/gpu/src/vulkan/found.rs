//! What a survey finds.

use crate::{Class, Region};

/// A Vulkan device of this machine.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its number, to open it by.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: String,
    /// The version of Vulkan that it speaks.
    pub version: (u32, u32, u32),
    /// What it is made of.
    pub class: Class,
    /// Its memory.
    pub heaps: Vec<Region>,
    /// Whether it reaches main memory where it is.
    pub imports_host: bool,
    /// Whether it reaches DMA-BUFs where they are.
    pub imports_dma: bool,
    /// Whether its memory can be given to other processes.
    pub shares: bool,
    /// Why it cannot be used, if it cannot.
    pub unusable: Option<String>,
}
