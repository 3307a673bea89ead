/* Server-Sent Events from the body of a fetch. EventSource can neither POST nor send headers. */

// The server sends a comment every ten seconds. A connection that is silent for longer is lost.
const SILENT_AFTER_MS = 35_000;

/** Yield {id, type, data} for each complete event. Ends when the body ends; raises if the connection is lost. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { value, done } = await readOrTimeOut(reader);
      if (done) return; // what is left in the buffer is half an event, which comes again
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parseEvent(block) {
  const fields = { id: "", event: "", data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2); // a comment begins with the colon
  }
  return fields.data ? { id: fields.id, type: fields.event, data: JSON.parse(fields.data) } : null;
}

function readOrTimeOut(reader) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("silent")), SILENT_AFTER_MS);
  });
  return Promise.race([reader.read(), silence]).finally(() => clearTimeout(timer));
}
