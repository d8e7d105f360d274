// Drives the AI SDK's chat over stdin: one command a line, one result a line.
import readline from "node:readline";
import { AbstractChat, DefaultChatTransport } from "ai";

class State {
  status = "ready";
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((one, at) => (at === index ? structuredClone(message) : one));
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor({ messages, ...init }) {
    super({ ...init, state: new State(messages ?? []) });
  }
}

const chats = new Map();

function made({ name, id, api, headers, messages, again }) {
  const about = { errors: [], finished: [], responses: [] };
  const fetched = async (url, init) => {
    const response = await fetch(url, init);
    about.responses.push({ status: response.status, headers: Object.fromEntries(response.headers) });
    return response;
  };
  about.chat = new Chat({
    id,
    messages,
    transport: new DefaultChatTransport({
      api,
      headers,
      fetch: fetched,
      ...(again && { prepareReconnectToStreamRequest: ({ id }) => ({ api: `${api}/${id}/stream?again=1` }) }),
    }),
    onError: (error) => about.errors.push(String(error.message)),
    onFinish: ({ finishReason, isAbort, isError }) => about.finished.push({ finishReason, isAbort, isError }),
  });
  chats.set(name, about);
  return {};
}

async function result(about) {
  const { chat, errors, finished, responses } = about;
  const said = { messages: chat.messages, status: chat.status, errors, finished, responses };
  Object.assign(about, { errors: [], finished: [], responses: [] });
  return said;
}

async function send({ name, message }) {
  const about = chats.get(name);
  await about.chat.sendMessage(message);
  return result(about);
}

// Sends, and goes away once something of the answer has come.
async function leave({ name, message, text }) {
  const about = chats.get(name);
  const sent = about.chat.sendMessage(message);
  const has = () => JSON.stringify(about.chat.lastMessage?.parts ?? []).includes(text);
  while (!has()) await new Promise((done) => setTimeout(done, 5));
  await about.chat.stop();
  await sent;
  return result(about);
}

async function resume({ name }) {
  const about = chats.get(name);
  await about.chat.resumeStream();
  return result(about);
}

async function respond({ name, id, approved }) {
  const about = chats.get(name);
  await about.chat.addToolApprovalResponse({ id, approved });
  await about.chat.sendMessage();
  return result(about);
}

const operations = { made, send, leave, resume, respond };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { op, ...given } = JSON.parse(line);
  let said;
  try {
    said = await operations[op](given);
  } catch (caught) {
    said = { failed: String(caught?.stack ?? caught) };
  }
  process.stdout.write(JSON.stringify(said) + "\n");
}
