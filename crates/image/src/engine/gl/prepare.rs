//! Plans on the GPU: programs and tables, kept for the next picture.

use std::rc::Rc;

use glow::{Program, Texture};
use smallvec::SmallVec;

use super::api::{Gl, Refused, Texels};
use super::packing::Packing;
use super::plan::{Pass, Plan};
use super::table::Table;
use crate::job::Recipe;

/// Conversions whose tables are kept.
const PLANS: usize = 16;
/// Programs that are kept.
const PROGRAMS: usize = 64;

/// A plan with everything it needs on the GPU.
pub(super) struct Ready {
    recipe: Recipe,
    pub(super) plan: Plan,
    pub(super) passes: SmallVec<[ReadyPass; 2]>,
}

/// The same for one pass.
pub(super) struct ReadyPass {
    /// The weights across and down, if they are not computed.
    pub(super) tables: Option<[Texture; 2]>,
    pub(super) sample: Program,
    /// Packs words, and quads of them.
    pub(super) pack: Option<[Program; 2]>,
}

/// The plans and programs of one context.
#[derive(Default)]
pub(super) struct Programs {
    /// Most recently used last.
    plans: Vec<Rc<Ready>>,
    /// By their text.
    programs: Vec<(String, Program)>,
}

impl Programs {
    /// Everything for a recipe.
    pub(super) fn ready(&mut self, gl: &Gl, recipe: &Recipe) -> Result<Rc<Ready>, Refused> {
        if let Some(at) = self.plans.iter().position(|own| own.recipe == *recipe) {
            self.plans[at..].rotate_left(1);
        } else {
            if self.programs.len() >= PROGRAMS {
                self.clear(gl);
            }
            if self.plans.len() >= PLANS {
                self.plans.remove(0).delete(gl);
            }
            let ready = self.make(gl, recipe)?;
            self.plans.push(Rc::new(ready));
        }
        self.plans.last().map(Rc::clone).ok_or_else(|| "there is no plan".to_owned())
    }

    fn make(&mut self, gl: &Gl, recipe: &Recipe) -> Result<Ready, Refused> {
        let mut plan = Plan::new(recipe);
        let mut passes = SmallVec::new();
        for pass in &mut plan.passes {
            passes.push(self.make_pass(gl, recipe, pass, plan.direct)?);
            // The GPU has them now.
            pass.tables = None;
        }
        Ok(Ready { recipe: *recipe, plan, passes })
    }

    fn make_pass(
        &mut self,
        gl: &Gl,
        recipe: &Recipe,
        pass: &Pass,
        direct: bool,
    ) -> Result<ReadyPass, Refused> {
        let sample = self.program(gl, pass.sampling.text())?;
        // Planes with one channel are packed alike.
        let pack = match pass.planes.first().filter(|_| !direct) {
            Some(part) => {
                let (dtype, channels) = (recipe.target.dtype, part.channels);
                let text = |quads| Packing { dtype, channels, quads }.text();
                Some([self.program(gl, text(false))?, self.program(gl, text(true))?])
            }
            None => None,
        };
        let tables = match &pass.tables {
            Some([across, down]) => {
                let across = table(gl, across)?;
                let down = table(gl, down).inspect_err(|_| gl.delete_texture(across))?;
                Some([across, down])
            }
            None => None,
        };
        Ok(ReadyPass { tables, sample, pack })
    }

    fn program(&mut self, gl: &Gl, text: String) -> Result<Program, Refused> {
        if let Some((_, program)) = self.programs.iter().find(|(own, _)| *own == text) {
            return Ok(*program);
        }
        let program = gl.program(&text)?;
        self.programs.push((text, program));
        Ok(program)
    }

    fn clear(&mut self, gl: &Gl) {
        for plan in self.plans.drain(..) {
            plan.delete(gl);
        }
        for (_, program) in self.programs.drain(..) {
            gl.delete_program(program);
        }
    }
}

impl Ready {
    fn delete(&self, gl: &Gl) {
        for pass in &self.passes {
            for texture in pass.tables.into_iter().flatten() {
                gl.delete_texture(texture);
            }
        }
    }
}

fn table(gl: &Gl, table: &Table) -> Result<Texture, Refused> {
    if table.columns.max(table.outputs) > gl.longest {
        return Err(format!("{} weights an output are more than a texture holds", table.columns));
    }
    let texture = gl.texture(Texels::Floats, (table.columns, table.outputs))?;
    gl.fill_floats(texture, table.columns, &table.values);
    Ok(texture)
}
