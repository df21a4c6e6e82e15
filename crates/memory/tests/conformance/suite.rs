//! What every memory must do. The program that includes this says for which, with
//! `with_variants`; each check is a test that goes through all of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{child, with_variants};

pub(crate) mod variant;

mod bytes;
mod identity;
mod ledger;
mod lifetime;
mod limits;
mod placing;

#[cfg(all(linux_like, not(miri)))]
mod descriptors;

use variant::Variant;

/// Runs a check for every variant, and says for which it failed.
fn each(check: fn(&Variant)) {
    with_variants(|variants| {
        let failed =
            |variant: &&Variant| catch_unwind(AssertUnwindSafe(|| check(variant))).is_err();
        let failed: Vec<_> = variants.iter().filter(failed).collect();
        assert!(failed.is_empty(), "failed for {failed:?}");
    });
}

macro_rules! tests {
    ($($module:ident: $($check:ident)*;)*) => {$($(
        #[test]
        fn $check() {
            each($module::$check);
        }
    )*)*};
}

tests! {
    bytes: new_memory_is_zero sizes_are_as_asked alignments_are_as_asked zero_bytes bytes_read_back;
    identity: identities_are_unique_and_die names_are_kept;
    ledger: readers_share_and_a_writer_excludes disjoint_ranges_are_held_at_once
        kernels_and_exports_clash_as_they_should empty_ranges_exclude_nobody
        a_refused_access_leaves_no_trace;
    lifetime: guards_outlive_buffers buffers_are_dropped_on_other_threads
        threads_share_a_buffer guards_move_between_threads;
    placing: slices_stay_inside lazy_buffers_get_their_bytes_when_touched
        arenas_hold_lazy_buffers places_are_refused arenas_keep_the_alignment_asked_for
        arenas_stay_while_they_are_used threads_race_to_place;
    limits: absurd_sizes_are_errors_that_name_the_bytes alignments_beyond_it_are_refused;
}

#[cfg(all(linux_like, not(miri)))]
tests! {
    descriptors: descriptors_give_the_same_memory imports_share_the_ledger
        memory_without_descriptor_says_so descriptors_outlive_the_buffer
        an_import_keeps_the_identity_alive sealing_stops_new_writers;
}

/// Counts are those of the process: these need one of their own.
macro_rules! alone {
    ($($module:ident: $($check:ident)*;)*) => {$($(
        #[test]
        #[cfg_attr(miri, ignore = "Miri starts no processes")]
        fn $check() {
            child::alone(concat!("suite::", stringify!($check)), || each($module::$check));
        }
    )*)*};
}

alone! {
    identity: statistics_rise_and_fall reports_name_what_lives;
    lifetime: nothing_is_left_behind;
}
