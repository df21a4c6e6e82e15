//! Numbers that are known before the model runs: shapes computed from shapes.
//!
//! Called after the shape rule, with the output's type and shape; `None` means that the numbers
//! are not followed, never that something is wrong.

use super::fact::{Fact, MAX_VALUES, Values};
use super::op::{Op, axis};
use super::shapes;
use crate::ElementType;

/// The numbers of a node's first output, if they follow from those of its inputs.
pub(crate) fn fold(op: &Op<'_, '_>, output: &Fact) -> Option<Values> {
    let count = output.few()?;
    let name = op.node.op;
    let folded = match name {
        "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => known(op, 0).cloned(),
        "Cast" | "CastLike" => Some(cast(known(op, 0)?, output.dtype)),
        "ConstantOfShape" => constant_of_shape(op, output.dtype, count),
        "Concat" => concat(op, output),
        "Gather" => gather(op, count),
        "Slice" | "Transpose" | "Expand" => moved(op, output, count),
        "Range" => range(op, output.dtype, count),
        "NonZero" => non_zero(op),
        "Where" => chosen(op, output),
        "ReduceProd" | "ReduceSum" | "ReduceMin" | "ReduceMax" => reduced(op, count),
        "Floor" | "Ceil" | "Neg" | "Abs" | "Round" | "Sqrt" | "Not" => unary(op),
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Min" | "Max" | "Pow" | "And" | "Or" | "Equal"
        | "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" => binary(op, output),
        _ => None,
    }?;
    let folded = if output.dtype == ElementType::F32 { single(folded) } else { folded };
    (folded.len() == count).then_some(folded)
}

/// Single precision is what the model would compute with.
fn single(values: Values) -> Values {
    match values {
        Values::Floats(floats) => {
            Values::Floats(floats.iter().map(|&float| f64::from(float as f32)).collect())
        }
        ints => ints,
    }
}

fn known<'o>(op: &Op<'o, '_>, index: usize) -> Option<&'o Values> {
    op.optional(index)?.values.as_ref()
}

fn cast(values: &Values, to: ElementType) -> Values {
    match (values, to) {
        (Values::Floats(floats), ElementType::Bool) => {
            Values::Ints(floats.iter().map(|&float| i64::from(float != 0.0)).collect())
        }
        (Values::Ints(ints), ElementType::Bool) => {
            Values::Ints(ints.iter().map(|&int| i64::from(int != 0)).collect())
        }
        (Values::Floats(floats), _) if to.is_integer() => {
            Values::Ints(floats.iter().map(|&float| float as i64).collect())
        }
        (Values::Ints(ints), _) if !to.is_integer() => {
            Values::Floats(ints.iter().map(|&int| int as f64).collect())
        }
        _ => values.clone(),
    }
}

fn constant_of_shape(op: &Op<'_, '_>, dtype: ElementType, count: usize) -> Option<Values> {
    let value = match op.tensor("value").ok()? {
        Some(tensor) => Fact::of_tensor(&tensor).ok()?.values?,
        None if dtype.is_integer() => Values::Ints([0].into()),
        None => Values::Floats([0.0].into()),
    };
    value.pick(&vec![0; count])
}

/// The index along each axis of the element at a position.
fn index_of(mut position: usize, shape: &[u64]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&dim| {
            let dim = (dim as usize).max(1);
            let along = position % dim;
            position /= dim;
            along
        })
        .collect();
    index.reverse();
    index
}

/// The position of an element; axes of length 1 stretch. The index may have more axes in front.
fn position_of(index: &[usize], shape: &[u64]) -> Option<usize> {
    let skip = index.len().checked_sub(shape.len())?;
    index.iter().skip(skip).zip(shape).try_fold(0usize, |position, (&along, &dim)| {
        let along = if dim == 1 { 0 } else { along };
        position.checked_mul(usize::try_from(dim).ok()?)?.checked_add(along)
    })
}

/// For each element of the output, the position in an input that is stretched to it.
fn stretched(input: &Fact, output: &Fact) -> Option<Vec<usize>> {
    let count = output.few()?;
    if input.shape == output.shape {
        return Some((0..count).collect());
    }
    (0..count).map(|at| position_of(&index_of(at, &output.shape), &input.shape)).collect()
}

