// What both versions of the TypeScript SDK must be able to do.
import assert from "node:assert/strict";

const { PROJECT_ID } = process.env;

export async function checkGateway(client) {
  const exec = (op, args) => client.callTool({ name: "tool_exec", arguments: { op, args } });

  assert.equal(client.getServerVersion().name, "tool-gateway");
  assert.match(client.getInstructions(), /^Use when /);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["tool_help", "tool_exec", "tool_batch"]);

  const help = await client.callTool({ name: "tool_help", arguments: { path: "onto.task" } });
  assert.equal(help.structuredContent.path, "onto.task");
  const written = await exec("onto.task.create", { project_id: PROJECT_ID, title: "Written by TypeScript" });
  const { task } = written.structuredContent.result;
  const read = await exec("onto.task.get", { task_id: task.id });
  assert.equal(read.structuredContent.result.task.title, "Written by TypeScript");
  const batch = await client.callTool({ name: "tool_batch", arguments: { ops: [{ type: "help" }] } });
  assert.equal(batch.structuredContent.summary.succeeded, 1);
  const failed = await exec("onto.task.get", { task_id: "7" });
  assert.equal(failed.isError, true);
  assert.equal(failed.structuredContent.error.code, "VALIDATION_ERROR");

  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert.equal(JSON.parse(contents[0].text).path, "root");
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: prompts[0].name });
  assert.match(prompt.messages[0].content.text, /tool_help/);
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "gateway://help/{path}" },
    argument: { name: "path", value: "onto.task.u" },
  });
  assert.deepEqual(completion.values, ["onto.task.update"]);
}
