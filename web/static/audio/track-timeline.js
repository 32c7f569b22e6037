/**
 * Maps positions in the sound that a WebRTC track has sent to the context frames at which it was captured. Pure.
 *
 * The browser tells only how many packets of 20 ms it has sent by some time. A count is late by up to a packet, so the
 * earliest of those near a position is right. Others are not used: a busy browser may skip sound. Same interface as
 * CaptureTimeline.
 */

const PACKET_MS = 20;
const NEAR_MS = 500;
const KEPT = 160; // counts: 20 s

export class TrackTimeline {
  /** @param {number} rateHz sample rate of the context */
  constructor(rateHz) {
    this._rateHz = rateHz;
    this.reset();
  }

  reset() {
    this._counts = [];
  }

  /** The track sends by itself. */
  addSent() {}

  dropAfter() {}

  /**
   * Adds a count.
   * @param {number} packets that were sent
   * @param {number} time_s context time of the count
   */
  addCount(packets, time_s) {
    if (!packets) return;
    this._counts.push({ sent_ms: packets * PACKET_MS, time_s });
    if (this._counts.length > KEPT) this._counts.shift();
  }

  /**
   * @param {number} sentMs length of the sound before it
   * @returns {number | null} context frame; null if nothing was sent
   */
  frameAt(sentMs) {
    if (!this._counts.length) return null;
    const near = this._counts.filter(({ sent_ms }) => Math.abs(sent_ms - sentMs) < NEAR_MS);
    const starts = (near.length ? near : this._counts).map(({ sent_ms, time_s }) => time_s - sent_ms / 1000);
    return (Math.min(...starts) + sentMs / 1000) * this._rateHz;
  }
}
