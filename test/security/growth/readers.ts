import { readVerdict, toToolName } from '../../../src/agents/tools.ts'
import { parseConfig } from '../../../src/app/config/load.ts'
import { decodeFrames } from '../../../src/bindings/sse.ts'
import { cardText, taskText, toColumns } from '../../../src/cli/transcript.ts'
import { A2AClient } from '../../../src/client/index.ts'
import { parseReply } from '../../../src/eval/agent/messages.ts'
import { createA2AConfig } from '../../../src/eval/agent/under-test.ts'
import { toJUnit } from '../../../src/eval/report.ts'
import type { EvalResults } from '../../../src/eval/results/results.ts'
import { createGuard } from '../../../src/network/guard.ts'
import {
  checkCard,
  isSemanticVersion,
  toMajorMinor,
  validateAgentId,
} from '../../../src/protocol/card.ts'
import { retryAfterMs } from '../../../src/shared/async.ts'
import { findJson, jsonIn } from '../../../src/shared/json.ts'
import { toHost, toPrintable, toPrintableLine } from '../../../src/shared/text.ts'
import type { Entrance } from './doors.ts'

const guard = createGuard()

/** What reads a text of others outside a server's doors: of remote agents, of files, and for the screen. */
export const readers: Readonly<Record<string, Entrance>> = {
  'host of a URL': toHost,
  'address of a webhook': (text) => guard.check(`https://a${text}b/`),
  'verdict of an approval': (text) => readVerdict([{ text }]),
  'JSON in prose': findJson,
  'JSON in fences': jsonIn,
  'name of a tool': toToolName,
  'id of an agent': validateAgentId,
  'version of a card': (text) => [toMajorMinor(text), isSemanticVersion(text)],
  'a card from elsewhere': (text) => fetchCard(text),
  'a card on the screen': (text) => [checkCard(cardOf(text)), cardText(cardOf(text))],
  'a task on the screen': (text) => taskText(taskOf(text)),
  'tasks on the screen': (text) =>
    toColumns(Array.from({ length: 200 }, (_, at) => [at === 0 ? text : 'a', 'b'])),
  'text for the screen': (text) => [toPrintable(text), toPrintableLine(text)],
  'Retry-After': (text) => retryAfterMs(text, 0),
  'events of a stream': (text) => readAll([`data: ${text}\n\n`, text]),
  'events in small pieces': (text) => readAll(`data: ${text}\n\n`.match(/.{1,64}/gs) ?? []),
  'a key of a file': (text) => parsing(`[server]\n"${text.replace(/["\\\n]/g, 'q')}" = 1\n`),
  'a value of a file': (text) =>
    parsing(`[[agents]]\nid = ${JSON.stringify(text)}\nname = ${JSON.stringify(text)}\n`),
  'a number of a file': (text) => parsing(`[server]\nport = ${JSON.stringify(text)}\n`),
  'a comment of a file': (text) =>
    parsing(`# ${text.replaceAll('\n', ' ')}\n[server]\nwrong = 1\n`),
  'a line of a file': (text) => parsing(text),
  'a list of a file': (text) => parsing(`a = [${text}]\n`),
  'a variable of a file': (text) => parsing(`[server]\nhost = ${JSON.stringify(`\${${text}}`)}\n`),
  'an endpoint to evaluate': (text) => createA2AConfig({ endpoint: `http://a${text}` }),
  'a token to evaluate': (text) => createA2AConfig({ endpoint: 'http://a', authToken: text }),
  'an answer to evaluate': (text) => parseReply([{ text }]),
  'a page of a report': (text) => toJUnit(resultsOf(text)),
}

/** As much of a run as a report without simulations reads. */
function resultsOf(text: string): EvalResults {
  const info = { environment_info: { domain_name: text }, agent_info: { name: text } }
  return { info, simulations: [], timestamp: '' } as unknown as EvalResults
}

function parsing(text: string): unknown {
  return parseConfig(text)
}

async function readAll(pieces: readonly string[]): Promise<void> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece)
  }
  for await (const _ of decodeFrames(chunks()));
}

function cardOf(text: string) {
  return {
    name: text,
    description: text,
    version: text,
    supportedInterfaces: [{ url: text, protocolBinding: text, protocolVersion: text }],
    capabilities: {},
    defaultInputModes: [text],
    defaultOutputModes: [text],
    skills: [{ id: text, name: text, description: text, tags: [text] }],
  }
}

function taskOf(text: string) {
  const message = { messageId: text, role: 'ROLE_AGENT', parts: [{ text }] } as const
  const status = { state: 'TASK_STATE_COMPLETED', message } as const
  const artifacts = [{ artifactId: text, name: text, parts: [{ text }] }]
  return { id: text, contextId: text, status, artifacts, history: [message] }
}

/** A client whose agent answers with a card, and headers, of this text. */
async function fetchCard(text: string): Promise<void> {
  const headers = { 'content-type': text, 'cache-control': text, etag: text, link: text }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(cardOf(text)))
  }
  const client = new A2AClient({
    serverUrl: 'http://agent.example',
    send: async () => ({
      status: 200,
      headers,
      text: async () => JSON.stringify(cardOf(text)),
      chunks,
    }),
  })
  await client.fetchAgentCard().finally(() => client.close())
}
