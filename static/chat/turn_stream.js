/* Follow the events of one turn to its end, also across lost connections. */

import { ApiProblem, send } from "./api.js";
import { readEvents } from "./sse.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const GIVE_UP_AFTER_MS = 5 * 60_000; // as long as the server keeps the events

/** How following a turn ended. */
export const Outcome = { COMPLETE: "complete", GONE: "gone", LOST: "lost", LEFT: "left" };

export class TurnStream {
  /** `onEvent(type, data)` gets each event once. `onConnection(isLost)` is called when the connection is lost and restored. */
  constructor({ onEvent, onConnection }) {
    this.onEvent = onEvent;
    this.onConnection = onConnection;
    this.turn = "";
    this.last = 0;
    this.abort = new AbortController();
  }

  /** Begin a turn. Raises ApiProblem if the request is refused. */
  async start(body) {
    const response = await send("POST", "stream", { body, signal: this.abort.signal });
    return this.follow(response);
  }

  /** Follow a running turn, from its first event. */
  async resume(messageId) {
    this.turn = messageId;
    return this.follow(null);
  }

  /** Stop following, because the user leaves the page. The turn goes on. */
  leave() {
    this.abort.abort();
  }

  async follow(response) {
    let current = response;
    try {
      for (;;) {
        current ??= await this.reconnect();
        if (typeof current === "string") return current;
        if (await this.readAll(current)) return Outcome.COMPLETE;
        if (!this.turn) {
          throw new ApiProblem({ code: "unreachable", message: "The connection was lost before the answer began." });
        }
        current = null;
      }
    } catch (error) {
      if (error.name === "AbortError") return Outcome.LEFT;
      throw error;
    }
  }

  /** Pass the events of a response on. Return whether the turn ended; without `done` or `error` the connection was lost. */
  async readAll(response) {
    try {
      for await (const event of readEvents(response.body)) {
        const [turn, number] = event.id.split(":");
        if (turn === this.turn && Number(number) <= this.last) continue;
        this.turn = turn;
        this.last = Number(number);
        this.onEvent(event.type, event.data);
        if (event.type === "done" || event.type === "error") return true;
      }
    } catch (error) {
      if (this.abort.signal.aborted) throw error;
      if (!isBrokenLine(error)) throw error;
    }
    return false;
  }

  /** Ask for the rest, again and again for some minutes. Return the response, or why there is none. */
  async reconnect() {
    const since = Date.now();
    for (let pause = 0; Date.now() - since < GIVE_UP_AFTER_MS; pause = nextPause(pause)) {
      if (pause) await waitFor(pause, this.abort.signal);
      try {
        const headers = { "Last-Event-ID": `${this.turn}:${this.last}` };
        const response = await send("GET", "stream", { headers, signal: this.abort.signal });
        this.onConnection(false);
        return response.status === 204 ? Outcome.GONE : response; // 204: nothing comes after the last event
      } catch (error) {
        if (!(error instanceof ApiProblem)) throw error;
        if ([401, 403, 404, 409].includes(error.status)) return Outcome.GONE;
        this.onConnection(true);
      }
    }
    return Outcome.LOST;
  }
}

const nextPause = (pause) => Math.min(pause * 2 || FIRST_PAUSE_MS, LONGEST_PAUSE_MS);

const isBrokenLine = (error) => error instanceof TypeError || error.message === "silent" || error.name === "NetworkError";

/** Wait, but not longer than until the browser is online again. */
function waitFor(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      if (signal.aborted) reject(new DOMException("left", "AbortError"));
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    window.addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}
