//! Programs in C, as users would write them: installed library, `cc` and `pkg-config`, compiled as
//! C and as C++ with every warning an error, and run under AddressSanitizer as well. What is built for
//! another machine is tested with that machine's library and compiler; an emulator runs it.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;

/// The languages that a program is compiled as.
const C: &[&str] = &["cc", "-std=c11"];
const CPP: &[&str] = &["c++", "-std=c++17", "-x", "c++"];
/// Reads and writes outside of what was allocated, memory that is used after it was freed or never
/// freed, also by the library: it takes its memory from the same allocator.
const SANITIZED: &[&str] = &["cc", "-std=c11", "-g", "-fsanitize=address"];

/// What the tests are built for, if that is not the machine that builds them.
fn foreign() -> Option<&'static str> {
    let (target, host) = (env!("TENURE_TEST_TARGET"), env!("TENURE_TEST_HOST"));
    (target != host).then_some(target)
}

/// The words that start a tool of this machine (`cc`, `c++`, `nm`), as the target needs it.
fn tool(name: &str) -> Vec<String> {
    match (foreign(), name) {
        (None, _) => vec![name.to_owned()],
        // The compiler of a 64-bit machine with the libraries of a 32-bit one.
        (Some(target), "cc" | "c++") if target.starts_with("i686-") => {
            vec![name.to_owned(), "-m32".to_owned()]
        }
        (Some(target), _) if target.starts_with("i686-") => vec![name.to_owned()],
        (Some(target), _) => {
            let name = match name {
                "cc" => "gcc",
                "c++" => "g++",
                other => other,
            };
            // As Debian calls them: aarch64-linux-gnu-gcc.
            vec![format!("{}-{name}", target.replace("-unknown", ""))]
        }
    }
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command and returns what it printed; it must succeed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (printed, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{printed}\n{said}", output.status);
    printed.into_owned()
}

/// Where the library is installed, once for all tests: those of this process, and those of the
/// other processes that `cargo nextest` starts.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-library");
        fs::create_dir_all(&prefix).unwrap();
        let lock = fs::File::create(prefix.join("lock")).unwrap();
        lock.lock().unwrap();
        let stamp = prefix.join("installed-by");
        let own = env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| process::id().to_string());
        if fs::read_to_string(&stamp).is_ok_and(|other| other == own) {
            return prefix;
        }
        let mut install = Command::new(env!("CARGO"));
        install.args(["run", "--quiet", "--package", "xtask", "--", "c-install"]);
        install.arg(&prefix).arg("--debug").args(foreign()).current_dir(folder());
        run(&mut install);
        fs::write(&stamp, own).unwrap();
        prefix
    })
}

/// What `pkg-config` says, as words.
fn flags(options: &[&str]) -> Vec<String> {
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(options).arg("tenure");
    run(&mut ask).split_whitespace().map(str::to_owned).collect()
}

/// Compiles a program against the installed library and says where it is.
fn compile(source: &Path, compiler: &[&str], to: &str, libraries: &[String]) -> PathBuf {
    let name = source.file_stem().unwrap().to_string_lossy();
    let program = prefix().join(format!("{name}-{to}"));
    let (first, rest) = compiler.split_first().unwrap();
    let first = tool(first);
    let mut compile = Command::new(&first[0]);
    compile.args(&first[1..]).args(rest).args(["-Wall", "-Wextra", "-Werror", "-pthread"]);
    compile.args(flags(&["--cflags"])).arg(source).args(["-x", "none", "-o"]).arg(&program);
    compile.args(libraries).arg("-lm");
    run(&mut compile);
    program
}

/// Runs a compiled program with the installed library, in a folder of its own.
fn start(program: &Path) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let mut start = Command::new(program);
    start.arg(scratch.path()).env("LD_LIBRARY_PATH", prefix().join("lib"));
    run(start.env("ASAN_OPTIONS", "handle_sigbus=0:detect_leaks=1"))
}

/// Compiles and runs a program of `tests/c` in every way.
fn test(name: &str) {
    let source = folder().join("tests/c").join(name).with_extension("c");
    let shared = flags(&["--libs"]);
    for (compiler, to) in [(C, "c"), (CPP, "cpp"), (SANITIZED, "sanitized")] {
        if let (Some(target), "sanitized") = (foreign(), to) {
            println!("AddressSanitizer does not run in an emulator: not for {target}");
            continue;
        }
        // What a program says is what it did not test, and why.
        print!("{}", start(&compile(&source, compiler, to, &shared)));
    }
}

#[test]
fn tensors() {
    test("tensors");
}

#[test]
fn views() {
    test("views");
}

#[test]
fn wrong() {
    test("wrong");
}

#[test]
fn sharing() {
    test("sharing");
}

