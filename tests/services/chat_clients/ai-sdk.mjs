// The AI SDK's own client: an answer, an approval for a call that deletes something, and the answer after it.
import assert from "node:assert/strict";
import { AbstractChat, DefaultChatTransport } from "ai";

const { CHAT_URL, CHAT_KEY, CHAT_SUBJECT, DELETE_MESSAGE } = process.env;

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, message); };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(options) {
    super({ ...options, state: new State() });
  }
}

const headers = { Authorization: `Bearer ${CHAT_KEY}`, "Gateway-Subject": CHAT_SUBJECT };
const transport = new DefaultChatTransport({ api: `${CHAT_URL}/chat/api/ai-sdk`, headers });
const chat = new Chat({ id: "chat-1", transport, onError: (error) => { throw error; } });

const text = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
const tools = (message) => message.parts.filter((part) => part.type === "dynamic-tool");

await chat.sendMessage({ text: "What is on my plate? Show my high-priority tasks." });
const answer = chat.messages.at(-1);
assert.match(text(answer), /Draft the homepage copy/);
assert.deepEqual(tools(answer).map((part) => part.state), ["output-available"]);
assert.equal(answer.metadata.reason, "stop");

await chat.sendMessage({ text: DELETE_MESSAGE });
const waiting = tools(chat.messages.at(-1)).find((part) => part.state === "approval-requested");
assert.ok(waiting, JSON.stringify(chat.messages.at(-1).parts));
await chat.addToolApprovalResponse({ id: waiting.approval.id, approved: true });
await chat.sendMessage();
const after = chat.messages.at(-1);
assert.equal(tools(after).find((part) => part.toolCallId === waiting.toolCallId).state, "output-available");
assert.deepEqual(after.metadata.written.map((each) => each.action), ["delete"]);
assert.equal(await transport.reconnectToStream({ chatId: "chat-1" }), null);
console.log("ok");
