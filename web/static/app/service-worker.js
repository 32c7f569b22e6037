/**
 * The page's service worker. The server puts `const SHELL = {version, files}` before it; see web/shell.py.
 *
 * It stores the files of the page, and nothing else: no request to the server's interface passes through it. While the
 * server can be reached, the page and all its files come from the server. If it cannot, the page comes from the store and
 * names its files by addresses that only the store has, so that files of two versions are never mixed.
 */

const STORE = `repartee-shell-${SHELL.version}`;
const REACH_WITHIN_MS = 8000;
const UNREACHABLE = new Set([502, 503, 504]); // a proxy without its server, or a server that is full
const KEPT_HEADERS = [
  "content-type", "content-security-policy", "cross-origin-opener-policy", "cross-origin-resource-policy", "permissions-policy",
  "referrer-policy", "x-content-type-options",
];
const AT_ONCE = 4; // files that are fetched at a time
const KEPT = `kept/${SHELL.version}/`; // prefix of the addresses of stored files

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(activate()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const address = request.url.split(/[?#]/)[0];
  if (request.method !== "GET" || !address.startsWith(registration.scope)) return;
  const name = address.slice(registration.scope.length);
  if (name === "" && request.mode === "navigate") event.respondWith(page(request));
  else if (name.startsWith(KEPT)) event.respondWith(stored(name.slice(KEPT.length)));
});

async function install() {
  const store = await caches.open(STORE);
  const names = Object.keys(SHELL.files);
  const fetchNext = async () => {
    for (let name; (name = names.pop()) !== undefined;) await store.put(keyOf(name), await fileOfVersion(name));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, fetchNext));
  await skipWaiting(); // open pages that came from the server do not notice
}

/** Returns a file as this version has it. If the server has another one by now, the installation fails and is tried again later. */
async function fileOfVersion(name) {
  const older = await caches.match(keyOf(name));
  if (older && (await hash(await older.clone().arrayBuffer())) === SHELL.files[name]) return older;
  const response = await fetch(keyOf(name), { cache: "no-cache", credentials: "same-origin" });
  const body = await response.arrayBuffer();
  if (!response.ok || (await hash(body)) !== SHELL.files[name]) throw new Error(`${name || "the page"} is of another version`);
  const headers = KEPT_HEADERS.filter((one) => response.headers.has(one)).map((one) => [one, response.headers.get(one)]);
  return new Response(body, { headers });
}

async function activate() {
  for (const name of await caches.keys()) if (name.startsWith("repartee-shell-") && name !== STORE) await caches.delete(name);
  await clients.claim();
}

/** Returns the page: from the server, or from the store if the server cannot be reached. */
async function page(request) {
  let answer = null;
  try {
    answer = await Promise.race([fetch(request), timeout(REACH_WITHIN_MS)]);
  } catch {
    // not reached
  }
  if (answer && !UNREACHABLE.has(answer.status)) return answer;
  const kept = await stored("");
  if (kept.type === "error") return answer ?? kept;
  const text = await kept.text();
  return new Response(text.replace(/(href|src)="(?=static\/[^"]*\.(?:css|js|svg)")/g, `$1="${KEPT}`), { headers: kept.headers });
}

async function stored(name) {
  const store = await caches.open(STORE);
  return (await store.match(keyOf(name))) ?? Response.error();
}

function keyOf(name) {
  return new URL(name, registration.scope).href;
}

function timeout(ms) {
  return new Promise((_, reject) => setTimeout(() => reject(new Error("too slow")), ms));
}

async function hash(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))));
}