fn concat(op: &Op<'_, '_>, output: &Fact) -> Option<Values> {
    let at = axis(op.int("axis", 0).ok()?, output.rank()).ok()?;
    if output.few()? == 0 {
        return Some(Values::Ints([].into()));
    }
    // Blocks of each input per step of the axes before; no axis is empty, and all are few.
    let before: u64 = output.shape.iter().take(at).product();
    let parts: Vec<&Fact> = op.inputs.iter().copied().collect::<Option<_>>()?;
    let mut ints = Vec::new();
    let mut floats = Vec::new();
    for step in 0..before as usize {
        for part in &parts {
            let size = part.few()? / (before as usize).max(1);
            let range = step * size..(step + 1) * size;
            match part.values.as_ref()? {
                Values::Ints(list) => ints.extend_from_slice(list.get(range)?),
                Values::Floats(list) => floats.extend_from_slice(list.get(range)?),
            }
        }
    }
    match (ints.is_empty(), floats.is_empty()) {
        (_, true) => Some(Values::Ints(ints.into())),
        (true, false) => Some(Values::Floats(floats.into())),
        _ => None,
    }
}

fn gather(op: &Op<'_, '_>, count: usize) -> Option<Values> {
    let (data, indices) = (op.optional(0)?, op.optional(1)?.as_ints()?);
    let values = data.values.as_ref()?;
    let at = axis(op.int("axis", 0).ok()?, data.rank()).ok()?;
    if count == 0 || data.few()? == 0 {
        return None;
    }
    let along = usize::try_from(*data.shape.get(at)?).ok()?;
    let after: u64 = data.shape.iter().skip(at + 1).product();
    let (after, many) = (after as usize, indices.len());
    let positions = (0..count).map(|position| {
        let (outer, rest) = (position / (many * after), position % (many * after));
        let index = axis(*indices.get(rest / after)?, along).ok()?;
        Some((outer * along + index) * after + rest % after)
    });
    values.pick(&positions.collect::<Option<Vec<_>>>()?)
}

/// From the index of an output element to that of the input element it shows.
type Places = dyn Fn(&[usize]) -> Option<Vec<usize>>;

/// Operators whose output elements are input elements at other places.
fn moved(op: &Op<'_, '_>, output: &Fact, count: usize) -> Option<Values> {
    let input = op.optional(0)?;
    let values = input.values.as_ref()?;
    if op.node.op == "Expand" {
        return values.pick(&stretched(input, output)?);
    }
    let map: Box<Places> = if op.node.op == "Slice" {
        let cuts = shapes::cuts(op).ok()?;
        Box::new(move |index| {
            let places = index
                .iter()
                .zip(&cuts)
                .map(|(&along, cut)| usize::try_from(cut.start + along as i128 * cut.step).ok());
            places.collect()
        })
    } else {
        let order = shapes::order(op, input.rank()).ok()?;
        Box::new(move |index| {
            let mut place = vec![0; index.len()];
            for (&along, &axis) in index.iter().zip(&order) {
                *place.get_mut(axis)? = along;
            }
            Some(place)
        })
    };
    let positions = (0..count)
        .map(|position| position_of(&map(&index_of(position, &output.shape))?, &input.shape));
    values.pick(&positions.collect::<Option<Vec<_>>>()?)
}

fn range(op: &Op<'_, '_>, dtype: ElementType, count: usize) -> Option<Values> {
    let first = |index: usize| op.optional(index)?.to_floats()?.first().copied();
    if dtype.is_integer() {
        let int = |index: usize| op.optional(index)?.as_ints()?.first().copied();
        let (start, step) = (int(0)?, int(2)?);
        let at = |index: usize| start.checked_add(step.checked_mul(index as i64)?);
        return Some(Values::Ints((0..count).map(at).collect::<Option<_>>()?));
    }
    let (start, step) = (first(0)?, first(2)?);
    Some(Values::Floats((0..count).map(|index| start + step * index as f64).collect()))
}

fn non_zero(op: &Op<'_, '_>) -> Option<Values> {
    let input = op.optional(0)?;
    let list = input.to_floats()?;
    let places: Vec<Vec<usize>> = list
        .iter()
        .enumerate()
        .filter(|&(_, &value)| value != 0.0)
        .map(|(position, _)| index_of(position, &input.shape))
        .collect();
    if places.len() * input.rank().max(1) > MAX_VALUES {
        return None;
    }
    let axes = 0..input.rank();
    let along = |axis: usize| places.iter().filter_map(move |place| place.get(axis));
    Some(Values::Ints(axes.flat_map(along).map(|&place| place as i64).collect()))
}

