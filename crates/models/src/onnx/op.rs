//! One node as a shape rule sees it: inputs with what is known of them, and typed attributes.

use std::borrow::Cow;

use super::error::ShapeIssue;
use super::fact::Fact;
use super::proto::{AttributeProto, MAX_AXES, NodeProto, TensorProto};
use crate::{ElementType, Error};

/// The most numbers or words in an attribute that are read.
const MAX_LIST: usize = 1024;

/// Result of a shape rule.
pub(crate) type Ruling<T = Vec<Fact>> = Result<T, ShapeIssue>;

/// A node and what is known of its inputs.
pub(crate) struct Op<'o, 'a> {
    pub(crate) node: &'o NodeProto<'a>,
    /// Version of the operator set of the node's domain.
    pub(crate) version: u64,
    pub(crate) inputs: Vec<Option<&'o Fact>>,
    /// Attributes of the call, if the node is in the body of a function.
    pub(crate) outer: &'o [AttributeProto<'a>],
}

impl From<Error> for ShapeIssue {
    fn from(error: Error) -> ShapeIssue {
        match error {
            Error::Wire { offset, fault } => ShapeIssue::Wire { offset, fault },
            _ => ShapeIssue::Operator,
        }
    }
}

impl<'o, 'a> Op<'o, 'a> {
    /// An input that must be there.
    pub(crate) fn input(&self, index: usize) -> Ruling<&'o Fact> {
        self.optional(index).ok_or(ShapeIssue::MissingInput { input: index })
    }

    pub(crate) fn optional(&self, index: usize) -> Option<&'o Fact> {
        self.inputs.get(index).copied().flatten()
    }

    pub(crate) fn dtype(&self, index: usize) -> Ruling<ElementType> {
        Ok(self.input(index)?.dtype)
    }

    pub(crate) fn shape(&self, index: usize) -> Ruling<&'o [u64]> {
        Ok(&self.input(index)?.shape)
    }

    /// The dimension of an input along an axis.
    pub(crate) fn dim(&self, index: usize, axis: usize) -> Ruling<u64> {
        let shape = self.shape(index)?;
        let issue =
            || ShapeIssue::Rank { input: index, shape: shape.to_vec(), wanted: "more axes" };
        shape.get(axis).copied().ok_or_else(issue)
    }

    /// An input of exactly, or at least, so many axes.
    pub(crate) fn ranked(
        &self,
        index: usize,
        fits: impl Fn(usize) -> bool,
        wanted: &'static str,
    ) -> Ruling<&'o [u64]> {
        let shape = self.shape(index)?;
        if fits(shape.len()) {
            return Ok(shape);
        }
        Err(ShapeIssue::Rank { input: index, shape: shape.to_vec(), wanted })
    }

    /// The integers of an input, which must be known.
    pub(crate) fn values(&self, index: usize) -> Ruling<&'o [i64]> {
        self.input(index)?.as_ints().ok_or(ShapeIssue::Values { input: index })
    }

    /// The one integer of an input.
    pub(crate) fn value(&self, index: usize) -> Ruling<i64> {
        self.values(index)?.first().copied().ok_or(ShapeIssue::Values { input: index })
    }

    fn attribute(&self, name: &str) -> Option<AttributeProto<'a>> {
        let find = |list: &[AttributeProto<'a>], name: &str| {
            list.iter().find(|attribute| attribute.name == name).copied()
        };
        let found = find(&self.node.attributes, name)?;
        if found.refers.is_empty() { Some(found) } else { find(self.outer, found.refers) }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    pub(crate) fn maybe_int(&self, name: &'static str) -> Ruling<Option<i64>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let mut found = 0;
        for field in attribute.body.fields() {
            let field = field?;
            if field.number == 3 {
                found = field.signed()?;
            }
        }
        Ok(Some(found))
    }

    pub(crate) fn int(&self, name: &'static str, default: i64) -> Ruling<i64> {
        Ok(self.maybe_int(name)?.unwrap_or(default))
    }

    pub(crate) fn flag(&self, name: &'static str) -> Ruling<bool> {
        Ok(self.int(name, 0)? != 0)
    }

    pub(crate) fn need_int(&self, name: &'static str) -> Ruling<i64> {
        self.maybe_int(name)?.ok_or(ShapeIssue::MissingAttribute { name })
    }

    pub(crate) fn maybe_float(&self, name: &'static str) -> Ruling<Option<f32>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let mut found = 0.0;
        for field in attribute.body.fields() {
            let field = field?;
            if field.number == 2 {
                found = field.float()?;
            }
        }
        Ok(Some(found))
    }

    pub(crate) fn ints(&self, name: &str) -> Ruling<Option<Vec<i64>>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let mut found = Vec::new();
        for field in attribute.body.fields() {
            let field = field?;
            if field.number == 8 {
                field.append_signed(MAX_LIST, &mut found)?;
            }
        }
        Ok(Some(found))
    }

    pub(crate) fn floats(&self, name: &str) -> Ruling<Option<Vec<f64>>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let mut found = Vec::new();
        for field in attribute.body.fields() {
            let field = field?;
            if field.number == 7 {
                field.append_floats(MAX_LIST, &mut found)?;
            }
        }
        Ok(Some(found))
    }

    /// How many strings a list attribute has.
    pub(crate) fn words(&self, name: &str) -> Ruling<Option<u64>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let mut found = 0;
        for field in attribute.body.fields() {
            found += u64::from(field?.number == 9);
        }
        Ok(Some(found))
    }

    /// A string attribute; bytes that are not UTF-8 are replaced.
    pub(crate) fn word(&self, name: &'static str) -> Ruling<Option<Cow<'a, str>>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let mut found = Cow::Borrowed("");
        for field in attribute.body.fields() {
            let field = field?;
            if field.number == 4 {
                let bytes = field.message()?.bytes();
                let bytes = bytes.get(..MAX_LIST).unwrap_or(bytes);
                found = String::from_utf8_lossy(bytes);
            }
        }
        Ok(Some(found))
    }

    /// A tensor attribute (field 5), or the values of a sparse one (field 22).
    pub(crate) fn tensor(&self, name: &str) -> Ruling<Option<TensorProto<'a>>> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        for field in attribute.body.fields() {
            let field = field?;
            match field.number {
                5 => return Ok(Some(TensorProto::read(field.message()?)?)),
                22 => return Ok(Some(TensorProto::read_sparse(field.message()?)?)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// An attribute that holds a type: `to`, `dtype`.
    pub(crate) fn element_type(&self, name: &'static str) -> Ruling<Option<ElementType>> {
        let Some(found) = self.maybe_int(name)? else { return Ok(None) };
        let wanted = "an element type of ONNX";
        let code = u64::try_from(found).ok().and_then(ElementType::from_onnx);
        code.map(Some).ok_or(ShapeIssue::Attribute { name, found, wanted })
    }

    /// As [`Op::element_type`]; 0 is as good as none.
    pub(crate) fn element_type_or_none(&self, name: &'static str) -> Ruling<Option<ElementType>> {
        if self.maybe_int(name)? == Some(0) { Ok(None) } else { self.element_type(name) }
    }

    /// Axes from an attribute, or from an input in later versions.
    pub(crate) fn list(&self, name: &'static str, input: usize) -> Ruling<Option<Vec<i64>>> {
        match self.optional(input) {
            Some(_) => self.values(input).map(|list| Some(list.to_vec())),
            None => self.ints(name),
        }
    }
}

/// An axis counted from the start.
pub(crate) fn axis(axis: i64, rank: usize) -> Ruling<usize> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let found = from_start.and_then(|axis| usize::try_from(axis).ok());
    found.filter(|&found| found < rank).ok_or(ShapeIssue::Axis { axis, rank })
}

