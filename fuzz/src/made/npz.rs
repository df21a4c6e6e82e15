//! npz: a zip file of npy files, stored or deflated, with 64-bit records or without.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use super::{Number, dimension, name};

#[derive(Debug, Arbitrary)]
pub struct File {
    members: Vec<Member>,
    large: bool,
    count: (u8, Number),
    bytes: (u8, Number),
    offset: (u8, Number),
    locator: (u8, Number),
    comment: u8,
}

#[derive(Debug, Arbitrary)]
struct Member {
    name: u8,
    array: Array,
    deflated: u8,
    flags: u8,
    crc: (u8, Number),
    size: (u8, Number),
    packed: (u8, Number),
    local: (u8, Number),
    /// Sizes in an extra, as numpy writes them.
    extra: bool,
    extra_length: (u8, Number),
    /// Bytes between the name and the array.
    padding: u8,
}

#[derive(Debug, Arbitrary)]
struct Array {
    version: u8,
    dtype: u8,
    fortran: bool,
    rank: u8,
    shape: [(u8, Number); 3],
    head: (u8, Number),
    data: (u8, Number),
}

impl Array {
    fn bytes(&self) -> Vec<u8> {
        let words = ["|u1", "<f4", "<f8", "|b1", "<i8", ">f4", "<f2", "|O", "<U4", "<c8", "<c16"];
        let (word, size) = match usize::from(self.dtype) % words.len() {
            at @ (0 | 3) => (words[at], 1),
            at @ (1 | 5) => (words[at], 4),
            6 => (words[6], 2),
            10 => (words[10], 16),
            at => (words[at], 8),
        };
        let mut shape: Vec<String> = self
            .shape
            .iter()
            .take(usize::from(self.rank % 4))
            .map(|(small, number)| dimension(*small, *number).to_string())
            .collect();
        let elements = shape.iter().filter_map(|dim| dim.parse::<u64>().ok());
        let elements = elements.fold(size, u64::wrapping_mul).min(1 << 14);
        if shape.len() == 1 {
            shape.push(String::new());
        }
        let order = if self.fortran { "True" } else { "False" };
        let shape = shape.join(", ");
        let mut head =
            format!("{{'descr': '{word}', 'fortran_order': {order}, 'shape': ({shape}), }}");
        let wide = self.version % 8 > 5;
        let before = if wide { 12 } else { 10 };
        while (before + head.len() + 1) % 64 != 0 {
            head.push(' ');
        }
        head.push('\n');
        let length = self.head.1.or(self.head.0, head.len() as u64);
        let mut file = b"\x93NUMPY".to_vec();
        match wide {
            false => {
                file.extend([1, 0]);
                file.extend((length as u16).to_le_bytes());
            }
            true => {
                file.extend([2 + self.version % 2, 0]);
                file.extend((length as u32).to_le_bytes());
            }
        }
        file.extend(head.as_bytes());
        let data = self.data.1.or(self.data.0, elements).min(1 << 15) as usize;
        file.resize(file.len() + data, 0x5a);
        file
    }
}

/// A deflate stream of stored blocks.
fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![];
    let mut blocks = bytes.chunks(u16::MAX.into()).peekable();
    if blocks.peek().is_none() {
        return vec![1, 0, 0, 0xff, 0xff];
    }
    while let Some(block) = blocks.next() {
        packed.push(u8::from(blocks.peek().is_none()));
        packed.extend((block.len() as u16).to_le_bytes());
        packed.extend((!(block.len() as u16)).to_le_bytes());
        packed.extend(block);
    }
    packed
}

/// The checksum of zip files, the slow way.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    })
}

impl File {
    pub fn bytes(&self) -> Vec<u8> {
        let (mut file, mut list) = (vec![], vec![]);
        let members = &self.members[..self.members.len().min(5)];
        for (at, member) in members.iter().enumerate() {
            let array = member.array.bytes();
            // Now and then what is said to be deflated is not.
            let packed = if member.deflated % 4 == 0 { deflate(&array) } else { array.clone() };
            let method: u16 = match member.deflated {
                0xfe => 9,
                deflated if deflated % 4 == 0 || deflated > 250 => 8,
                _ => 0,
            };
            let crc = member.crc.1.or(member.crc.0, crc(&array).into()) as u32;
            let size = member.size.1.or(member.size.0, array.len() as u64);
            let length = member.packed.1.or(member.packed.0, packed.len() as u64);
            let local = member.local.1.or(member.local.0, file.len() as u64);
            let name = format!("{}{at}.npy", name(member.name));
            let flags = u16::from(member.flags == 0xff);
            let padding = vec![0u8; usize::from(member.padding % 16)];
            file.extend(b"PK\x03\x04\x14\0");
            file.extend(flags.to_le_bytes());
            file.extend(method.to_le_bytes());
            file.extend([0; 4]);
            file.extend(crc.to_le_bytes());
            file.extend((length as u32).to_le_bytes());
            file.extend((size as u32).to_le_bytes());
            file.extend((name.len() as u16).to_le_bytes());
            file.extend((padding.len() as u16).to_le_bytes());
            file.extend(name.as_bytes());
            file.extend(&padding);
            file.extend(&packed);

            let mut extra = vec![];
            let mut small = [size, length, local].map(|number| number as u32);
            if member.extra {
                let (rarely, number) = member.extra_length;
                extra.extend(1u16.to_le_bytes());
                extra.extend((number.or(rarely, 24) as u16).to_le_bytes());
                [size, length, local].iter().for_each(|number| extra.extend(number.to_le_bytes()));
                small = [u32::MAX; 3];
            }
            list.extend(b"PK\x01\x02\x14\0\x14\0");
            list.extend(flags.to_le_bytes());
            list.extend(method.to_le_bytes());
            list.extend([0; 4]);
            list.extend(crc.to_le_bytes());
            list.extend(small[1].to_le_bytes());
            list.extend(small[0].to_le_bytes());
            list.extend((name.len() as u16).to_le_bytes());
            list.extend((extra.len() as u16).to_le_bytes());
            list.extend([0; 10]);
            list.extend([0; 2]);
            list.extend(small[2].to_le_bytes());
            list.extend(name.as_bytes());
            list.extend(&extra);
        }
        let (count, bytes, offset) = (
            self.count.1.or(self.count.0, members.len() as u64),
            self.bytes.1.or(self.bytes.0, list.len() as u64),
            self.offset.1.or(self.offset.0, file.len() as u64),
        );
        file.append(&mut list);
        if self.large {
            let place = self.locator.1.or(self.locator.0, file.len() as u64);
            file.extend(b"PK\x06\x06");
            file.extend(44u64.to_le_bytes());
            file.extend([0; 12]);
            file.extend(count.to_le_bytes());
            file.extend(count.to_le_bytes());
            file.extend(bytes.to_le_bytes());
            file.extend(offset.to_le_bytes());
            file.extend(b"PK\x06\x07\0\0\0\0");
            file.extend(place.to_le_bytes());
            file.extend(1u32.to_le_bytes());
        }
        file.extend(b"PK\x05\x06\0\0\0\0");
        file.extend((count as u16).to_le_bytes());
        file.extend((count as u16).to_le_bytes());
        file.extend((bytes as u32).to_le_bytes());
        file.extend((offset as u32).to_le_bytes());
        file.extend(u16::from(self.comment % 8).to_le_bytes());
        file.resize(file.len() + usize::from(self.comment % 8), b' ');
        file
    }
}
