//! The file: tensors of 16 MiB, removed when dropped.

use std::path::{Path, PathBuf};

use tenure::files::safetensors::{Save, save};
use tenure::{Tensor, TensorDyn, TensorMemory};
use tenure_benches::Error;

use crate::TENSOR;

/// A file of tensors.
pub(crate) struct Model {
    path: PathBuf,
    tensors: usize,
}

impl Model {
    /// Writes it where the build is, which is on a disk.
    pub(crate) fn new(tensors: usize) -> Result<Model, Error> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("vs_files-{}.safetensors", std::process::id()));
        let model = Model { path, tensors };
        // Numbers that no disk can compress, the same in every tensor.
        let one = Tensor::<u64>::new(&[TENSOR / 8], Some(TensorMemory::Mem), None)?;
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for value in one.map()?.as_mut_slice() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *value = state;
        }
        let names: Vec<String> = (0..tensors).map(|index| format!("layer.{index}")).collect();
        let all: Vec<(&str, TensorDyn)> =
            names.iter().map(|name| (name.as_str(), one.to_dyn())).collect();
        save(&model.path, &all, &Save::default())?;
        Ok(model)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of all tensors.
    pub(crate) fn bytes(&self) -> usize {
        self.tensors * TENSOR
    }

    /// The name of a tensor in the middle.
    pub(crate) fn middle(&self) -> String {
        format!("layer.{}", self.tensors / 2)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
