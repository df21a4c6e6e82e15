//! TFLite: tables of a flatbuffer, with references that are right unless they are not.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use super::{Number, dimension, name};

#[derive(Debug, Arbitrary)]
pub struct File {
    codes: Vec<(u8, u8)>,
    buffers: Vec<(u8, Number)>,
    subgraphs: Vec<Subgraph>,
    metadata: Option<u8>,
    /// Bytes that are changed afterwards: where, and to what.
    pokes: Vec<(u16, u8)>,
    more_fields: u8,
}

#[derive(Debug, Arbitrary)]
struct Subgraph {
    tensors: Vec<Tensor>,
    operators: Vec<Operator>,
    inputs: Vec<u8>,
    outputs: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
struct Tensor {
    shape: Vec<(u8, Number)>,
    dtype: u8,
    buffer: (u8, Number),
    name: u8,
    variable: u8,
}

#[derive(Debug, Arbitrary)]
struct Operator {
    code: (u8, Number),
    inputs: Vec<u8>,
    outputs: Vec<u8>,
    options: Option<(u8, u8)>,
}

/// A field of a table.
enum Field {
    Byte(u8),
    Word(u32),
    Long(u64),
    /// Something that comes later, by what writes it.
    Reference(Box<dyn Fn(&mut Vec<u8>) -> u32>),
}

fn reference(write: impl Fn(&mut Vec<u8>) -> u32 + 'static) -> Field {
    Field::Reference(Box::new(write))
}

fn align(file: &mut Vec<u8>, to: usize) {
    file.resize(file.len().next_multiple_of(to), 0);
}

/// Writes a table and what it refers to; gives where it is.
fn table(file: &mut Vec<u8>, fields: &[(u16, Field)]) -> u32 {
    align(file, 8);
    let count = fields.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let list = file.len();
    let mut offsets = vec![0u16; usize::from(count)];
    // Behind the reference to the list; eight bytes for each, so that all are aligned.
    for (at, (number, _)) in fields.iter().enumerate() {
        offsets[usize::from(*number)] = 8 + 8 * at as u16;
    }
    file.extend((4 + 2 * count).to_le_bytes());
    file.extend((8 + 8 * fields.len() as u16).to_le_bytes());
    offsets.iter().for_each(|offset| file.extend(offset.to_le_bytes()));
    align(file, 8);
    let place = file.len();
    file.extend(((place - list) as i32).to_le_bytes());
    align(file, 8);
    file.resize(file.len() + 8 * fields.len(), 0);
    for (at, (_, field)) in fields.iter().enumerate() {
        let here = place + 8 + 8 * at;
        match field {
            Field::Byte(value) => file[here] = *value,
            Field::Word(value) => file[here..here + 4].copy_from_slice(&value.to_le_bytes()),
            Field::Long(value) => file[here..here + 8].copy_from_slice(&value.to_le_bytes()),
            Field::Reference(write) => {
                let target = write(file).wrapping_sub(here as u32);
                file[here..here + 4].copy_from_slice(&target.to_le_bytes());
            }
        }
    }
    place as u32
}

fn vector(file: &mut Vec<u8>, numbers: &[i32]) -> u32 {
    align(file, 4);
    let place = file.len() as u32;
    file.extend((numbers.len() as u32).to_le_bytes());
    numbers.iter().for_each(|number| file.extend(number.to_le_bytes()));
    place
}

fn bytes(file: &mut Vec<u8>, bytes: &[u8]) -> u32 {
    align(file, 4);
    let place = file.len() as u32;
    file.extend((bytes.len() as u32).to_le_bytes());
    file.extend(bytes);
    file.push(0);
    place
}

/// A list of tables.
fn tables<T>(file: &mut Vec<u8>, list: &[T], write: impl Fn(&mut Vec<u8>, &T) -> u32) -> u32 {
    align(file, 4);
    let place = file.len();
    file.extend((list.len() as u32).to_le_bytes());
    file.resize(file.len() + 4 * list.len(), 0);
    for (at, item) in list.iter().enumerate() {
        let here = place + 4 + 4 * at;
        let target = write(file, item).wrapping_sub(here as u32);
        file[here..here + 4].copy_from_slice(&target.to_le_bytes());
    }
    place as u32
}

/// An index that mostly exists.
fn index(number: u8, count: usize) -> i32 {
    match number {
        0xff => -1,
        0xfe => i32::MAX,
        _ => i32::from(number) % count.max(1) as i32,
    }
}

fn indices(numbers: &[u8], count: usize) -> Vec<i32> {
    numbers.iter().take(6).map(|number| index(*number, count)).collect()
}

fn tensor(file: &mut Vec<u8>, tensor: &Tensor, buffers: usize) -> u32 {
    let shape: Vec<i32> = tensor
        .shape
        .iter()
        .take(6)
        .map(|(small, number)| dimension(*small, *number) as i32)
        .collect();
    let title = name(tensor.name);
    let buffer = tensor.buffer.1.or(tensor.buffer.0, u64::from(tensor.buffer.0) % buffers as u64);
    table(
        file,
        &[
            (0, reference(move |file| vector(file, &shape))),
            (1, Field::Byte(if tensor.dtype > 250 { tensor.dtype } else { tensor.dtype % 23 })),
            (2, Field::Word(buffer as u32)),
            (3, reference(move |file| bytes(file, title.as_bytes()))),
            (5, Field::Byte(u8::from(tensor.variable > 240))),
        ],
    )
}

fn operator(file: &mut Vec<u8>, operator: &Operator, tensors: usize, codes: usize) -> u32 {
    let (inputs, outputs) =
        (indices(&operator.inputs, tensors), indices(&operator.outputs, tensors));
    let code = operator.code.1.or(operator.code.0, u64::from(operator.code.0) % codes as u64);
    let mut fields = vec![
        (0, Field::Word(code as u32)),
        (1, reference(move |file| vector(file, &inputs))),
        (2, reference(move |file| vector(file, &outputs))),
    ];
    if let Some((one, other)) = operator.options {
        let options = move |file: &mut Vec<u8>| {
            let branch = |number: u8| Field::Word(index(number, 3) as u32);
            table(file, &[(0, branch(one)), (1, branch(other))])
        };
        fields.push((4, reference(options)));
    }
    table(file, &fields)
}

fn subgraph(file: &mut Vec<u8>, graph: &Subgraph, buffers: usize, codes: usize) -> u32 {
    let tensors = &graph.tensors[..graph.tensors.len().min(10)];
    let operators = &graph.operators[..graph.operators.len().min(8)];
    let count = tensors.len();
    // Written at once: what follows refers to it.
    let tensors = tables(file, tensors, |file, it| tensor(file, it, buffers));
    let operators = tables(file, operators, |file, it| operator(file, it, count, codes));
    let (inputs, outputs) = (indices(&graph.inputs, count), indices(&graph.outputs, count));
    table(
        file,
        &[
            (0, reference(move |_| tensors)),
            (1, reference(move |file| vector(file, &inputs))),
            (2, reference(move |file| vector(file, &outputs))),
            (3, reference(move |_| operators)),
        ],
    )
}

impl File {
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = vec![0; 4];
        file.extend(b"TFL3");
        let codes: Vec<(u8, u8)> = self.codes.iter().take(6).copied().chain([(0, 0)]).collect();
        let list = codes.clone();
        let code_list = tables(&mut file, &list, |file, (code, title)| {
            let title = name(*title);
            table(
                file,
                &[
                    (0, Field::Byte(code % 128)),
                    (1, reference(move |file| bytes(file, title.as_bytes()))),
                    (3, Field::Word(u32::from(*code))),
                ],
            )
        });
        let buffers: Vec<(u8, Number)> =
            [(0, Number::Right)].into_iter().chain(self.buffers.iter().take(6).copied()).collect();
        let buffer_list = tables(&mut file, &buffers, |file, (small, number)| match small % 4 {
            0 => table(file, &[]),
            1 => {
                let (offset, size) = (number.or(5, 4), u64::from(small / 4));
                table(file, &[(1, Field::Long(offset)), (2, Field::Long(size))])
            }
            _ => {
                let data = vec![0x5a; usize::from(*small)];
                table(file, &[(0, reference(move |file| bytes(file, &data)))])
            }
        });
        let graphs = &self.subgraphs[..self.subgraphs.len().min(3)];
        let graph_list = tables(&mut file, graphs, |file, graph| {
            subgraph(file, graph, buffers.len(), codes.len())
        });
        let mut fields = vec![
            (0, Field::Word(3)),
            (1, reference(move |_| code_list)),
            (2, reference(move |_| graph_list)),
            (4, reference(move |_| buffer_list)),
        ];
        if let Some(number) = self.metadata {
            let title =
                if number % 2 == 0 { "OfflineMemoryAllocation".into() } else { name(number) };
            let list = tables(&mut file, &[title], |file, title: &String| {
                let title = title.clone();
                let word = Field::Word(u32::from(number % 8));
                table(file, &[(0, reference(move |file| bytes(file, title.as_bytes()))), (1, word)])
            });
            fields.push((6, reference(move |_| list)));
        }
        if self.more_fields > 250 {
            fields.push((11, Field::Word(1)));
        }
        let root = table(&mut file, &fields);
        file[..4].copy_from_slice(&root.to_le_bytes());
        for (at, value) in self.pokes.iter().take(3) {
            let at = usize::from(*at) % file.len();
            file[at] = *value;
        }
        file
    }
}
