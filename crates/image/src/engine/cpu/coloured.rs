//! Red, green and blue as numbers with a point: the colour matrix and the scale are one step then,
//! in floating point. In fixed point the matrix alone would cost a tenth of a code.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use crate::engine::cpu::finish::Ending;
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Coloured;
use crate::engine::cpu::prepare::Tile;
use crate::engine::cpu::strip::{Strip, parts};

impl Strip<'_> {
    /// Stores a row, if it is to be stored so.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn store_coloured_row(
        &self,
        ending: &Ending,
        tile: &Tile,
        row: usize,
        numbers: &[i16],
    ) -> bool {
        let (Some((mixture, real)), Some((first, strides))) = (&self.pass.mixture, &ending.out)
        else {
            return false;
        };
        let pixels = tile.outputs.len();
        let coloured = Coloured {
            from: ending.parts(numbers, pixels),
            mixture,
            pixels,
            around: ending.around,
        };
        let out = first.down(row, *strides);
        // SAFETY: the content rectangle is inside the destination, which is held to write.
        unsafe {
            (self.kernels.store_coloured)(coloured, *real, out);
            self.store_opaque(pixels, (self.pass.left + tile.outputs.start, row), numbers);
        }
        true
    }

    /// Stores a band, turned back to rows, or its columns as rows of a turned picture, if it is to
    /// be stored so.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn store_coloured_band(
        &self,
        tile: &Tile,
        rows: &Range<usize>,
        numbers: &mut [i16],
    ) -> bool {
        let (pass, n) = (self.pass, tile.outputs.len());
        if pass.mixture.is_none() {
            return false;
        }
        let inputs = self.inputs();
        if self.transposed {
            for (at, output) in tile.outputs.clone().enumerate() {
                let column = |start: usize| &numbers[start + at * LANES..][..LANES];
                let from = self.before_matrix().map(column);
                let at = (pass.left + rows.start, output);
                // SAFETY: the caller's promise.
                unsafe {
                    self.store_coloured(from, rows.len(), at);
                    self.store_opaque(rows.len(), at, numbers);
                }
            }
            return true;
        }
        for (index, &component) in inputs.iter().enumerate() {
            if inputs[..index].contains(&component) {
                continue;
            }
            let (start, back) = (self.plain(component), pass.scratch.finished[component]);
            let [columns, back_of] = parts(numbers, [start..start + n * LANES, back.all()]);
            // SAFETY: the kernels are those of this processor.
            unsafe { (self.kernels.to_rows)(columns, back.stride, back_of) };
        }
        for row in 0..rows.len() {
            let from = inputs.map(|index| &numbers[pass.scratch.finished[index].row(row, n)]);
            let at = (pass.left + tile.outputs.start, rows.start + row);
            // SAFETY: the caller's promise.
            unsafe {
                self.store_coloured(from, n, at);
                self.store_opaque(n, at, numbers);
            }
        }
        true
    }

    /// Stores `pixels` pixels of rows from column `left` of the destination and row `row` of the
    /// picture on.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_coloured(&self, from: [&[i16]; 3], pixels: usize, (left, row): (usize, usize)) {
        let Some((mixture, real)) = &self.pass.mixture else { return };
        let Some((out, _)) = self.out(left, row) else { return };
        let coloured = Coloured { from, mixture, pixels, around: self.goes_around() };
        // SAFETY: the content rectangle is inside the destination, which is held to write.
        unsafe { (self.kernels.store_coloured)(coloured, *real, out) };
    }

    /// Stores opaque alpha, if it has a plane of its own.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_opaque(&self, pixels: usize, (left, row): (usize, usize), numbers: &[i16]) {
        let [_, _, _, alpha] = &self.pass.stores[..] else { return };
        let opaque = &numbers[self.pass.scratch.opaque.clone()][..pixels];
        // SAFETY: the caller's promise.
        unsafe { self.store(alpha, |_| opaque, pixels, (left, self.pass.top + row)) };
    }
}
