// Talks to the server: JSON, and Server-Sent Events of a POST, which EventSource cannot send.

export class Refused extends Error {}

/** The server of this page: `?server=`, else the meta element, else where the page comes from. */
export function serverAddress() {
  const asked = new URLSearchParams(location.search).get("server");
  const named = asked ?? document.querySelector('meta[name="elt-llm-server"]').content;
  const address = new URL(named || "/", location.href);
  if (!["http:", "https:"].includes(address.protocol)) throw new Refused("The server must be http or https.");
  return address;
}

/** Sends a request; throws Refused with the server's own words. */
export async function send(server, path, { key, body, signal, accept = "application/json" } = {}) {
  const headers = { accept };
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(new URL(path, server), {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  if (!response.ok) throw new Refused(await reasonOf(response));
  return response;
}

async function reasonOf(response) {
  const told = await response.json().catch(() => ({}));
  const { message, hint } = told.error ?? {};
  return [message ?? `The server answered ${response.status}.`, hint].filter(Boolean).join(" ");
}

/** The events of a stream as [name, content], one after the other, however the bytes were cut. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) yield read(frame);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function read(frame) {
  let name = "message";
  const data = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return [name, data.length ? JSON.parse(data.join("\n")) : null];
}
