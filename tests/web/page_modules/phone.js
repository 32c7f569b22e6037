/** What a phone does to a page: its screen goes off, and a page in the background loses its microphone. */

import { WakeLock } from "/static/app/wake-lock.js";
import { MicrophoneStream } from "/static/session/microphone-stream.js";
import { run, same } from "./check.js";

/** Lets every pending promise settle. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

function showPage(shown) {
  Object.defineProperty(document, "hidden", { value: !shown, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
  return settled();
}

/** Runs a check with a wake lock of a touch screen. `request`: as of navigator.wakeLock; null: the browser has none. */
async function withLock(request, check) {
  const { matchMedia } = window;
  window.matchMedia = () => ({ matches: true });
  Object.defineProperty(navigator, "wakeLock", { value: request && { request }, configurable: true });
  let reports = 0;
  const lock = new WakeLock(() => reports++);
  try {
    await check(async (running) => (lock.draw(running), settled()), () => reports);
  } finally {
    await showPage(true);
    lock.draw(false);
    window.matchMedia = matchMedia;
    delete navigator.wakeLock;
    delete document.hidden;
  }
}

function grantedLocks() {
  const locks = [];
  const request = async () => {
    const lock = { released: false, release: async () => (lock.released = true) };
    locks.push(lock);
    return lock;
  };
  return { locks, request, held: () => locks.filter(({ released }) => !released).length };
}

/** A microphone whose track changes as the check says. */
class Input extends EventTarget {
  track = { readyState: "live", muted: false };
  opened = 0;

  async open() {
    this.opened++;
    this.track = { readyState: "live", muted: false };
    return true;
  }

  close() {}
}

async function withMicrophone(check) {
  const input = new Input();
  const stream = new MicrophoneStream(input, () => ({ deviceId: "" }));
  const events = [];
  stream.addEventListener("opened", ({ detail }) => events.push(detail ? "opened again" : "opened"));
  stream.addEventListener("problem", ({ detail }) => events.push(detail.problem));
  stream.addEventListener("unmuted", () => events.push("unmuted"));
  await stream.open();
  try {
    await check({ input, stream, events });
  } finally {
    stream.close();
    delete document.hidden;
  }
}

export default () => run({
  async "the screen is kept on from the start to the end of a conversation"() {
    const { request, held } = grantedLocks();
    await withLock(request, async (draw) => {
      same(held(), 0);
      await draw(true);
      await draw(true);
      same(held(), 1);
      await draw(false);
      same(held(), 0);
    });
  },
  async "a lock that the browser released is taken again when the page is shown"() {
    const { locks, request, held } = grantedLocks();
    await withLock(request, async (draw) => {
      await draw(true);
      locks[0].released = true;
      await showPage(false);
      same(held(), 0);
      await showPage(true);
      same([held(), locks.length], [1, 2]);
    });
  },
  async "a lock that is granted after the end is released"() {
    const { locks, request } = grantedLocks();
    let grant;
    await withLock(() => new Promise((resolve) => (grant = () => request().then(resolve))), async (draw) => {
      await draw(true);
      await draw(false);
      grant();
      await settled();
      same(locks.map(({ released }) => released), [true]);
    });
  },
  async "a browser without wake locks is reported once in a conversation"() {
    await withLock(null, async (draw, reports) => {
      for (const running of [true, true]) await draw(running);
      await showPage(false);
      await showPage(true);
      same(reports(), 1);
      for (const running of [false, true]) await draw(running);
      same(reports(), 2);
    });
  },
  async "a refused lock is reported, and asked for again when the page is shown"() {
    let asked = 0;
    const refuse = async () => {
      asked++;
      throw new DOMException("low battery", "NotAllowedError");
    };
    await withLock(refuse, async (draw, reports) => {
      await draw(true);
      await showPage(false);
      await showPage(true);
      same([asked, reports()], [2, 1]);
    });
  },
  async "a microphone that works is not opened again at a change of tabs"() {
    await withMicrophone(async ({ input, events }) => {
      await showPage(false);
      await showPage(true);
      same([input.opened, events], [1, ["opened"]]);
    });
  },
  async "a microphone that ended or was muted in the background is opened again"() {
    for (const change of [{ readyState: "ended" }, { muted: true }]) {
      await withMicrophone(async ({ input, events }) => {
        await showPage(false);
        Object.assign(input.track, change);
        await showPage(true);
        same([input.opened, events], [2, ["opened", "opened again"]]);
      });
    }
  },
  async "a microphone that is lost in the background is opened again"() {
    await withMicrophone(async ({ input, events }) => {
      await showPage(false);
      input.track = null;
      input.dispatchEvent(new Event("lost"));
      await showPage(true);
      same(events, ["opened", "unplugged", "opened again"]);
    });
  },
  async "a microphone that the system mutes is reported until it is unmuted"() {
    await withMicrophone(async ({ input, events }) => {
      input.dispatchEvent(new Event("mute"));
      input.dispatchEvent(new Event("unmute"));
      same([input.opened, events], [1, ["opened", "taken", "unmuted"]]);
    });
  },
  async "a closed microphone stays closed when the page is shown"() {
    await withMicrophone(async ({ input, stream }) => {
      stream.close();
      input.track = null;
      await showPage(false);
      await showPage(true);
      same(input.opened, 1);
    });
  },
});
