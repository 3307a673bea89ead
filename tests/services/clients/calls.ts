// Calls a gateway with the TypeScript client made from its OpenAPI document: node calls.js URL KEY.
// test_clients.py makes the client, compiles this with tsc, which checks its types, and runs it.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type ErrorCode = components["schemas"]["ErrorCode"];

const [url = "", key = ""] = process.argv.slice(2);

function connect(key: string) {
  return createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
}

const client = connect(key);

async function callHelp(): Promise<void> {
  const group = await client.POST("/api/v1/help", { body: { path: "onto.task" } });
  assert(group.data?.type === "group");
  const kinds = new Map(group.data.items.map((item) => [item.path, item.kind]));
  assert.equal(kinds.get("onto.task.list"), "read");
  assert.equal(kinds.get("onto.task.docs"), undefined);

  const op = await client.GET("/api/v1/help", { params: { query: { path: "onto.task.update" } } });
  assert(op.data?.type === "op" && !Array.isArray(op.data.args));
  assert.equal(op.data.args["task_id"], "uuid, required");

  const unknown = await client.POST("/api/v1/help", { body: { path: "onto.task.lst" } });
  assert.equal(unknown.response.status, 404);
  assert.equal(unknown.error?.error.code, "NOT_FOUND" satisfies ErrorCode);
  assert.equal(unknown.error.error.details.did_you_mean?.[0], "onto.task.list");
}

async function callExec(): Promise<void> {
  const success = await client.POST("/api/v1/exec", { body: { op: "onto.task.list", args: { limit: 2 } } });
  assert(success.data);
  assert.equal((success.data.result["tasks"] as unknown[]).length, 2);
  assert.equal(success.data.meta.operation?.action, "list");

  const refused = await client.POST("/api/v1/exec", { body: { op: "onto.task.list", args: { limit: "3" } } });
  assert.equal(refused.response.status, 400);
  assert(refused.error);
  const { code, details } = refused.error.error;
  assert.equal(code, "VALIDATION_ERROR" satisfies ErrorCode);
  assert.deepEqual(details.field_errors.map((each) => [each.path, each.code]), [["/limit", "type"]]);
  assert.deepEqual(details.retry_with?.["args"], { limit: 3 });
}

async function callWithAWrongKey(): Promise<void> {
  const { response, error } = await connect("wrong").POST("/api/v1/exec", { body: { op: "onto.task.list" } });
  assert.equal(response.status, 401);
  assert.equal(error?.op, null);
  assert.equal(error.error.code, "PERMISSION_DENIED" satisfies ErrorCode);
}

async function callEvents(): Promise<void> {
  const page = await client.GET("/api/v1/events", { params: { query: { limit: 1, code: "VALIDATION_ERROR" } } });
  const pairs: string[][] | undefined = page.data?.results[0]?.field_errors;
  assert.deepEqual(pairs, [["/limit", "type"]]);
}

await callHelp();
await callExec();
await callWithAWrongKey();
await callEvents();
