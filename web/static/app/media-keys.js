/** The media keys of keyboards, headphones and lock screens, while a conversation runs. */

import { text } from "../texts/texts.js";

const ACTIONS = ["play", "pause", "stop", "togglemicrophone"];
const ARTWORK = [["icon-192.png", "192x192"], ["icon-512.png", "512x512"]];

export class MediaKeys {
  /**
   * @param {object} page
   * @param {() => void} page.mute mutes or unmutes
   * @param {() => boolean} page.interrupt stops a reply; returns whether there was one
   * @param {() => void} page.end ends the conversation
   */
  constructor({ mute, interrupt, end }) {
    this._handlers = {
      play: () => this._muted && mute(),
      pause: () => interrupt() || this._muted || mute(),
      stop: end,
      togglemicrophone: mute,
    };
    this._muted = false;
    this._sound = null; // an element that plays silence: browsers pass the keys only to pages that play one
  }

  /** @param {{running: boolean, muted: boolean}} state takes the keys while a conversation runs, and gives them back after it */
  draw({ running, muted }) {
    const session = navigator.mediaSession;
    if (!session) return;
    this._muted = muted;
    if (running && !this._sound) this._take(session);
    else if (!running && this._sound) this._release(session);
    if (running) session.playbackState = muted ? "paused" : "playing";
  }

  _take(session) {
    this._sound = new Audio(new URL("silence.flac", import.meta.url).href);
    this._sound.loop = true;
    this._sound.play().catch(() => {}); // without it the keys may go to another program; nothing else is lost
    if ("MediaMetadata" in window) {
      const artwork = ARTWORK.map(([file, sizes]) => ({ src: new URL(file, import.meta.url).href, sizes, type: "image/png" }));
      session.metadata = new MediaMetadata({ title: text("frame.conversation"), artist: "Repartee", artwork });
    }
    this._setHandlers(session, this._handlers);
  }

  _release(session) {
    this._sound.pause();
    this._sound.removeAttribute("src");
    this._sound.load();
    this._sound = null;
    this._setHandlers(session, {});
    session.metadata = null;
    session.playbackState = "none";
  }

  _setHandlers(session, handlers) {
    for (const action of ACTIONS) {
      try {
        session.setActionHandler(action, handlers[action] ?? null);
      } catch {
        // this browser does not know the action
      }
    }
  }
}
