# shellcheck shell=bash
# What the scripts beside this file share. Sourced, never run.

# Words that stand out, on a terminal in bold.
heading() {
    if [[ -t 1 && -z ${NO_COLOR-} ]]; then
        printf '\n\033[1m== %s\033[0m\n' "$*"
    else
        printf '\n== %s\n' "$*"
    fi
}

# Ends the script with a reason.
fail() {
    printf '%s: error: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Whether a command can be run.
have() {
    command -v "$1" >/dev/null 2>&1
}

# need COMMAND:PACKAGE...: ends the script if some of these commands are missing, and says which and
# in which Debian packages they are.
need() {
    local pair missing=() packages=()
    for pair in "$@"; do
        if ! have "${pair%%:*}"; then
            missing+=("${pair%%:*}")
            packages+=("${pair#*:}")
        fi
    done
    ((${#missing[@]} == 0)) || fail "missing: ${missing[*]}; \
on Debian \`apt-get install $(printf '%s\n' "${packages[@]}" | sort -u | paste -sd' ')\` brings them, \
and \`scripts/setup ci\` brings everything that the checks need"
}

# Ends the script if there is no Rust.
need_cargo() {
    have cargo || fail 'missing: cargo; install Rust from https://rustup.rs'
}

# Whether cargo has a subcommand: it looks in more places than the shell does.
have_cargo() {
    cargo "$1" --version >/dev/null 2>&1
}

# Seconds as people read them.
duration() {
    if (($1 < 60)); then
        printf '%d s' "$1"
    else
        printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
    fi
}

# The name of the nightly toolchain to use: TENURE_NIGHTLY, or the first that is installed, the
# undated one before the dated ones. Prints nothing if there is none.
nightly() {
    if [[ -n ${TENURE_NIGHTLY-} ]]; then
        echo "$TENURE_NIGHTLY"
        return
    fi
    local toolchains
    toolchains=$(rustup toolchain list | awk '/^nightly/ { print $1 }')
    { grep -Ev '^nightly-[0-9]' <<<"$toolchains" || cat <<<"$toolchains"; } | head -n 1
}

# Output that goes into a file has no colours and no progress bars.
plain_output() {
    if [[ ! -t 1 ]]; then
        export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
        export CARGO_TERM_PROGRESS_WHEN="${CARGO_TERM_PROGRESS_WHEN:-never}"
    fi
}
