//! Opening files: finding out what is in them, and mapping them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tenure_tensor::{DType, Layout, TensorDyn, TensorMemory};

use crate::catalogue::{Catalogue, Refused, detect};
use crate::order::Order;
use crate::shard::Shard;
use crate::{Elements, Entry, Error, Format, Load, Result, index};

/// A file with tensors, or several that belong together.
///
/// Nothing but the head is read: a tensor is a read-only view of the mapped file, and its pages
/// come from the disk when they are touched. They are shared with everybody else that has the
/// file open, and the system may take them back.
///
/// # A file that others change
/// Whoever may write a file can change it at any time, also while it is mapped:
///
/// - **cut off** by someone, it does not kill this process. Where bytes are gone zeros are read,
///   [`tenure_tensor::StridedRead::intact`] of a guard that is held says so, and from then on
///   every new guard is an error;
/// - **written** to by someone, a view shows the new bytes, as every mapping does;
/// - **replaced** by a new file of its name, as [`crate::safetensors::save`] does it, the old one
///   stays what it was for whoever has it open.
///
/// Who wants none of this loads the tensors ([`TensorFile::load`]): a copy is nobody else's. A
/// load that meets the end too early is an error and never gives zeros.
#[derive(Debug)]
pub struct TensorFile {
    pub(crate) path: PathBuf,
    pub(crate) shards: Vec<Shard>,
    catalogue: Catalogue,
    by_name: HashMap<String, usize>,
}

/// Opens a safetensors, GGUF, npy or npz file by what it begins with, or a folder of safetensors
/// files with an index. Files that end in `.raw` or `.bin` and begin as none of these are one
/// tensor of bytes.
///
/// The only tensor of an npy or raw file has the name of the file without its ending.
///
/// ```
/// use tenure_files::{open, safetensors};
/// use tenure_tensor::{Tensor, TensorMemory};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let weight = Tensor::<f32>::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// safetensors::save(&path, &[("weight", weight.to_dyn())], &Default::default())?;
///
/// let file = open(&path)?;
/// for entry in file.entries() {
///     println!("{} {} {:?} at {}", entry.name(), entry.elements(), entry.shape(), entry.offset());
/// }
/// let weight = file.tensor("weight")?.typed::<f32>()?;
/// assert_eq!(weight.map_read()?.as_slice()[5], 6.0);
/// # if cfg!(target_endian = "little") {
/// assert!(weight.map().unwrap_err().to_string().contains("read-only"));
/// # #[cfg(target_os = "linux")]
/// assert_eq!(weight.memory(), TensorMemory::File);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If it cannot be opened, is no file (a device, a pipe: which is not waited for), begins as no
/// known format, or is not as its format asks for. Nothing that a file says is believed before it
/// agrees with how long the file is.
pub fn open(path: impl AsRef<Path>) -> Result<TensorFile> {
    let path = path.as_ref();
    if path.is_dir() {
        return index::open_folder(path);
    }
    if path.to_str().is_some_and(|name| name.ends_with(index::ENDING)) {
        return index::open_index(path);
    }
    let shard = Shard::open(path)?;
    let format = match detect(&shard.source) {
        Err(_) if is_raw(path) => Ok(Format::Raw),
        other => other,
    };
    TensorFile::of(shard, format)
}

/// As [`open`], for a file whose format is known better than it shows.
///
/// # Errors
/// As [`open`].
pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<TensorFile> {
    TensorFile::of(Shard::open(path.as_ref())?, Ok(format))
}

/// Opens any file as one tensor whose elements begin at byte `offset`. They are little-endian, on
/// every machine: nothing in the file says so, and `tenure stream tap` writes raw files so.
///
/// ```
/// use tenure_files::open_raw;
/// use tenure_tensor::DType;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("frames.yuv");
/// std::fs::write(&path, [7, 0].repeat(4 + 6))?;
/// let file = open_raw(&path, DType::U16, &[2, 3], 8)?;
/// assert_eq!(file.tensor("frames")?.typed::<u16>()?.map_read()?.as_slice(), [7; 6]);
/// assert!(open_raw(&path, DType::U16, &[2, 4], 8).unwrap_err().to_string().contains("16 bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`open`], and if the file has fewer bytes than that; it may have more.
pub fn open_raw(
    path: impl AsRef<Path>,
    dtype: DType,
    shape: &[usize],
    offset: u64,
) -> Result<TensorFile> {
    let path = path.as_ref();
    let shard = Shard::open(path)?;
    let size = shard.source.size;
    // Says why such a tensor is not possible, if it is not.
    let layout = Layout::contiguous(dtype, shape).map_err(|error| Error::from(error).at(path))?;
    let entry = Entry::new("data".to_owned(), Elements::Plain(dtype), shape.to_vec(), offset);
    let entry =
        entry.filter(|entry| entry.end().is_some_and(|end| end <= size)).ok_or_else(|| {
            let bytes = layout.packed_bytes();
            let what = format!("has {size} bytes: {bytes} bytes from byte {offset} are not there");
            Error::from(crate::detail::Damaged { format: Format::Raw.name(), what }).at(path)
        })?;
    let (entries, format) = (vec![entry.in_order(Order::Little)], Format::Raw);
    let catalogue = Catalogue { format, entries, metadata: vec![], refused: vec![] };
    Ok(TensorFile::assemble(path, vec![shard], catalogue))
}

