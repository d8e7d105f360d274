// Drives an AG-UI client over stdin: one command a line, one result a line. The argument names the package.
import readline from "node:readline";

const { HttpAgent } = await import(process.argv[2]);
const agents = new Map();
// A browser goes on after a rejection that nobody handles, such as the client's own when its server dies; so does this.
process.on("unhandledRejection", () => {});

function made({ name, url, thread, headers, messages }) {
  agents.set(name, new HttpAgent({ url, threadId: thread, headers, initialMessages: messages ?? [] }));
  return {};
}

async function run({ name, add, parameters, input, abortAfter }) {
  const agent = agents.get(name);
  for (const message of add ?? []) agent.addMessage(message);
  if (input) {
    // What a client under somebody's control would send: members of the request in place of the honest ones.
    const honest = agent.requestInit.bind(agent);
    agent.requestInit = (given) => {
      const init = honest(given);
      return { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...input }) };
    };
  }
  const events = [];
  let error = null;
  const stop = (event) => {
    events.push(event);
    if (abortAfter && event.type === abortAfter) agent.abortRun();
  };
  try {
    await agent.runAgent(parameters ?? {}, { onEvent: ({ event }) => stop(event) });
  } catch (caught) {
    error = { name: caught?.name ?? "", message: String(caught?.message ?? caught), status: caught?.status ?? null };
  }
  return { events, error, messages: agent.messages, pending: agent.pendingInterrupts ?? null };
}

const operations = { made, run };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { op, ...given } = JSON.parse(line);
  let result;
  try {
    result = await operations[op](given);
  } catch (caught) {
    result = { failed: String(caught?.stack ?? caught) };
  }
  process.stdout.write(JSON.stringify(result) + "\n");
}