fn chosen(op: &Op<'_, '_>, output: &Fact) -> Option<Values> {
    let condition = op.optional(0)?;
    let picks = stretched(condition, output)?;
    let (yes, no) = (op.optional(1)?, op.optional(2)?);
    let (yes_at, no_at) = (stretched(yes, output)?, stretched(no, output)?);
    let flags = condition.as_ints()?;
    let each = picks.iter().zip(yes_at.iter().zip(&no_at));
    match (yes.values.as_ref()?, no.values.as_ref()?) {
        (Values::Ints(yes), Values::Ints(no)) => {
            let pick = |(&flag, (&yes_at, &no_at)): (&usize, (&usize, &usize))| {
                if *flags.get(flag)? != 0 { yes.get(yes_at) } else { no.get(no_at) }.copied()
            };
            Some(Values::Ints(each.map(pick).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

/// Over all elements, when all are reduced to one.
fn reduced(op: &Op<'_, '_>, count: usize) -> Option<Values> {
    let ints = op.optional(0)?.as_ints()?;
    if count != 1 || ints.is_empty() {
        return None;
    }
    let step = |left: i64, right: i64| match op.node.op {
        "ReduceProd" => left.checked_mul(right),
        "ReduceSum" => left.checked_add(right),
        "ReduceMin" => Some(left.min(right)),
        _ => Some(left.max(right)),
    };
    let (first, rest) = ints.split_first()?;
    let all = rest.iter().try_fold(*first, |left, &right| step(left, right))?;
    Some(Values::Ints([all].into()))
}

fn unary(op: &Op<'_, '_>) -> Option<Values> {
    let name = op.node.op;
    Some(match known(op, 0)? {
        Values::Ints(ints) => {
            let each = |&int: &i64| match name {
                "Neg" => int.checked_neg(),
                "Abs" => int.checked_abs(),
                "Not" => Some(i64::from(int == 0)),
                _ => None,
            };
            Values::Ints(ints.iter().map(each).collect::<Option<_>>()?)
        }
        Values::Floats(floats) => {
            let each = |&float: &f64| match name {
                "Floor" => Some(float.floor()),
                "Ceil" => Some(float.ceil()),
                "Neg" => Some(-float),
                "Abs" => Some(float.abs()),
                "Round" => Some(float.round_ties_even()),
                "Sqrt" => Some(float.sqrt()),
                _ => None,
            };
            Values::Floats(floats.iter().map(each).collect::<Option<_>>()?)
        }
    })
}

fn binary(op: &Op<'_, '_>, output: &Fact) -> Option<Values> {
    let name = op.node.op;
    let (left, right) = (op.optional(0)?, op.optional(1)?);
    if op.inputs.len() != 2 {
        return None;
    }
    let (left_at, right_at) = (stretched(left, output)?, stretched(right, output)?);
    let (left, right) = (left.values.as_ref()?, right.values.as_ref()?);
    match (left.pick(&left_at)?, right.pick(&right_at)?) {
        (Values::Ints(left), Values::Ints(right)) => {
            let fmod = op.flag("fmod").ok()?;
            let each = left.iter().zip(right.iter()).map(|(&l, &r)| int_pair(name, l, r, fmod));
            Some(Values::Ints(each.collect::<Option<_>>()?))
        }
        (Values::Floats(left), Values::Floats(right)) => {
            let each = left.iter().zip(right.iter());
            if output.dtype == ElementType::Bool {
                let each = each.map(|(&l, &r)| float_test(name, l, r));
                return Some(Values::Ints(each.collect::<Option<_>>()?));
            }
            let each = each.map(|(&l, &r)| float_pair(name, l, r));
            Some(Values::Floats(each.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn int_pair(name: &str, left: i64, right: i64, fmod: bool) -> Option<i64> {
    match name {
        "Add" => left.checked_add(right),
        "Sub" => left.checked_sub(right),
        "Mul" => left.checked_mul(right),
        "Div" => left.checked_div(right),
        "Mod" if fmod => left.checked_rem(right),
        // The sign of the divisor.
        "Mod" => {
            let rest = left.checked_rem(right)?;
            Some(if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest })
        }
        "Min" => Some(left.min(right)),
        "Max" => Some(left.max(right)),
        "Pow" => left.checked_pow(u32::try_from(right).ok()?),
        "And" => Some(i64::from(left != 0 && right != 0)),
        "Or" => Some(i64::from(left != 0 || right != 0)),
        "Equal" => Some(i64::from(left == right)),
        "Less" => Some(i64::from(left < right)),
        "Greater" => Some(i64::from(left > right)),
        "LessOrEqual" => Some(i64::from(left <= right)),
        "GreaterOrEqual" => Some(i64::from(left >= right)),
        _ => None,
    }
}

fn float_test(name: &str, left: f64, right: f64) -> Option<i64> {
    Some(i64::from(match name {
        "Equal" => left == right,
        "Less" => left < right,
        "Greater" => left > right,
        "LessOrEqual" => left <= right,
        "GreaterOrEqual" => left >= right,
        _ => return None,
    }))
}

fn float_pair(name: &str, left: f64, right: f64) -> Option<f64> {
    Some(match name {
        "Add" => left + right,
        "Sub" => left - right,
        "Mul" => left * right,
        "Div" => left / right,
        "Min" => left.min(right),
        "Max" => left.max(right),
        "Pow" => left.powf(right),
        _ => return None,
    })
}