#[test]
fn dlpack() {
    test("dlpack");
}

#[test]
fn pools() {
    test("pools");
}

#[test]
fn devices() {
    test("devices");
}

#[test]
fn images() {
    test("images");
}

#[test]
fn files() {
    test("files");
}

#[test]
fn pictures() {
    test("pictures");
}

#[test]
fn plans() {
    test("plans");
}

#[test]
fn streams() {
    test("streams");
}

#[test]
fn producers() {
    test("producers");
}

#[test]
fn forks() {
    test("forks");
}

#[test]
fn access() {
    test("access");
}

#[test]
fn misuse() {
    test("misuse");
}

/// Every function of the header with nothing but null pointers and zeros, and with null pointers and
/// the largest numbers: an answer, and no crash.
#[test]
fn null_in_every_argument() {
    let header = fs::read_to_string(folder().join("include/tenure.h")).unwrap();
    let mut calls = String::new();
    let mut count = 0;
    for start in ["\ntenure_status_t tenure_", "\nvoid tenure_"] {
        for (at, _) in header.match_indices(start) {
            let declared = &header[at + 1..];
            let declared = &declared[..declared.find(");").expect("a declaration ends")];
            let (name, parameters) = declared.split_once('(').expect("it is a function");
            let name = name.rsplit(' ').next().expect("it has a name");
            let each: Vec<&str> = parameters.split(',').map(str::trim).collect();
            let given = |number: &'static str| {
                let callback = |one: &str| {
                    let kind = one.split(' ').next().unwrap_or_default();
                    header.contains(&format!("(*{kind})("))
                };
                let pointer = |one: &str| one.contains('*') || callback(one);
                let value = |one: &str| if pointer(one) { "NULL" } else { number };
                each.iter().map(|one| value(one)).collect::<Vec<_>>().join(", ")
            };
            let (zeros, ones) = (given("0"), given("-1"));
            let function = start.starts_with("\nvoid");
            calls += &match function {
                true => format!("    {name}({zeros});\n"),
                false => format!("    ANSWERS({name}({zeros}));\n    ANSWERS({name}({ones}));\n"),
            };
            count += 1;
        }
    }
    assert!(count > 150, "only {count} functions were found");
    let source = prefix().join("null_everywhere.c");
    let text = format!(
        "#include \"{}/tests/c/check.h\"\n#pragma GCC diagnostic ignored \"-Wsign-conversion\"\n\
         #define ANSWERS(call) CHECK((call) != TENURE_STATUS_OK && *tenure_last_error())\n\
         int main(void) {{\n{calls}    return 0;\n}}\n",
        folder().display()
    );
    fs::write(&source, text).unwrap();
    start(&compile(&source, SANITIZED, "sanitized", &flags(&["--libs"])));
}

/// Every program is one of the tests above.
#[test]
fn none_is_left_out() {
    let own = include_str!("c.rs");
    for entry in fs::read_dir(folder().join("tests/c")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|ending| ending == "c") {
            assert!(own.contains(&format!("test(\"{name}\")")), "{name}.c is not run");
        }
    }
}

/// Builds and runs an example with the two lines that its head says, and nothing else.
fn example(name: &str) -> String {
    let source = folder().join("../../examples/c").join(name);
    let text = fs::read_to_string(&source).unwrap();
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '*', '/']));
    let lines: Vec<&str> = lines
        .filter(|line| ["cc ", "c++ ", "./"].iter().any(|word| line.starts_with(word)))
        .collect();
    let [build, start] = lines[..] else { panic!("{name}: no two lines to build and run it") };
    let (compiler, rest) = build.split_once(' ').unwrap();
    let build = format!("{} {rest}", tool(compiler).join(" "));
    let scratch = tempfile::tempdir().unwrap();
    fs::copy(&source, scratch.path().join(name)).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-ec").arg(format!("{build} -Werror\n{start}")).current_dir(scratch.path());
    shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    shell.env("TENURE_STREAM_DIR", scratch.path());
    run(shell.env("LD_LIBRARY_PATH", prefix().join("lib")))
}

#[test]
fn example_in_c() {
    let said = example("model_input.c");
    assert!(said.contains("covers 640x360 pixels at (0, 140)"), "{said}");
    assert!(said.contains("is at (960, 540) in the frame"), "{said}");
    assert!(said.contains("red goes from 0.00 to 1.00"), "{said}");
}

#[test]
fn example_of_a_stream() {
    let said = example("camera_stream.c");
    assert!(said.contains("pictures of 640x480 came, 0 wrong"), "{said}");
    assert!(said.contains("then: stream `example/camera` has ended: its producer closed it"));
}

