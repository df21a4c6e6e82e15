//! Errors say whose bytes were asked for: the tensor's name, and the plan's for its buffer.

use tenure_memory::{Buffer, kind};
use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan};
use tenure_tensor::realize::realize;
use tenure_tensor::{DType, DynTensor, Error, Layout, Tensor, TensorDyn, TensorMemory};

/// Two buffers of an arena, of which the first has a name of its own.
fn planned() -> Vec<TensorDyn> {
    let mut buffers = vec![BufferSpec::new("dense_3", 64), BufferSpec::new("act_4", 64)];
    buffers.push(BufferSpec::new("out", 64));
    buffers[2].output = true;
    let steps = vec![Step::new("a", [], [0]), Step::new("b", [0], [1]), Step::new("c", [1], [2])];
    let schedule = Schedule { buffers, steps };
    let plan = plan(&schedule, PlannerMode::Arena, Packer::default(), &Options::default()).unwrap();
    let lazy = |name: Option<&'static str>| {
        let builder = TensorDyn::builder(&[64], DType::U8).memory(TensorMemory::Mem);
        builder.name(name).lazy().build().unwrap()
    };
    let tensors = vec![lazy(Some("logits")), lazy(None), lazy(None)];
    realize(&schedule, &plan, &tensors).unwrap();
    tensors
}

fn words<T>(refused: Result<T, Error>) -> String {
    match refused {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was given"),
    }
}

#[test]
fn a_conflict_in_an_arena_names_the_tensor_and_the_buffer_of_the_plan() {
    let tensors = planned();
    let both = "cannot write \"logits\" (planned as \"dense_3\") at bytes ";
    let arena = "of buffer \"arena of device 0";
    let first = tensors[0].map_read().unwrap();
    let typed = tensors[0].typed::<u8>().unwrap();
    for words in [
        words(tensors[0].map()),
        words(typed.map()),
        words(typed.map_strided()),
        words(typed.map_rows()),
        words(typed.map_wait(Some(std::time::Duration::ZERO))),
        words(tensors[0].map_span()),
        words(tensors[0].slice(0, 3..5).unwrap().map()),
    ] {
        assert!(words.starts_with(both) && words.contains(arena), "{words}");
    }
    let filled = words(typed.fill(1));
    assert!(filled.contains("\"logits\" (planned as \"dense_3\")"), "{filled}");
    drop(first);
    let _second = tensors[1].map().unwrap();
    let read = words(tensors[1].map_read());
    assert!(read.starts_with("cannot read what is planned as \"act_4\" at bytes"), "{read}");
    let error = tensors[1].map().unwrap_err();
    assert!(error.is_busy() && error.remedy().is_none());
}

#[test]
fn a_name_is_told_once() {
    let tensor = Tensor::<u8>::new(&[8], Some(TensorMemory::Mem), Some("frame")).unwrap();
    let _guard = tensor.map().unwrap();
    let words = words(tensor.map_read());
    assert!(words.starts_with("cannot read bytes 0..8 of buffer \"frame\":"), "{words}");
}

#[test]
fn other_errors_name_the_tensor_too() {
    let tensor = Tensor::<u8>::new(&[4, 6], Some(TensorMemory::Mem), Some("frame")).unwrap();
    let turned = tensor.permute(&[1, 0]).unwrap();
    let wide = tensor.index(0, 0).unwrap().broadcast_to(&[3, 6]).unwrap();
    let left = tensor.slice(1, 0..2).unwrap();
    for words in [
        words(turned.map()),
        words(wide.map_strided()),
        words(left.map_span()),
        words(tensor.typed::<f32>()),
        words(left.view_as::<u16>()),
        words(tensor.plane(1)),
    ] {
        assert!(words.contains("the tensor \"frame\""), "{words}");
    }
    let heap = kind::allocator(TensorMemory::Mem).unwrap();
    let odd = Buffer::lazy(heap, 9, Some("tail")).unwrap().slice(1..9).unwrap();
    let layout = Layout::contiguous(DType::F32, &[2]).unwrap();
    let made = words(Tensor::<f32>::from_buffer(odd.clone(), layout.clone()));
    assert!(made.contains("the tensor \"tail\""), "{made}");
    let odd = TensorDyn::from_unaligned_buffer(odd, layout).unwrap().typed::<f32>().unwrap();
    assert!(words(odd.map_read()).contains("the tensor \"tail\""));
    // Without a name, none is made up.
    let plain = Tensor::<u8>::new(&[2, 3], Some(TensorMemory::Mem), None).unwrap();
    let words = words(plain.permute(&[1, 0]).unwrap().map());
    assert!(words.starts_with("elements of the tensor of shape [3, 2]"), "{words}");
}
