"""How a stretch of speech ended, in two dozen numbers: read from a `ProsodyTrack` at a silence. Pure."""

from dataclasses import asdict, dataclass
from math import log

import numpy as np

from audio.end_of_turn.prosody import HISTORY_HOPS, HOP_SAMPLES, HOPS_PER_S, UNVOICED, Floats, ProsodyTrack
from audio.units import Samples

_MS = 1000 / HOPS_PER_S
_SEMITONES = 12.0
_PEAK_DB = 3.0
_LOUD_RANGE_DB = 25.0
_SHORT_SILENCE_HOPS = 20
_VOICED_HOPS = 4


@dataclass(frozen=True, slots=True)
class Prosody:
    """The end of a stretch of speech, and the silence after it so far.

    All of it is measured; which of it is weighed, and which told nothing, is in docs/turn-taking.md.

    Everything is relative to the same turn or the same speaker: neither how loud a microphone is nor how noisy a room
    tells anything about the end of a turn, but in any collection of recordings it tells one source from another.

    Attributes:
        pitch_end_st: The last voiced 80 ms against the speaker's median, in semitones; 0 where unvoiced.
        pitch_slope_st: Rise over the last 300 ms, in semitones.
        pitch_rank: Share of the turn's voiced hops that are lower than its end; 0.5 where there are none.
        pitch_known: 1 where at least 40 ms of the last 400 are voiced.
        unvoiced_tail_ms: From the last voiced hop to the end, at most 300.
        voiced_share: Of the last 300 ms.
        clarity_end: Mean of the last 150 ms: creaking voices lose it.
        level_end_db: The last 100 ms against the turn's loud hops (90th percentile).
        level_before_db: The 200 ms before those, likewise.
        level_fall_db: How much the level fell over the last 150 ms.
        peak_db: The last syllable's peak against the loud hops.
        after_peak_ms: From that peak to the end, at most 600: the length of the last syllable.
        lengthening: The same as the logarithm of its ratio to the mean distance of the turn's peaks.
        rate_hz: Syllable peaks a second in the last two seconds.
        change_end_db: Change of the spectrum in the last 200 ms against the turn's mean: an "um" stands still.
        tilt_end_db: Tilt of the last 150 ms against the turn's mean.
        vad_end: The detector's mean probability over the last 100 ms.
        vad_silence: And since the end.
        vad_tail_ms: How long after the end it stayed above 0.1.
        breath_db: The loudest hop of the silence, from 60 ms on, over its quietest.
        decay_db: 20-80 ms into the silence, over the quietest hop of the last eight seconds.
        run_s: Logarithm of the seconds of speech since the last silence of 200 ms.
        spoken_s: Logarithm of the seconds since the turn began.
        silences: How many silences of 200 ms the turn had before, at most 5.
    """

    pitch_end_st: float
    pitch_slope_st: float
    pitch_rank: float
    pitch_known: float
    unvoiced_tail_ms: float
    voiced_share: float
    clarity_end: float
    level_end_db: float
    level_before_db: float
    level_fall_db: float
    peak_db: float
    after_peak_ms: float
    lengthening: float
    rate_hz: float
    change_end_db: float
    tilt_end_db: float
    vad_end: float
    vad_silence: float
    vad_tail_ms: float
    breath_db: float
    decay_db: float
    run_s: float
    spoken_s: float
    silences: float

    def named(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


def prosody_at(track: ProsodyTrack, onset: Samples, edge: Samples) -> Prosody:
    """The features of a silence that lasts now.

    Args:
        track: Has heard every frame up to now.
        onset: Where the turn began.
        edge: Where its last speech ended, as the detector has it.
    """
    quiet = min(max((track.end - edge) // HOP_SAMPLES, 0), HISTORY_HOPS - 60)
    stop = HISTORY_HOPS - quiet
    heard = min(track.hops, (track.end - onset) // HOP_SAMPLES)
    start = min(max(HISTORY_HOPS - heard, 0), stop - 30)
    level, voice = track.level_db[start:stop], track.probability[start:stop]
    loud_db = float(np.percentile(level, 90))
    silent = _silent_runs(voice)
    return Prosody(
        **_pitch(track, start, stop),
        **_level(level, loud_db),
        **_syllables(level, loud_db),
        **_silence(track, stop),
        change_end_db=float(track.change_db[stop - 20 : stop].mean() - track.change_db[start:stop].mean()),
        tilt_end_db=float(track.tilt_db[stop - 15 : stop].mean() - track.tilt_db[start:stop].mean()),
        run_s=log(max(stop - start - (silent[-1] if silent else 0), 10) / HOPS_PER_S),
        spoken_s=log(max((edge - onset) / (HOP_SAMPLES * HOPS_PER_S), 0.1)),
        silences=float(min(len(silent), 5)),
    )


def _pitch(track: ProsodyTrack, start: int, stop: int) -> dict[str, float]:
    tail = track.pitch[stop - 40 : stop]
    voiced = np.flatnonzero(tail)
    last = (len(tail) - 1 - int(voiced[-1])) * _MS if len(voiced) else 300.0
    found = {
        "pitch_end_st": 0.0,
        "pitch_slope_st": 0.0,
        "pitch_rank": 0.5,
        "pitch_known": float(len(voiced) >= _VOICED_HOPS),
        "unvoiced_tail_ms": min(last, 300.0),
        "voiced_share": float((track.pitch[stop - 30 : stop] != UNVOICED).mean()),
        "clarity_end": float(track.clarity[stop - 15 : stop].mean()),
    }
    if len(voiced) < _VOICED_HOPS:
        return found
    end = float(np.median(tail[voiced[-8:]]))
    usual = track.usual_pitch or end
    whole = track.pitch[start:stop]
    whole = whole[whole != UNVOICED]
    recent = voiced[voiced >= voiced[-1] - 30]
    found["pitch_end_st"] = _clipped((end - usual) * _SEMITONES, 12)
    found["pitch_slope_st"] = _clipped(_robust_rise(tail[recent]) * _SEMITONES, 12)
    if len(whole):  # of a short turn all may lie before its beginning
        found["pitch_rank"] = float((whole < end).mean())
    return found


def _robust_rise(pitch: Floats) -> float:
    """Octaves from the first to the last third, by medians: one octave error does not move it."""
    third = max(len(pitch) // 3, 1)
    return float(np.median(pitch[-third:]) - np.median(pitch[:third]))


def _level(level: Floats, loud_db: float) -> dict[str, float]:
    return {
        "level_end_db": float(level[-10:].mean()) - loud_db,
        "level_before_db": float(level[-30:-10].mean()) - loud_db,
        "level_fall_db": float(level[-15:-10].mean() - level[-5:].mean()),
    }


def _syllables(level: Floats, loud_db: float) -> dict[str, float]:
    """The last peak of the smoothed level, what follows it, and how often peaks come."""
    smooth = np.convolve(np.pad(level, 3, mode="edge"), np.hanning(9)[1:-1] / np.hanning(9)[1:-1].sum(), "valid")
    peaks = _peaks(smooth, loud_db - _LOUD_RANGE_DB)
    if not peaks:
        return {"peak_db": 0.0, "after_peak_ms": 600.0, "lengthening": 0.0, "rate_hz": 0.0}
    after = (len(level) - peaks[-1]) * _MS
    recent = [peak for peak in peaks if peak >= len(level) - 2 * HOPS_PER_S]
    span = min(len(level), 2 * HOPS_PER_S) / HOPS_PER_S
    # Distances over 400 ms hold a pause.
    gaps = [gap for gap in np.diff(peaks).tolist() if gap <= 40]
    usual = float(np.mean(gaps)) * _MS if gaps else 200.0
    return {
        "peak_db": float(smooth[peaks[-1]]) - loud_db,
        "after_peak_ms": min(after, 600.0),
        "lengthening": log(max(after, 20.0) / usual),
        "rate_hz": len(recent) / span,
    }


def _peaks(smooth: "np.ndarray[tuple[int], np.dtype[np.floating]]", least_db: float) -> list[int]:
    """Places that stand 3 dB above the dips on both sides, louder than `least_db`."""
    found: list[int] = []
    top, dip = 0, float("inf")
    rising = True
    for at, value in enumerate(smooth.tolist()):
        if rising:
            if value > smooth[top]:
                top = at
            elif value < smooth[top] - _PEAK_DB:
                if smooth[top] >= least_db:
                    found.append(top)
                rising, dip = False, value
        else:
            dip = min(dip, value)
            if value > dip + _PEAK_DB:
                rising, top = True, at
    if rising and smooth[top] >= least_db and (not found or top > found[-1]):
        found.append(top)
    return found


def _silence(track: ProsodyTrack, stop: int) -> dict[str, float]:
    level, voice = track.level_db[stop:], track.probability[stop:]
    over = np.flatnonzero(voice > 0.1)
    quietest = float(track.level_db[max(HISTORY_HOPS - track.hops, 0) :].min())
    later = level[6:]
    return {
        "vad_end": float(track.probability[stop - 10 : stop].mean()),
        "vad_silence": float(voice.mean()) if len(voice) else 1.0,
        "vad_tail_ms": (int(over[-1]) + 1) * _MS if len(over) else 0.0,
        "breath_db": float(later.max() - later.min()) if len(later) else 0.0,
        "decay_db": float(level[2:8].mean()) - quietest if len(level) > 2 else 0.0,
    }


def _silent_runs(voice: Floats) -> list[int]:
    """Where silences of 200 ms or more inside the stretch ended."""
    ends: list[int] = []
    run = 0
    for at, quiet in enumerate((voice < 0.35).tolist()):
        if quiet:
            run += 1
        else:
            if run >= _SHORT_SILENCE_HOPS:
                ends.append(at)
            run = 0
    return ends


def _clipped(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
