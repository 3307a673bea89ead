// The TypeScript SDK, version 1, which speaks the protocol before 2026-07-28, reads, writes and fails.
import assert from "node:assert/strict";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { checkGateway } from "./checks.mjs";

const { MCP_URL, GATEWAY_API_KEY } = process.env;
const headers = { Authorization: `Bearer ${GATEWAY_API_KEY}` };
const client = new Client({ name: "tests", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(MCP_URL), { requestInit: { headers } }));

assert.equal(client.transport.protocolVersion, "2025-11-25");
await checkGateway(client);
const refused = await client.callTool({
  name: "tool_exec",
  arguments: { op: "onto.task.delete", args: { task_id: process.env.TASK_ID } },
});
assert.equal(refused.structuredContent.error.details.reason, "confirmation_required");
await client.close();
console.log("ok");