#[test]
fn example_of_a_device() {
    let said = example("gpu_copy.c");
    let copied = said.contains("and came back") && !said.contains("nothing to copy to");
    assert!(copied || said.contains("nothing to copy to"), "{said}");
    assert!(said.contains("vulkan:") && said.contains("cuda:"), "{said}");
}

#[test]
fn example_in_cpp() {
    let said = example("two_processes.cpp");
    assert!(said.contains("reads numbers: the sum is 4950"), "{said}");
    assert!(said.contains("and cannot write: this shm memory is read-only"), "{said}");
}

/// What the sanitizer cannot see: the library's own reads and writes.
#[test]
#[ignore = "needs valgrind, and half a minute; scripts/ci runs it"]
fn valgrind() {
    let shared = flags(&["--libs"]);
    for entry in fs::read_dir(folder().join("tests/c")).unwrap() {
        let source = entry.unwrap().path();
        // A forked child leaks what the threads hold that it does not have.
        let forks = source.file_stem().is_some_and(|name| name == "forks");
        if forks || source.extension().is_none_or(|ending| ending != "c") {
            continue;
        }
        let program = compile(&source, &["cc", "-std=c11", "-g"], "valgrind", &shared);
        let scratch = tempfile::tempdir().unwrap();
        let mut start = Command::new("valgrind");
        start.args(["--quiet", "--error-exitcode=99", "--leak-check=full"]);
        let drivers = folder().join("tests/c/drivers.supp");
        start.arg("--errors-for-leak-kinds=definite,indirect");
        start.arg(format!("--suppressions={}", drivers.display()));
        start.arg(program).arg(scratch.path());
        run(start.env("LD_LIBRARY_PATH", prefix().join("lib")));
    }
}

/// What the sanitizer is there for: a tensor that is not freed, one that is freed twice, a read
/// beyond the end. Without this nobody would know that it looks.
#[test]
fn the_sanitizer_sees_mistakes() {
    if let Some(target) = foreign() {
        return println!("AddressSanitizer does not run in an emulator: not for {target}");
    }
    let mistakes = [
        ("leak", "(void)read;", "detected memory leaks"),
        ("twice", "tenure_tensor_free(tensor); tenure_tensor_free(tensor);", "AddressSanitizer"),
        ("beyond", "(void)*(volatile const char *)((const char *)read + 1000);", "buffer-overflow"),
    ];
    let sources = tempfile::tempdir().unwrap();
    for (name, mistake, words) in mistakes {
        let source = sources.path().join(name).with_extension("c");
        let text = format!(
            "#include \"{}/tests/c/check.h\"\nint main(void) {{\nconst size_t shape[] = {{4}};\n\
             tenure_tensor_t *tensor = counting(shape, 1);\nconst void *read = malloc(16);\n\
             tensor = first(tensor) == 0.0f ? tensor : NULL;\n{mistake}\ntensor = NULL;\n\
             read = NULL;\nreturn tensor == read ? 0 : 1;\n}}\n",
            folder().display()
        );
        fs::write(&source, text).unwrap();
        let program = compile(&source, SANITIZED, "sanitized", &flags(&["--libs"]));
        let mut start = Command::new(program);
        start.env("LD_LIBRARY_PATH", prefix().join("lib"));
        let output = start.env("ASAN_OPTIONS", "detect_leaks=1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{name}: {said}");
    }
}

/// The static library has all that it needs, with what pkg-config says.
#[test]
fn static_library() {
    let source = folder().join("tests/c/tensors.c");
    let archive = prefix().join("lib/libtenure.a").to_string_lossy().into_owned();
    let others = flags(&["--libs", "--static"]).into_iter().filter(|flag| flag != "-ltenure");
    let libraries: Vec<String> = std::iter::once(archive).chain(others).collect();
    let program = compile(&source, C, "static", &libraries);
    assert!(!run(Command::new("readelf").arg("-d").arg(&program)).contains("libtenure"));
    start(&program);
}

/// Programs look for the name with the minor version, and see nothing of the library but its calls.
#[test]
fn names_of_the_shared_library() {
    let library = prefix().join("lib/libtenure.so");
    let dynamic = run(Command::new("readelf").arg("-d").arg(&library));
    let minor = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    assert!(dynamic.contains(&format!("soname: [libtenure.so.{minor}]")), "{dynamic}");

    let header = fs::read_to_string(folder().join("include/tenure.h")).unwrap();
    let symbols = run(Command::new(&tool("nm")[0]).args(["-D", "--defined-only"]).arg(&library));
    let names: Vec<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert!(names.len() > 90, "{names:?}");
    for name in names {
        assert!(name.starts_with("tenure_"), "{name} is none of ours");
        assert!(header.contains(&format!("{name}(")), "{name} is not in tenure.h");
    }
}
