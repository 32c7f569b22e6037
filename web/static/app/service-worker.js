/**
 * The page's service worker. The server puts `const SHELL = {version, files}` before it; see web/shell.py.
 *
 * It stores the files of the page, and nothing else: no request to the server's interface passes through it. While the
 * server can be reached, the page and all its files come from the server. If the page does not, the page and all its
 * files come from the store, so that files of two versions never meet.
 */

const STORE = `repartee-shell-${SHELL.version}`;
const REACH_WITHIN_MS = 8000;
const UNREACHABLE = new Set([502, 503, 504]); // a proxy without its server, or a server that is full
const KEPT_HEADERS = [
  "content-type", "content-security-policy", "cross-origin-opener-policy", "cross-origin-resource-policy", "permissions-policy",
  "referrer-policy", "x-content-type-options",
];
const AT_ONCE = 4; // files that are fetched at a time
const MAX_CLIENTS = 20;

const fromStore = new Set(); // ids of the open pages that came from the store

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(activate()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const name = shellName(request);
  if (name === "" && request.mode === "navigate") event.respondWith(page(event));
  else if (name && fromStore.has(event.clientId)) event.respondWith(stored(name));
});

/** Returns the name of a file in the shell; undefined for any other request. */
function shellName({ method, url }) {
  const { scope } = registration;
  const address = url.split(/[?#]/)[0];
  const name = method === "GET" && address.startsWith(scope) ? address.slice(scope.length) : undefined;
  return name !== undefined && Object.hasOwn(SHELL.files, name) ? name : undefined;
}

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
async function page(event) {
  let answer = null;
  try {
    answer = await Promise.race([fetch(event.request), timeout(REACH_WITHIN_MS)]);
  } catch {
    // not reached
  }
  if (answer && !UNREACHABLE.has(answer.status)) return answer;
  const kept = await stored("");
  if (kept.type === "error") return answer ?? kept;
  if (fromStore.size >= MAX_CLIENTS) fromStore.clear();
  fromStore.add(event.resultingClientId);
  return kept;
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
