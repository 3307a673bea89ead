// The TypeScript SDK, version 2, reads, writes and fails on 2026-07-28. It asks its user before a delete.
import assert from "node:assert/strict";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { checkGateway } from "./checks.mjs";

const { MCP_URL, GATEWAY_API_KEY, TASK_ID } = process.env;
const client = new Client(
  { name: "tests", version: "1" },
  { versionNegotiation: { mode: "auto" }, capabilities: { elicitation: { form: {} } } },
);
const questions = [];
client.setRequestHandler("elicitation/create", async ({ params }) => {
  questions.push(params.message);
  return questions.length === 1 ? { action: "decline" } : { action: "accept", content: { agree: true } };
});
const headers = { Authorization: `Bearer ${GATEWAY_API_KEY}` };
await client.connect(new StreamableHTTPClientTransport(new URL(MCP_URL), { requestInit: { headers } }));

assert.equal(client.getNegotiatedProtocolVersion(), "2026-07-28");
await checkGateway(client);
const call = { name: "tool_exec", arguments: { op: "onto.task.delete", args: { task_id: TASK_ID } } };
const declined = await client.callTool(call);
assert.equal(declined.structuredContent.error.details.reason, "confirmation_declined");
const accepted = await client.callTool(call);
assert.equal(accepted.structuredContent.ok, true);
assert.equal(questions.length, 2);
await client.close();
console.log("ok");
