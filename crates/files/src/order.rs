//! The order of the bytes of an element: what a file has, and what this machine computes with.

pub(crate) use tenure_layout::order::reverse;
use tenure_tensor::DType;

/// Which byte of an element comes first in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The least significant: safetensors and GGUF have no other.
    Little,
    /// The most significant.
    Big,
}

impl Order {
    /// That of this machine.
    pub(crate) const NATIVE: Order =
        if cfg!(target_endian = "little") { Order::Little } else { Order::Big };

    /// Bytes of an element that must be reversed between a file of this order and memory: the
    /// size of a number, of which a complex element is two, or 1 if they are right as they are.
    pub(crate) fn reversed(self, dtype: DType) -> usize {
        if self == Order::NATIVE { 1 } else { dtype.align() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_order_is_this_machine() {
        let (low, number) = (Order::Little.reversed(DType::U32), 0x0102_0304u32);
        let mut bytes = number.to_le_bytes();
        reverse(&mut bytes, low);
        assert_eq!(u32::from_ne_bytes(bytes), number);
        let mut bytes = number.to_be_bytes();
        reverse(&mut bytes, Order::Big.reversed(DType::U32));
        assert_eq!(u32::from_ne_bytes(bytes), number);
        // The real part stays the first.
        let other = if Order::NATIVE == Order::Little { Order::Big } else { Order::Little };
        assert_eq!(other.reversed(DType::Complex64), 4);
        assert_eq!(other.reversed(DType::Complex128), 8);
        for order in [Order::Little, Order::Big] {
            for dtype in [DType::U8, DType::Bool, DType::U4, DType::F8E5M2] {
                assert_eq!(order.reversed(dtype), 1);
            }
        }
    }
}
