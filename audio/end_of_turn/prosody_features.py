"""Computes two dozen prosodic features of the end of a span of speech from a `ProsodyTrack`. Pure."""

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
    """Prosodic features of the end of a span of speech and of the silence after it.

    docs/lab/turn-taking.md says which of them the model uses and which were not informative.

    All values are relative to the same turn or the same speaker. Absolute microphone level and room noise carry no
    information about the end of a turn, but they identify the source in any collection of recordings.

    Attributes:
        pitch_end_st: Pitch of the last voiced 80 ms relative to the speaker's median, in semitones; 0 if unvoiced.
        pitch_slope_st: Rise over the last 300 ms, in semitones.
        pitch_rank: Share of the turn's voiced hops that are lower than its end; 0.5 if there are none.
        pitch_known: 1 if at least 40 ms of the last 400 are voiced.
        unvoiced_tail_ms: Time from the last voiced hop to the end, at most 300.
        voiced_share: Voiced share of the last 300 ms.
        clarity_end: Mean periodicity of the last 150 ms; low for creaky voice.
        level_end_db: Level of the last 100 ms relative to the turn's loud hops (90th percentile).
        level_before_db: Level of the 200 ms before those, likewise.
        level_fall_db: Fall of the level over the last 150 ms.
        peak_db: Peak of the last syllable relative to the loud hops.
        after_peak_ms: Time from that peak to the end, at most 600: the length of the last syllable.
        lengthening: Logarithm of the ratio of that time to the mean distance of the turn's peaks.
        rate_hz: Syllable peaks per second in the last two seconds.
        change_end_db: Spectral change in the last 200 ms relative to the turn's mean; low for a steady "um".
        tilt_end_db: Spectral tilt of the last 150 ms relative to the turn's mean.
        vad_end: Mean VAD probability over the last 100 ms.
        vad_silence: Mean VAD probability since the end.
        vad_tail_ms: Time after the end during which the VAD probability was above 0.1.
        breath_db: The loudest hop of the silence, from 60 ms on, relative to its quietest.
        decay_db: Level 20-80 ms into the silence relative to the quietest hop of the last eight seconds.
        run_s: Logarithm of the seconds of speech since the last silence of 200 ms.
        spoken_s: Logarithm of the seconds since the turn began.
        silences: Number of earlier silences of 200 ms in the turn, at most 5.
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
        """Returns the features by name."""
        return asdict(self)


def prosody_at(track: ProsodyTrack, onset: Samples, edge: Samples) -> Prosody:
    """Computes the features of the current silence.

    Args:
        track: A track with every frame up to now.
        onset: Start of the turn.
        edge: End of its last speech according to the VAD.
    """
    quiet = min(max((track.end - edge) // HOP_SAMPLES, 0), HISTORY_HOPS - 60)
    stop = HISTORY_HOPS - quiet
    available_hops = min(track.hops, (track.end - onset) // HOP_SAMPLES)
    start = min(max(HISTORY_HOPS - available_hops, 0), stop - 30)
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
    features = {
        "pitch_end_st": 0.0,
        "pitch_slope_st": 0.0,
        "pitch_rank": 0.5,
        "pitch_known": float(len(voiced) >= _VOICED_HOPS),
        "unvoiced_tail_ms": min(last, 300.0),
        "voiced_share": float((track.pitch[stop - 30 : stop] != UNVOICED).mean()),
        "clarity_end": float(track.clarity[stop - 15 : stop].mean()),
    }
    if len(voiced) < _VOICED_HOPS:
        return features
    end = float(np.median(tail[voiced[-8:]]))
    usual = track.usual_pitch or end
    whole = track.pitch[start:stop]
    whole = whole[whole != UNVOICED]
    recent = voiced[voiced >= voiced[-1] - 30]
    features["pitch_end_st"] = _clipped((end - usual) * _SEMITONES, 12)
    features["pitch_slope_st"] = _clipped(_robust_rise(tail[recent]) * _SEMITONES, 12)
    if len(whole):  # all voiced hops of a short turn may lie before its start
        features["pitch_rank"] = float((whole < end).mean())
    return features


def _robust_rise(pitch: Floats) -> float:
    """Returns the rise in octaves from the first to the last third; medians make it robust to an octave error."""
    third = max(len(pitch) // 3, 1)
    return float(np.median(pitch[-third:]) - np.median(pitch[:third]))


def _level(level: Floats, loud_db: float) -> dict[str, float]:
    return {
        "level_end_db": float(level[-10:].mean()) - loud_db,
        "level_before_db": float(level[-30:-10].mean()) - loud_db,
        "level_fall_db": float(level[-15:-10].mean() - level[-5:].mean()),
    }


def _syllables(level: Floats, loud_db: float) -> dict[str, float]:
    """Finds the last peak of the smoothed level, the time after it, and the rate of peaks."""
    smooth = np.convolve(np.pad(level, 3, mode="edge"), np.hanning(9)[1:-1] / np.hanning(9)[1:-1].sum(), "valid")
    peaks = _peaks(smooth, loud_db - _LOUD_RANGE_DB)
    if not peaks:
        return {"peak_db": 0.0, "after_peak_ms": 600.0, "lengthening": 0.0, "rate_hz": 0.0}
    after = (len(level) - peaks[-1]) * _MS
    recent = [peak for peak in peaks if peak >= len(level) - 2 * HOPS_PER_S]
    span = min(len(level), 2 * HOPS_PER_S) / HOPS_PER_S
    # Distances over 400 ms contain a pause.
    gaps = [gap for gap in np.diff(peaks).tolist() if gap <= 40]
    usual = float(np.mean(gaps)) * _MS if gaps else 200.0
    return {
        "peak_db": float(smooth[peaks[-1]]) - loud_db,
        "after_peak_ms": min(after, 600.0),
        "lengthening": log(max(after, 20.0) / usual),
        "rate_hz": len(recent) / span,
    }


def _peaks(smooth: "np.ndarray[tuple[int], np.dtype[np.floating]]", min_db: float) -> list[int]:
    """Returns the peaks at least 3 dB above the dips on both sides and louder than `min_db`."""
    peaks: list[int] = []
    top, dip = 0, float("inf")
    rising = True
    for index, value in enumerate(smooth.tolist()):
        if rising:
            if value > smooth[top]:
                top = index
            elif value < smooth[top] - _PEAK_DB:
                if smooth[top] >= min_db:
                    peaks.append(top)
                rising, dip = False, value
        else:
            dip = min(dip, value)
            if value > dip + _PEAK_DB:
                rising, top = True, index
    if rising and smooth[top] >= min_db and (not peaks or top > peaks[-1]):
        peaks.append(top)
    return peaks


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
    """Returns the ends of the silences of at least 200 ms inside the span."""
    ends: list[int] = []
    run = 0
    for index, quiet in enumerate((voice < 0.35).tolist()):
        if quiet:
            run += 1
        else:
            if run >= _SHORT_SILENCE_HOPS:
                ends.append(index)
            run = 0
    return ends


def _clipped(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
