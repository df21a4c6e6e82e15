//! Packets come back as they went, and nothing else is taken for one.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use proptest::prelude::*;

use super::*;

fn requests() -> impl Strategy<Value = Request> {
    prop_oneof![
        any::<u32>().prop_map(|credits| Request::Consume { credits }),
        Just(Request::Report),
        (any::<u32>(), any::<u64>(), any::<bool>(), any::<bool>()).prop_map(
            |(slot, sequence, unknown, fence)| Request::Release { slot, sequence, unknown, fence }
        ),
        Just(Request::Enough),
    ]
}

fn heads() -> impl Strategy<Value = FrameHead> {
    let small = (0..MOST_SLOTS as u32, any::<u32>(), 0..=MOST_MEMORIES as u8, any::<bool>());
    (small, any::<[u64; 4]>(), 0..200u32, 0..200u32).prop_map(
        |((slot, generation, memories, fence), times, description, blob)| {
            let [sequence, dropped, captured, published] = times;
            FrameHead {
                slot,
                generation,
                sequence,
                dropped,
                captured,
                published,
                memories,
                fence,
                description,
                blob,
            }
        },
    )
}

proptest! {
    #[test]
    fn requests_come_back_as_they_went(request in requests()) {
        let packet = request.encode();
        prop_assert_eq!(Request::decode(&packet), Ok(request));
        for end in 0..packet.len() {
            prop_assert!(Request::decode(&packet[..end]).is_err());
        }
    }

    #[test]
    fn frames_come_back_as_they_went(head in heads(), fill in any::<u8>()) {
        let mut packet = head.encode().to_vec();
        packet.resize(packet.len() + (head.description + head.blob) as usize, fill);
        let (back, description, blob) = FrameHead::decode(&packet).unwrap();
        prop_assert_eq!(back, head);
        prop_assert_eq!(description.len(), head.description as usize);
        prop_assert_eq!(blob.len(), head.blob as usize);
        for end in 0..packet.len() {
            prop_assert!(FrameHead::decode(&packet[..end]).is_err());
        }
        packet.push(0);
        prop_assert_eq!(FrameHead::decode(&packet), Err(Fault::Long(1)));
    }

    #[test]
    fn noise_is_refused_without_a_panic(noise in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = Request::decode(&noise);
        let _ = Answer::decode(&noise);
        let _ = FrameHead::decode(&noise);
    }
}

#[test]
fn answers_come_back_as_they_went() {
    let answers = [
        Answer::Welcome { incarnation: 7, consumer: 8, credits: 9, count: 10 },
        Answer::Refused { reason: "no credits left".to_owned() },
        Answer::Ended,
        Answer::Evicted,
        Answer::Forget { slot: 5, generation: u32::MAX },
    ];
    for answer in answers {
        assert_eq!(Answer::decode(&answer.encode()), Ok((answer, &[][..])));
    }
    let mut report = Answer::Report.encode();
    report.extend_from_slice(b"{}");
    assert_eq!(Answer::decode(&report), Ok((Answer::Report, &b"{}"[..])));
}

#[test]
fn texts_of_others_are_short_and_printable() {
    let reason = "\u{1b}[2J".to_owned() + &"ä".repeat(1000);
    let Ok((Answer::Refused { reason }, _)) = Answer::decode(&Answer::Refused { reason }.encode())
    else {
        panic!("a refusal")
    };
    assert!(reason.starts_with("[2Jää") && reason.len() <= LONGEST_TEXT);
}

#[test]
fn other_versions_are_named() {
    let mut packet = Request::Consume { credits: 1 }.encode();
    packet[5] = 9;
    assert_eq!(Request::decode(&packet), Err(Fault::Version { found: 9 }));
    packet[1] = 0;
    assert!(matches!(Request::decode(&packet), Err(Fault::NotOurs { .. })));
}
