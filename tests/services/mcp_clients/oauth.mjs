// Both versions of the TypeScript SDK sign in over OAuth. Writes the URL that the user has to open to standard output,
// and reads the query with which the browser comes back from standard input.
import assert from "node:assert/strict";
import { createInterface } from "node:readline/promises";

const { MCP_URL, CLIENT_ID, REDIRECT_URI, TASK_ID, SDK } = process.env;
const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
  SDK === "1"
    ? {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
        ...(await import("@modelcontextprotocol/sdk/client/auth.js")),
      }
    : await import("@modelcontextprotocol/client");

const stored = {};
const authProvider = {
  redirectUrl: REDIRECT_URI,
  clientMetadata: { client_name: "Example app", redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: "none" },
  state: () => "s1",
  clientInformation: () => ({ client_id: CLIENT_ID, issuer: stored.issuer }),
  tokens: () => stored.tokens,
  saveTokens: (tokens) => void (stored.tokens = tokens),
  redirectToAuthorization: (url) => console.log(url.href),
  saveCodeVerifier: (verifier) => void (stored.verifier = verifier),
  codeVerifier: () => stored.verifier,
  saveDiscoveryState: (state) => void (stored.discovery = state),
  discoveryState: () => stored.discovery,
};
const connect = async () => {
  const client = new Client({ name: "tests", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(MCP_URL), { authProvider });
  return [client, transport];
};

const [first, transport] = await connect();
await assert.rejects(first.connect(transport), UnauthorizedError);
const input = createInterface({ input: process.stdin });
const query = new URLSearchParams(await input[Symbol.asyncIterator]().next().then(({ value }) => value));
assert.equal(query.get("state"), "s1");
await (SDK === "1" ? transport.finishAuth(query.get("code")) : transport.finishAuth(query));
input.close();

const [client, signedIn] = await connect();
await client.connect(signedIn);
const read = await client.callTool({ name: "tool_exec", arguments: { op: "onto.task.get", args: { task_id: TASK_ID } } });
assert.equal(read.structuredContent.result.task.id, TASK_ID);
await client.close();
console.log("ok");
