//! The tables of a TFLite file, as far as memory depends on them.

use super::error::FlatFault;
use super::flat::{Flat, Table, Vector};
use super::operators;
use crate::{ElementType, Error, Result};

/// The most axes of a tensor.
const MAX_AXES: u64 = 64;
/// What a tensor or an operator costs, compared with an entry of one of its lists.
const PART: u64 = 8;
/// Bytes of a name that cost as much as an entry.
const NAME: u64 = 16;

/// Counts what is made of a file: tables may refer to the same table many times, so that a small
/// file can stand for more than there is memory.
pub(super) struct Budget {
    left: u64,
}

impl Budget {
    const MOST: usize = 1 << 22;

    pub(super) fn new() -> Budget {
        Budget { left: Budget::MOST as u64 }
    }

    pub(super) fn spend(&mut self, cost: u64) -> Result<()> {
        let what = "entries of tensors and operators";
        let most = Error::TooMany { what, most: Budget::MOST };
        self.left = self.left.checked_sub(cost).ok_or(most)?;
        Ok(())
    }
}

/// Field numbers of the tables.
pub(super) mod field {
    pub(crate) const MODEL_CODES: u16 = 1;
    pub(crate) const MODEL_SUBGRAPHS: u16 = 2;
    pub(crate) const MODEL_BUFFERS: u16 = 4;
    pub(crate) const MODEL_METADATA: u16 = 6;
    /// Fields of the model that are known: the version, which is a number, then references.
    pub(crate) const MODEL_KNOWN: u16 = 10;
    pub(crate) const BUFFER_DATA: u16 = 0;
    pub(crate) const BUFFER_OFFSET: u16 = 1;
    pub(crate) const BUFFER_SIZE: u16 = 2;
    pub(crate) const OPERATOR_LARGE_OPTIONS: u16 = 9;
}

/// `Model`.
pub(super) struct Model<'a> {
    pub(super) root: Table<'a>,
    pub(super) subgraphs: Vec<Subgraph<'a>>,
}

/// `SubGraph`.
pub(super) struct Subgraph<'a> {
    pub(super) tensors: Vec<Tensor<'a>>,
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
    pub(super) operators: Vec<Operator>,
}

/// `Tensor`.
pub(super) struct Tensor<'a> {
    pub(super) name: &'a str,
    pub(super) shape: Vec<u64>,
    pub(super) dtype: ElementType,
    pub(super) buffer: u64,
    pub(super) variable: bool,
    /// Its content is in the file, or in another one.
    pub(super) constant: bool,
}

/// `Operator`.
pub(super) struct Operator {
    pub(super) name: String,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) outputs: Vec<Option<usize>>,
    /// Subgraphs that it runs.
    pub(super) calls: Vec<usize>,
}

impl<'a> Model<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Model<'a>> {
        let root = Flat::new(bytes).root("Model")?;
        let mut budget = Budget::new();
        let mut codes = Vec::new();
        for code in root.vector(field::MODEL_CODES, 4, "OperatorCode")?.tables() {
            let (number, name) = operator_name(&code?)?;
            budget.spend(1 + name.len() as u64 / NAME)?;
            codes.push((number, name));
        }
        let mut filled = Vec::new();
        for buffer in root.vector(field::MODEL_BUFFERS, 4, "Buffer")?.tables() {
            let buffer = buffer?;
            let inside = buffer.vector(field::BUFFER_DATA, 1, "Buffer")?.len;
            let (offset, size) =
                (buffer.u64(field::BUFFER_OFFSET)?, buffer.u64(field::BUFFER_SIZE)?);
            // Offsets 0 and 1 stand for none.
            let outside = offset > 1 && size > 0;
            if outside && offset.checked_add(size).is_none_or(|end| end > bytes.len() as u64) {
                return Err(buffer.fault(FlatFault::Outside { len: size }));
            }
            filled.push(inside > 0 || outside);
        }
        let subgraphs = root.vector(field::MODEL_SUBGRAPHS, 4, "SubGraph")?;
        if subgraphs.len == 0 {
            return Err(root.fault(FlatFault::Missing { field: "subgraphs" }));
        }
        let count = subgraphs.len;
        let mut read = |table: Result<Table<'a>>| {
            budget.spend(1)?;
            Subgraph::read(&table?, &codes, &filled, count, &mut budget)
        };
        let subgraphs = subgraphs.tables().map(&mut read).collect::<Result<_>>()?;
        Ok(Model { root, subgraphs })
    }
}

/// The name of an operator; new codes are in a field of their own, the old one is a byte.
fn operator_name<'a>(code: &Table<'a>) -> Result<(i32, &'a str)> {
    let number = i32::from(code.u8(0)?.cast_signed()).max(code.i32(3)?);
    if number == operators::CUSTOM {
        return Ok((number, code.text(1)?));
    }
    Ok((number, operators::name(number).unwrap_or("UNKNOWN")))
}