/// Which axes are in the list.
pub(crate) fn axes(list: &[i64], rank: usize) -> Ruling<Vec<bool>> {
    let mut marked = vec![false; rank];
    for &given in list {
        if let Some(mark) = marked.get_mut(axis(given, rank)?) {
            *mark = true;
        }
    }
    Ok(marked)
}

/// A dimension computed with signs.
pub(crate) fn dim(what: &'static str, value: i128) -> Ruling<u64> {
    u64::try_from(value).map_err(|_| ShapeIssue::Length { what, value })
}

/// Dimensions from integers that must not be negative.
pub(crate) fn dims(what: &'static str, values: &[i64]) -> Ruling<Vec<u64>> {
    values.iter().map(|&value| dim(what, value.into())).collect()
}

/// The product of dimensions.
pub(crate) fn product(shape: &[u64]) -> Ruling<u64> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim));
    product.ok_or(ShapeIssue::Length { what: "the number of elements", value: i128::MAX })
}

/// The shape that both are stretched to.
pub(crate) fn broadcast(left: &[u64], right: &[u64]) -> Ruling<Vec<u64>> {
    let rank = left.len().max(right.len());
    let at = |shape: &[u64], axis: usize| {
        (axis + shape.len())
            .checked_sub(rank)
            .and_then(|axis| shape.get(axis).copied())
            .unwrap_or(1)
    };
    let both = |axis| match (at(left, axis), at(right, axis)) {
        (left, right) if left == right => Some(left),
        (1, other) | (other, 1) => Some(other),
        _ => None,
    };
    let issue = || ShapeIssue::Broadcast { left: left.to_vec(), right: right.to_vec() };
    (0..rank).map(both).collect::<Option<Vec<u64>>>().ok_or_else(issue)
}

/// Checks what a rule made before it is believed.
pub(crate) fn check_rank(fact: &Fact) -> Ruling<()> {
    if fact.rank() > MAX_AXES {
        return Err(ShapeIssue::TooManyAxes { rank: fact.rank(), most: MAX_AXES });
    }
    Ok(())
}
