//! Which engine does a conversion: as the program, the environment and the machine have it, and
//! never another one in silence.
#![cfg(target_os = "linux")]

use std::process::Command;

use tenure_image::{Convert, EngineKind, Explanation, ImageProcessor};
use tenure_tensor::{PixelFormat, Tensor, TensorMemory};

fn images() -> (Tensor<u8>, Tensor<u8>) {
    let image = |format| Tensor::<u8>::image(8, 8, format, Some(TensorMemory::Mem), None).unwrap();
    (image(PixelFormat::Nv12), image(PixelFormat::Rgb))
}

fn explain(processor: &ImageProcessor) -> Vec<Explanation> {
    let (source, target) = images();
    processor.explain(&source, &target, &Convert::new()).unwrap()
}

/// Runs [`tells`] in a process with this environment: what it says of engines and of a conversion.
fn told(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tells", "--ignored", "--nocapture"]);
    command.env_remove("TENURE_IMAGE_ENGINE").envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "run by the others, with environments of their own"]
fn tells() {
    let processor = match ImageProcessor::new() {
        Ok(processor) => processor,
        Err(error) => return println!("refused: {error}"),
    };
    let can = |said: &Explanation| match &said.verdict {
        Ok(_) => format!("{} can", said.engine),
        Err(why) => format!("{} cannot: {why}", said.engine),
    };
    println!("engines: {}", explain(&processor).iter().map(can).collect::<Vec<_>>().join(" | "));
    let (source, target) = images();
    match processor.convert(&source, &target, &Convert::new()) {
        Ok(_) => println!("converted"),
        Err(error) => println!("refused: {error}"),
    }
    for how in explain(&processor).iter().filter_map(|said| said.verdict.as_ref().ok()) {
        println!("how: {how}");
    }
}

#[test]
fn the_environment_names_instructions() {
    let plain = told(&[("TENURE_IMAGE_KERNELS", " Portable")]);
    assert!(plain.contains("with portable kernels") && plain.contains("converted"), "{plain}");
    let usual = told(&[("TENURE_IMAGE_KERNELS", "")]);
    let how = |said: &str| said.lines().find(|line| line.contains(" kernels")).map(str::to_owned);
    assert_eq!(how(&usual), how(&told(&[])));
    let wrong = told(&[("TENURE_IMAGE_KERNELS", "mmx")]);
    assert!(
        wrong.contains("refused: unknown instruction set of this processor `mmx`: "),
        "{wrong}"
    );
    assert!(wrong.contains("portable"), "{wrong}");
}

#[test]
fn the_environment_names_engines() {
    let usual = told(&[]);
    assert!(usual.contains("engines: cpu can") && usual.contains("converted"), "{usual}");
    assert_eq!(usual.contains("| gl can"), cfg!(feature = "gl"), "{usual}");
    assert_eq!(told(&[("TENURE_IMAGE_ENGINE", "")]).lines().nth(2), usual.lines().nth(2));
    let slow = told(&[("TENURE_IMAGE_ENGINE", " Reference, cpu")]);
    assert!(slow.contains("engines: reference can | cpu can"), "{slow}");
    let wrong = told(&[("TENURE_IMAGE_ENGINE", "cpu,gpu")]);
    assert!(wrong.contains("unknown image engine `gpu`: cpu, "), "{wrong}");
    // What the program asks for is not overruled.
    let engines = Some(vec![EngineKind::Reference]);
    let config = ImageProcessor::builder().engines(engines).threads(1);
    let processor = config.build().unwrap();
    let said = explain(&processor);
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].engine, EngineKind::Reference);
    let (source, target) = images();
    let engine = processor.engine(&source, &target, &Convert::new()).unwrap();
    assert_eq!(engine, EngineKind::Reference);
}

#[test]
fn a_processor_says_which_engines_it_has() {
    let config = ImageProcessor::builder().engines(vec![EngineKind::Cpu, EngineKind::Reference]);
    let processor = config.build().unwrap();
    assert_eq!(format!("{processor:?}"), "ImageProcessor { engines: [Cpu, Reference] }");
}

#[test]
fn no_engine_is_no_conversion() {
    let config = ImageProcessor::builder().engines(vec![]).threads(1);
    let processor = config.build().unwrap();
    let (source, target) = images();
    let error = processor.convert(&source, &target, &Convert::new()).unwrap_err();
    assert!(error.to_string().contains("made without any"), "{error}");
}

#[cfg(not(feature = "gl"))]
#[test]
fn an_engine_that_is_not_built_in_is_said_to_be_so() {
    let said = told(&[("TENURE_IMAGE_ENGINE", "gl")]);
    assert!(
        said.contains("unknown image engine `gl`") && said.contains("in builds with"),
        "{said}"
    );
}

#[cfg(feature = "gl")]
#[test]
fn without_a_driver_the_cpu_works_and_opengl_says_why_not() {
    const NO_DRIVER: (&str, &str) = ("__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent");
    let usual = told(&[NO_DRIVER]);
    assert!(usual.contains("cpu can | gl cannot: engine gl: there is no OpenGL ES 3"), "{usual}");
    assert!(usual.contains("converted"), "{usual}");
    let forced = told(&[NO_DRIVER, ("TENURE_IMAGE_ENGINE", "gl")]);
    assert!(forced.contains("refused: no engine could convert this: gl: "), "{forced}");
    assert!(forced.contains("surfaceless: ") && !forced.contains("converted"), "{forced}");
    let either = told(&[NO_DRIVER, ("TENURE_IMAGE_ENGINE", "gl,cpu")]);
    assert!(either.contains("engines: gl cannot: ") && either.contains("| cpu can"), "{either}");
    assert!(either.contains("converted"), "{either}");
    // With the driver of this machine it can.
    let forced = told(&[("TENURE_IMAGE_ENGINE", "gl")]);
    assert!(forced.contains("engines: gl can") && forced.contains("converted"), "{forced}");
}