fn is_raw(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ending.eq_ignore_ascii_case("raw") || ending.eq_ignore_ascii_case("bin")
}

impl TensorFile {
    fn of(shard: Shard, format: Result<Format>) -> Result<TensorFile> {
        let path = shard.path.clone();
        let catalogue = format.and_then(|format| Catalogue::of(&shard.source, format));
        Ok(TensorFile::assemble(&path, vec![shard], catalogue.map_err(|error| error.at(&path))?))
    }

    pub(crate) fn assemble(
        path: &Path,
        shards: Vec<Shard>,
        mut catalogue: Catalogue,
    ) -> TensorFile {
        if let (Format::Npy | Format::Raw, [entry]) = (catalogue.format, &mut catalogue.entries[..])
            && let Some(stem) = path.file_stem()
        {
            entry.name = stem.to_string_lossy().into_owned();
        }
        let names = catalogue.entries.iter().map(|entry| entry.name.clone());
        let by_name = names.zip(0..).collect();
        TensorFile { path: path.to_owned(), shards, catalogue, by_name }
    }

    /// What was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files, of which there are several if a folder was opened.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(|shard| shard.path.as_path())
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.catalogue.format
    }

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        self.shards.iter().map(|shard| shard.source.size).sum()
    }

    /// The tensors, in the order of their bytes.
    pub fn entries(&self) -> &[Entry] {
        &self.catalogue.entries
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], with a name that is nearly the same, and [`Error::NoTensor`] for what
    /// is among [`TensorFile::refused`].
    pub fn entry(&self, name: &str) -> Result<&Entry> {
        let entries = self.entries();
        self.by_name.get(name).and_then(|index| entries.get(*index)).ok_or_else(|| {
            // Members of npz files have an ending that arrays are asked for without.
            let is = |one: &&Refused| one.name.strip_suffix(".npy").unwrap_or(&one.name) == name;
            if let Some(Refused { why, .. }) = self.refused().iter().find(is) {
                let refused = crate::detail::NoTensor { name: name.to_owned(), why: why.clone() };
                return Error::from(refused).at(&self.path);
            }
            let near = near(name, entries.iter().map(Entry::name));
            let (name, count) = (name.to_owned(), entries.len());
            Error::from(crate::detail::NoSuchTensor { name, count, near }).at(&self.path)
        })
    }

    /// What else the file says: names and values.
    pub fn metadata(&self) -> &[(String, String)] {
        self.catalogue.metadata()
    }

    /// Members that are no tensors, and why.
    pub fn refused(&self) -> &[Refused] {
        self.catalogue.refused()
    }

    /// A tensor: a view of the mapped file, or a copy on the heap where no view is possible
    /// ([`Entry::copied`] says why). Blocks are bytes ([`crate::Blocks`]).
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`]; of a copy, if it cannot be read.
    pub fn tensor(&self, name: &str) -> Result<TensorDyn> {
        let entry = self.entry(name)?;
        if entry.copied().is_none() {
            return self.view(name);
        }
        let loaded = self.load().only([name])?.memory(TensorMemory::Mem).run()?;
        loaded.tensor(name)
    }

    /// A tensor as a view of the mapped file, and never a copy.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], and [`Error::NotAView`] with the reason.
    pub fn view(&self, name: &str) -> Result<TensorDyn> {
        let entry = self.entry(name)?;
        if let Some(why) = entry.copied() {
            return Err(
                Error::from(crate::detail::NotAView { name: name.to_owned(), why }).at(&self.path)
            );
        }
        let beyond = || Error::CutOff { at: entry.offset, had: self.size() }.at(&self.path);
        let shard = self.shards.get(entry.shard).ok_or_else(beyond)?;
        let start = usize::try_from(entry.offset).map_err(|_| beyond())?;
        let end = start.checked_add(entry.bytes()).ok_or_else(beyond)?;
        let buffer = shard.buffer.slice(start..end)?;
        Ok(TensorDyn::from_unaligned_buffer(buffer, entry.tensor_layout()?)?)
    }

    /// Brings tensors into memory; all of them, unless told otherwise.
    pub fn load(&self) -> Load<'_> {
        Load::new(self)
    }

    /// Whether the files still have the bytes that were mapped.
    ///
    /// # Errors
    /// If another process has cut one off.
    pub fn intact(&self) -> Result<()> {
        for shard in &self.shards {
            let intact = shard.buffer.raw().and_then(|raw| raw.intact());
            intact.map_err(|error| Error::from(error).at(&shard.path))?;
        }
        Ok(())
    }
}

/// The name that has the most of its beginning and its end in common with `name`, if that is most
/// of it.
fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let common = |other: &str| {
        let ahead = name.chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
        let (ours, theirs) = (name.chars().rev(), other.chars().rev());
        let behind = ours.zip(theirs).take_while(|(one, two)| one == two).count();
        ahead + behind
    };
    let best = names.map(|other| (common(other), other)).max_by_key(|(common, _)| *common)?;
    (best.0 * 2 > name.chars().count()).then(|| best.1.to_owned())
}
