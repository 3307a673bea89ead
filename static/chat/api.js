/* Requests to /chat/api/. A refusal becomes an ApiProblem. */

const ROOT = "/chat/api/";

/** A request that was refused, or that did not arrive. `retryAfter` is in seconds, or null. */
export class ApiProblem extends Error {
  constructor({ status = 0, code, message, retryAfter = null }) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** Send a request and return the response. Raises ApiProblem, and AbortError if the signal aborts it. */
export async function send(method, path, { body, raw, headers = {}, signal } = {}) {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  let response;
  try {
    response = await fetch(ROOT + path, {
      method,
      signal,
      headers: { ...headers, "X-CSRFToken": token, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: raw ?? (body ? JSON.stringify(body) : undefined),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiProblem({ code: "unreachable", message: "The chat cannot be reached. Check your connection." });
  }
  if (response.ok) return response;
  throw await readProblem(response);
}

/** Upload a file and return {id, name, content_type, size}. */
export async function sendFile(file, signal) {
  const headers = {
    "Content-Type": file.type || "application/octet-stream",
    "Content-Disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.name).replace(/['()*]/g, percentEncode)}`,
  };
  const response = await send("POST", "files", { raw: file, headers, signal });
  const { id, name, content_type, size } = await response.json();
  return { id, name, content_type, size };
}

/** encodeURIComponent leaves these as they are; in a header they have a meaning. */
const percentEncode = (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;

export async function sendJson(method, path, body) {
  const response = await send(method, path, { body });
  return response.status === 204 ? null : response.json();
}

async function readProblem(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // A proxy's page: the status says enough.
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After"), 10);
  return new ApiProblem({
    status: response.status,
    code: error.code ?? "unavailable",
    message: error.message ?? `The chat answered with an error (${response.status}). Try again soon.`,
    retryAfter: Number.isNaN(seconds) ? null : seconds,
  });
}
