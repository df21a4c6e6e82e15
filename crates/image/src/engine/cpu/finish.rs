//! From resized rows or columns through the colour matrix to the destination's bytes.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::{Columns, Finished, Out};
use crate::engine::cpu::prepare::{How, Store, Tile};
use crate::engine::cpu::strip::{Strip, parts};
use crate::held::PlaneAddress;

/// Bytes of a destination that no cache has room for, beside all that others keep there.
const LARGE: usize = 24 << 20;

/// Where the rows of a tile come from and go to.
pub(super) struct Ending {
    /// Where the three components are before the colour matrix.
    from: [usize; 3],
    /// Where red, green and blue of the first row are stored, and bytes from one row to the next.
    pub(super) out: Option<(Out, [usize; 3])>,
    flip: u8,
    /// Whether rows are stored around the caches.
    pub(super) around: bool,
}

impl Ending {
    /// A row's part of the numbers of each component.
    pub(super) fn parts<'n>(&self, numbers: &'n [i16], pixels: usize) -> [&'n [i16]; 3] {
        let part = |start: usize| &numbers[start..][..pixels];
        let [a, b, c] = self.from;
        [part(a), part(b), part(c)]
    }
}

impl Strip<'_> {
    /// Where the numbers of a component are before the colour matrix.
    pub(super) fn plain(&self, component: usize) -> usize {
        let scratch = &self.pass.scratch;
        let regular = self.pass.regular.as_ref().and_then(|all| all.get(component));
        let resized = matches!(regular, Some(Some(_))) || self.pass.gathered.is_some();
        match (self.pass.along.get(component), self.pass.straight) {
            (Some(Some(_)), true) if resized => scratch.resized[component].start,
            (Some(Some(_)), true) => scratch.rows[component].start + scratch.skip[component],
            (Some(Some(_)), false) => scratch.resized[component].start,
            _ => scratch.opaque.start,
        }
    }

    /// The first three components, or others for those that the colour matrix ignores.
    pub(super) fn inputs(&self) -> [usize; 3] {
        let used = |component: usize| matches!(self.pass.along.get(component), Some(Some(_)));
        let any = (0..3).find(|&component| used(component)).unwrap_or(0);
        [0, 1, 2].map(|component| if used(component) { component } else { any })
    }

    /// Where the numbers of these are before the matrix.
    pub(super) fn before_matrix(&self) -> [usize; 3] {
        self.inputs().map(|component| self.plain(component))
    }

    /// `n` numbers of each component through the colour matrix.
    pub(super) fn colour(&self, n: usize, numbers: &mut [i16]) {
        let Some(matrix) = &self.pass.matrix else { return };
        let colours = &self.pass.scratch.colours;
        let (before, after) = numbers.split_at_mut(colours[0].start);
        let from = self.before_matrix().map(|start| &before[start..][..n]);
        let own = |range: &Range<usize>| {
            let start = range.start - colours[0].start;
            start..start + n
        };
        let to = parts(after, [own(&colours[0]), own(&colours[1]), own(&colours[2])]);
        // SAFETY: the kernels are those of this processor.
        unsafe { (self.kernels.matrix)(matrix, from, to) }
    }

    /// Where the finished numbers of a component are.
    fn finished(&self, component: usize) -> usize {
        let colours = &self.pass.scratch.colours;
        match (&self.pass.matrix, colours.get(component)) {
            (Some(_), Some(range)) => range.start,
            _ => self.plain(component),
        }
    }

    /// Whether a component is the same everywhere: alpha that the source does not have.
    fn is_opaque(&self, component: usize) -> bool {
        self.finished(component) == self.pass.scratch.opaque.start
    }

    /// What is the same for all rows of a tile: to find it anew for each would take a tenth of the
    /// time of small pictures.
    pub(super) fn ending(&self, tile: &Tile) -> Ending {
        let out = self.out(self.pass.left + tile.outputs.start, 0);
        Ending {
            from: self.before_matrix(),
            out,
            flip: self.pass.flip(),
            around: self.goes_around(),
        }
    }

    /// Whether what is stored may go around the caches, which have no room for it.
    pub(super) fn goes_around(&self) -> bool {
        let bytes = |plane: &PlaneAddress| plane.rows() * plane.row_bytes();
        self.target.iter().map(bytes).sum::<usize>() >= LARGE
    }

    /// Puts a row through the matrix and stores it.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn finish_row(
        &self,
        ending: &Ending,
        tile: &Tile,
        row: usize,
        numbers: &mut [i16],
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if !self.store_rgb(ending, tile, row, numbers)
                && !self.store_coloured_row(ending, tile, row, numbers)
            {
                self.colour(tile.outputs.len(), numbers);
                self.store_row(tile, row, numbers);
            }
        }
    }

    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_row(&self, tile: &Tile, row: usize, numbers: &[i16]) {
        for store in &self.pass.stores {
            let n = tile.outputs.len();
            let row_of = |index: usize| &numbers[self.finished(index)..][..n];
            let at = (self.pass.left + tile.outputs.start, self.pass.top + row);
            // SAFETY: the caller's promise.
            unsafe { self.store(store, row_of, n, at) };
        }
    }

    /// Puts a row through the matrix and stores it by one kernel, where there is one for it.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_rgb(&self, ending: &Ending, tile: &Tile, row: usize, numbers: &[i16]) -> bool {
        let (pass, pixels) = (self.pass, tile.outputs.len());
        let Some((first, strides)) = &ending.out else { return false };
        let kernel = self.kernels.store_rgb.filter(|_| pass.rgb_bytes && pixels >= 2 * LANES);
        let Some(kernel) = kernel else { return false };
        let columns = Columns {
            from: ending.parts(numbers, pixels),
            matrix: pass.matrix.as_ref(),
            fraction: pass.fraction,
            flip: ending.flip,
            rows: 1,
            pixels,
            goes_on: false,
        };
        // SAFETY: the content rectangle is inside the destination, which is held to write.
        unsafe { kernel(columns, first.down(row, *strides)) };
        true
    }

    /// Stores a band by one kernel, where there is one for it.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_columns(&self, tile: &Tile, rows: &Range<usize>, numbers: &[i16]) -> bool {
        let (pass, pixels) = (self.pass, tile.outputs.len());
        let (kernel, place) = if self.transposed {
            (self.kernels.store_turned, (pass.left + rows.start, tile.outputs.start))
        } else {
            let wide = pixels >= LANES;
            let kernel = self.kernels.store_columns.filter(|_| wide);
            (kernel, (pass.left + tile.outputs.start, rows.start))
        };
        let Some(kernel) = kernel.filter(|_| pass.rgb_bytes) else { return false };
        let Some((out, strides)) = self.out(place.0, place.1) else { return false };
        let columns = Columns {
            from: self.before_matrix().map(|start| &numbers[start..][..pixels * LANES]),
            matrix: pass.matrix.as_ref(),
            fraction: pass.fraction,
            flip: pass.flip(),
            rows: rows.len(),
            pixels,
            goes_on: self.goes_on(rows),
        };
        // SAFETY: the content rectangle is inside the destination, which is held to write.
        unsafe { kernel(columns, out, strides) };
        true
    }

    /// Where bytes of red, green and blue go from column `left` of the destination and row `row`
    /// of the picture on, and bytes from one row to the next.
    pub(super) fn out(&self, left: usize, row: usize) -> Option<(Out, [usize; 3])> {
        let place = |store: &Store| {
            let plane = self.target.get(store.plane)?;
            let x = left * store.order.len() * store.element;
            Some((plane.row(self.pass.top + row).wrapping_add(x), plane.stride()))
        };
        match &self.pass.stores[..] {
            [one] => {
                let ((at, stride), blue_first) = (place(one)?, one.order.first() == Some(&2));
                Some((Out::Packed { at, blue_first }, [stride; 3]))
            }
            // Of a fourth plane nothing is said.
            [a, b, c] | [a, b, c, _] => {
                let [a, b, c] = [place(a)?, place(b)?, place(c)?];
                Some((Out::Planes([a.0, b.0, c.0]), [a.1, b.1, c.1]))
            }
            _ => None,
        }
    }

    /// Puts a band through the matrix and stores it.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn finish_band(&self, tile: &Tile, rows: &Range<usize>, numbers: &mut [i16]) {
        // SAFETY: the caller's promise.
        unsafe {
            if !self.store_columns(tile, rows, numbers)
                && !self.store_coloured_band(tile, rows, numbers)
            {
                self.colour(tile.outputs.len() * LANES, numbers);
                self.store_band(tile, rows, numbers);
            }
        }
    }

    /// Stores a band: turned back to rows, or its columns as rows of a turned picture.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_band(&self, tile: &Tile, rows: &Range<usize>, numbers: &mut [i16]) {
        let (pass, n) = (self.pass, tile.outputs.len());
        if self.transposed {
            for (at, output) in tile.outputs.clone().enumerate() {
                for store in &pass.stores {
                    let column = |index: usize| {
                        let at = if self.is_opaque(index) { 0 } else { at * LANES };
                        &numbers[self.finished(index) + at..][..LANES]
                    };
                    let at = (pass.left + rows.start, pass.top + output);
                    // SAFETY: the caller's promise.
                    unsafe { self.store(store, column, rows.len(), at) };
                }
            }
            return;
        }
        for &component in pass.stores.iter().flat_map(|store| &store.order) {
            if self.is_opaque(component) {
                continue;
            }
            let start = self.finished(component);
            let back = pass.scratch.finished[component];
            let [columns, back_of] = parts(numbers, [start..start + n * LANES, back.all()]);
            // SAFETY: the kernels are those of this processor.
            unsafe { (self.kernels.to_rows)(columns, back.stride, back_of) };
        }
        for row in 0..rows.len() {
            for store in &pass.stores {
                let row_of = |index: usize| match self.is_opaque(index) {
                    true => &numbers[pass.scratch.opaque.start..][..n],
                    false => &numbers[pass.scratch.finished[index].row(row, n)],
                };
                let at = (pass.left + tile.outputs.start, pass.top + rows.start + row);
                // SAFETY: the caller's promise.
                unsafe { self.store(store, row_of, n, at) };
            }
        }
    }

    /// Stores `pixels` pixels of finished rows at (`x`, `y`) of a plane.
    ///
    /// # Safety
    /// As [`Strip::run`].
    #[inline]
    pub(super) unsafe fn store<'n>(
        &self,
        store: &Store,
        row_of: impl Fn(usize) -> &'n [i16],
        pixels: usize,
        (x, y): (usize, usize),
    ) {
        let Some(plane) = self.target.get(store.plane) else { return };
        // Each is written where it stays: a list that is moved is read in larger pieces than it
        // was written, which waits for every store before it, those of pixels in far rows too.
        let mut rows: [&[i16]; 4] = [&[]; 4];
        for (row, &index) in rows.iter_mut().zip(&store.order) {
            *row = row_of(index);
        }
        let rows = &rows[..store.order.len().min(4)];
        let out = plane.row(y).wrapping_add(x * rows.len() * store.element);
        let finished = Finished { rows, fraction: self.pass.fraction, pixels };
        // SAFETY: the content rectangle is inside the image, by construction of the geometry, and
        // the plane is held to write.
        unsafe {
            match &store.how {
                How::Bytes(flip) => (self.kernels.store_bytes)(finished, *flip, out),
                How::Scaled(real, scale) => (self.kernels.store_real)(finished, scale, *real, out),
            }
        }
    }
}
