// AG-UI's own client: a run, an interrupt for a call that deletes something, and the run that goes on after it.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";

const { CHAT_URL, CHAT_KEY, CHAT_SUBJECT, DELETE_MESSAGE } = process.env;
const headers = { Authorization: `Bearer ${CHAT_KEY}`, "Gateway-Subject": CHAT_SUBJECT };
const agent = new HttpAgent({ url: `${CHAT_URL}/chat/api/ag-ui`, headers });

agent.addMessage({ id: "m1", role: "user", content: "What is on my plate? Show my high-priority tasks." });
const first = await agent.runAgent({ runId: "run-1" });
const answer = agent.messages.at(-1);
assert.equal(answer.role, "assistant");
assert.match(answer.content, /Draft the homepage copy/);
assert.equal(agent.messages.filter((message) => message.role === "tool").length, 1);
assert.equal(first.result.reason, "stop");

agent.addMessage({ id: "m2", role: "user", content: DELETE_MESSAGE });
let interrupts = [];
await agent.runAgent(
  { runId: "run-2" },
  { onRunFinishedEvent: ({ event }) => { interrupts = event.outcome.interrupts ?? []; } },
);
assert.equal(interrupts.length, 1);
assert.equal(interrupts[0].reason, "confirmation_required");

let outcome;
await agent.runAgent(
  { runId: "run-3", resume: [{ interruptId: interrupts[0].id, status: "resolved", payload: { approved: true } }] },
  { onRunFinishedEvent: ({ event }) => { outcome = event; } },
);
assert.equal(outcome.outcome.type, "success");
assert.deepEqual(outcome.result.written.map((each) => [each.action, each.status]), [["delete", "success"]]);
console.log("ok");
