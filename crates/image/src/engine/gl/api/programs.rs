//! Programs, and what they are given.
#![expect(unsafe_code, reason = "calls OpenGL, which is loaded at run time")]

use std::fmt::Write as _;

use glow::{HasContext, Program, Texture};

use super::{Gl, Refused};

/// One triangle over everything, whose corners hand on what fragments are given (`flat in`): drivers
/// without a graphics card look uniforms up once for every fragment, and that takes longer than
/// all the rest.
fn vertices(fragments: &str) -> String {
    let given = || fragments.lines().filter_map(given);
    let mut text = String::from("#version 300 es\n");
    for (kind, name) in given() {
        let _ = writeln!(text, "uniform {kind} set_{name};\nflat out {kind} {name};");
    }
    text += "void main() {\n    vec2 corner_ = vec2(gl_VertexID == 1 ? 3.0 : -1.0, \
             gl_VertexID == 2 ? 3.0 : -1.0);\n    gl_Position = vec4(corner_, 0.0, 1.0);\n";
    for (_, name) in given() {
        let _ = writeln!(text, "    {name} = set_{name};");
    }
    text + "}\n"
}

/// The type and the name that a line of a shader asks for, if it does.
fn given(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("flat in ")?.strip_suffix(';')?.split_once(' ')
}

/// A value of a program.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Value {
    Int(i32),
    Ints([i32; 2]),
    Vec2([f32; 2]),
    Vec4([f32; 4]),
}

// SAFETY of the blocks below: as in `api.rs`.
impl Gl {
    /// A program that runs `fragments` for every texel drawn.
    pub(in super::super) fn program(&self, fragments: &str) -> Result<Program, Refused> {
        // SAFETY: see above.
        unsafe {
            let program = self.raw.create_program()?;
            let mut log = String::new();
            let vertices = vertices(fragments);
            let sources =
                [(glow::VERTEX_SHADER, vertices.as_str()), (glow::FRAGMENT_SHADER, fragments)];
            for (kind, source) in sources {
                let shader = self.raw.create_shader(kind)?;
                self.raw.shader_source(shader, source);
                self.raw.compile_shader(shader);
                if !self.raw.get_shader_compile_status(shader) {
                    log += &self.raw.get_shader_info_log(shader);
                }
                self.raw.attach_shader(program, shader);
                // Lives for as long as the program.
                self.raw.delete_shader(shader);
            }
            self.raw.link_program(program);
            if self.raw.get_program_link_status(program) {
                return Ok(program);
            }
            log += &self.raw.get_program_info_log(program);
            self.raw.delete_program(program);
            Err(format!("the driver does not compile a shader: {}", log.trim()))
        }
    }

    pub(in super::super) fn delete_program(&self, program: Program) {
        // SAFETY: see above.
        unsafe { self.raw.delete_program(program) }
    }

    /// Makes a program the one that draws, with these textures and values.
    pub(in super::super) fn set(
        &self,
        program: Program,
        textures: &[(&str, Texture)],
        values: &[(&str, Value)],
    ) {
        // SAFETY: see above; names that a program does not have are ignored.
        unsafe {
            self.raw.use_program(Some(program));
            for (unit, (name, texture)) in textures.iter().enumerate() {
                self.raw.active_texture(glow::TEXTURE0 + unit as u32);
                self.raw.bind_texture(glow::TEXTURE_2D, Some(*texture));
                let at = self.raw.get_uniform_location(program, name);
                self.raw.uniform_1_i32(at.as_ref(), unit as i32);
            }
            for (name, value) in values {
                let at = self.raw.get_uniform_location(program, &format!("set_{name}"));
                match value {
                    Value::Int(x) => self.raw.uniform_1_i32(at.as_ref(), *x),
                    Value::Ints([x, y]) => self.raw.uniform_2_i32(at.as_ref(), *x, *y),
                    Value::Vec2(v) => self.raw.uniform_2_f32_slice(at.as_ref(), v),
                    Value::Vec4(v) => self.raw.uniform_4_f32_slice(at.as_ref(), v),
                }
            }
        }
    }
}