impl<'a> Subgraph<'a> {
    fn read(
        table: &Table<'a>,
        codes: &[(i32, &str)],
        filled: &[bool],
        subgraphs: u64,
        budget: &mut Budget,
    ) -> Result<Subgraph<'a>> {
        let mut tensors = Vec::new();
        for tensor in table.vector(0, 4, "Tensor")?.tables() {
            let tensor = Tensor::read(&tensor?, filled)?;
            budget.spend(PART + tensor.shape.len() as u64 + tensor.name.len() as u64 / NAME)?;
            tensors.push(tensor);
        }
        let count = tensors.len();
        let mut operators = Vec::new();
        for operator in table.vector(3, 4, "Operator")?.tables() {
            operators.push(Operator::read(&operator?, codes, count, subgraphs, budget)?);
        }
        let mut all = |vector: Vector<'a>| -> Result<Vec<usize>> {
            budget.spend(vector.len)?;
            vector.i32s().map(|index| index_in("tensor", index?.into(), count, table)).collect()
        };
        let (inputs, outputs) =
            (all(table.vector(1, 4, "SubGraph")?)?, all(table.vector(2, 4, "SubGraph")?)?);
        Ok(Subgraph { tensors, inputs, outputs, operators })
    }
}

fn index_in(what: &'static str, index: i64, len: usize, table: &Table<'_>) -> Result<usize> {
    let found = usize::try_from(index).ok().filter(|&index| index < len);
    found.ok_or_else(|| table.fault(FlatFault::Index { what, index, len: len as u64 }))
}

impl<'a> Tensor<'a> {
    fn read(table: &Table<'a>, filled: &[bool]) -> Result<Tensor<'a>> {
        let axes = table.vector(0, 4, "Tensor")?;
        if axes.len > MAX_AXES {
            return Err(table.fault(FlatFault::Axes { axes: axes.len }));
        }
        let mut shape = Vec::new();
        for dim in axes.i32s() {
            let dim = dim?;
            let fault = || table.fault(FlatFault::NegativeDim { dim });
            shape.push(u64::try_from(dim).map_err(|_| fault())?);
        }
        let code = table.u8(1)?;
        let dtype =
            element_type(code).ok_or_else(|| table.fault(FlatFault::ElementType { code }))?;
        let buffer = table.u32(2)?;
        let held = index_in("buffer", buffer.into(), filled.len().max(1), table)?;
        let outside = table.u32(10)? != 0;
        Ok(Tensor {
            name: table.text(3)?,
            shape,
            dtype,
            buffer: buffer.into(),
            variable: table.u8(5)? != 0,
            constant: outside || filled.get(held).copied().unwrap_or(false),
        })
    }
}

fn element_type(code: u8) -> Option<ElementType> {
    Some(match code {
        0 => ElementType::F32,
        1 => ElementType::F16,
        2 => ElementType::I32,
        3 => ElementType::U8,
        4 => ElementType::I64,
        5 => ElementType::Text,
        6 => ElementType::Bool,
        7 => ElementType::I16,
        8 => ElementType::Complex64,
        9 => ElementType::I8,
        10 => ElementType::F64,
        11 => ElementType::Complex128,
        12 => ElementType::U64,
        13 | 14 => ElementType::Opaque,
        15 => ElementType::U32,
        16 => ElementType::U16,
        17 => ElementType::I4,
        18 => ElementType::Bf16,
        19 => ElementType::I2,
        20 => ElementType::U4,
        21 => ElementType::F8E4M3,
        22 => ElementType::F8E5M2,
        _ => return None,
    })
}

impl Operator {
    fn read(
        table: &Table<'_>,
        codes: &[(i32, &str)],
        tensors: usize,
        subgraphs: u64,
        budget: &mut Budget,
    ) -> Result<Operator> {
        let code = index_in("operator code", table.u32(0)?.into(), codes.len(), table)?;
        let (number, name) = codes.get(code).copied().unwrap_or((-1, ""));
        budget.spend(PART + name.len() as u64 / NAME)?;
        let mut all = |vector: Vector<'_>| -> Result<Vec<Option<usize>>> {
            budget.spend(vector.len)?;
            let each = vector.i32s().map(|index| match index? {
                -1 => Ok(None),
                index => index_in("tensor", index.into(), tensors, table).map(Some),
            });
            each.collect()
        };
        let (inputs, outputs) =
            (all(table.vector(1, 4, "Operator")?)?, all(table.vector(2, 4, "Operator")?)?);
        // Which subgraphs the options of control operators name.
        let fields: &[u16] = match operators::name(number) {
            Some("IF" | "WHILE") => &[0, 1],
            Some("CALL_ONCE") => &[0],
            _ => &[],
        };
        let mut calls = Vec::new();
        if !fields.is_empty() {
            let missing = || table.fault(FlatFault::Missing { field: "builtin_options" });
            let options = table.child(4, "builtin_options")?.ok_or_else(missing)?;
            for &field in fields {
                let index = options.i32(field)?;
                let len = usize::try_from(subgraphs).unwrap_or(usize::MAX);
                calls.push(index_in("subgraph", index.into(), len, table)?);
            }
        }
        Ok(Operator { name: name.to_owned(), inputs, outputs, calls })
    }
}

impl From<&Tensor<'_>> for crate::Kind {
    fn from(tensor: &Tensor<'_>) -> crate::Kind {
        match (tensor.variable, tensor.constant) {
            (true, _) => crate::Kind::Variable,
            (false, true) => crate::Kind::Constant,
            (false, false) => crate::Kind::Activation,
        }
    }
}

/// The size of a tensor, or that it is too large.
pub(super) fn bytes_of(tensor: &Tensor<'_>) -> Result<u64> {
    let too_large =
        || Error::TooLarge { tensor: tensor.name.to_owned(), shape: tensor.shape.clone() };
    tensor.dtype.bytes(&tensor.shape).ok_or_else(too_large)
}
