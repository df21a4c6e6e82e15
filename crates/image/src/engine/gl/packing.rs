//! The text of the program that packs a sampled picture: elements where the destination has them,
//! four bytes at a time, or sixteen.

use std::fmt::Write as _;

use tenure_layout::DType;

use super::shader::HEAD;

/// What is packed: the elements of one plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Packing {
    pub(super) dtype: DType,
    /// The channels of a group of elements, in their order in memory; of a plane with one, any.
    pub(super) channels: &'static str,
    /// Whether four words are drawn at once, as integers.
    pub(super) quads: bool,
}

impl Packing {
    pub(super) fn text(self) -> String {
        let mut text = match self.quads {
            true => HEAD.replace("out vec4", "out uvec4"),
            false => HEAD.to_owned(),
        };
        text += "uniform sampler2D picture;\nflat in ivec2 origin;\nflat in int first;\n";
        text +=
            "flat in int last;\nflat in int top;\nflat in vec4 channel;\nflat in vec4 multiply;\n";
        text += "flat in vec4 add;\n";
        let group = self.channels.len();
        let bytes = self.dtype.size().unwrap_or(1);
        let pixel = match bytes {
            1 => "texelFetch(picture, ivec2(x, y), 0)",
            _ => "texelFetch(picture, ivec2(x, y), 0) * multiply + add",
        };
        let _ = writeln!(text, "vec4 pixel(int x, int y) {{ return {pixel}; }}");
        text += "float element(int at, int y) {\n    at = clamp(at, 0, last);\n";
        if group == 1 {
            text += "    return dot(pixel(at, y), channel);\n}\n";
        } else {
            let _ = writeln!(
                text,
                "    int x = int((float(at) + 0.5) / {group}.0), part = at - x * {group};\n    vec4 full = pixel(x, y);"
            );
            let parts = self.channels.char_indices().map(|(part, name)| {
                if part + 1 == group {
                    format!("full.{name}")
                } else {
                    format!("part == {part} ? full.{name} : ")
                }
            });
            let _ = writeln!(text, "    return {};\n}}", parts.collect::<String>());
        }
        text += "uint brain(float value) {\n    uint bits = floatBitsToUint(value);\n";
        text += "    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;\n}\n";
        text += &match (self.dtype, group) {
            (DType::F32, _) => {
                "uint word(int at, int y) {\n    return floatBitsToUint(element(first + at, y));\n}\n"
                    .to_owned()
            }
            (DType::F16, _) => format!("{PAIR}    return packHalf2x16(pair);\n}}\n"),
            (DType::Bf16, _) => {
                format!("{PAIR}    return brain(pair.x) | (brain(pair.y) << 16);\n}}\n")
            }
            // Two pixels at most are in a word.
            (_, 3) => format!(
                "vec4 four(int at, int y) {{\n    int e = first + at * 4;\n    \
                 int x = int(floor((float(e) + 0.5) / 3.0)), part = e - x * 3;\n    \
                 vec3 one = pixel(clamp(x, 0, last), y).{0};\n    \
                 vec3 two = pixel(min(x + 1, last), y).{0};\n    \
                 return part == 0 ? vec4(one, two.x)\n        \
                 : part == 1 ? vec4(one.yz, two.xy) : vec4(one.z, two);\n}}\n",
                self.channels
            ),
            _ => FOUR.to_owned(),
        };
        let bytes = self.dtype.size() == Some(1);
        text += match (bytes, self.quads) {
            (true, true) => {
                "uint word(int at, int y) {\n    uvec4 all = uvec4(four(at, y) * 255.0 + 0.5);\n    \
                 return all.x | (all.y << 8) | (all.z << 16) | (all.w << 24);\n}\n"
            }
            (false, false) => {
                "vec4 four(int at, int y) {\n    uint all = word(at, y);\n    \
                 return vec4(uvec4(all, all >> 8, all >> 16, all >> 24) & 255u) / 255.0;\n}\n"
            }
            _ => "",
        };
        text += "void main() {\n    ivec2 at = ivec2(gl_FragCoord.xy) - origin;\n    int y = at.y + top;\n";
        text += match self.quads {
            true => {
                "    int x = at.x * 4;\n    \
                 result = uvec4(word(x, y), word(x + 1, y), word(x + 2, y), word(x + 3, y));\n}\n"
            }
            false => "    result = four(at.x, y);\n}\n",
        };
        text
    }
}

const PAIR: &str = "uint word(int at, int y) {
    int e = first + at * 2;
    vec2 pair = vec2(element(e, y), element(e + 1, y));
";

const FOUR: &str = "vec4 four(int at, int y) {
    int e = first + at * 4;
    return vec4(element(e, y), element(e + 1, y), element(e + 2, y), element(e + 3, y));
}
";
