import type { Agent, AgentEvent, AgentReply, Turn } from '../../src/agents/agent.ts'
import { type AgentDescription, defineAgent } from '../../src/agents/function.ts'
import type { Message } from '../../src/protocol/types.ts'
import { createDeferred, type Deferred, withSignal } from '../../src/shared/async.ts'

/** An agent that does what the first word of a message says. */
export interface ScriptedAgent extends Agent {
  /** Lets every turn that holds go on, or if none does yet, the next that would. */
  release(): void
  /** Texts of the messages that reached the agent, in order. */
  readonly heard: readonly string[]
}

/** What a turn may wait for. */
interface Hold {
  wait(turn: Turn): Promise<void>
}

type Script = (turn: Turn, words: string, hold: Hold) => AgentReply

const scripts: Readonly<Record<string, Script>> = {
  say: (turn, words) => turn.reply(words),
  async *ask(turn) {
    yield turn.ask('Which one?')
  },
  async *auth(turn, _words, hold) {
    yield turn.status('TASK_STATE_AUTH_REQUIRED', 'Please sign in at https://auth.example')
    await hold.wait(turn)
    yield turn.status('TASK_STATE_WORKING')
    yield 'Signed in'
  },
  async *reject(turn) {
    yield turn.status('TASK_STATE_REJECTED', 'Not this')
  },
  fail: () => {
    throw new Error('secret detail in /etc/passwd')
  },
  async *hold(turn, words, hold) {
    yield turn.status('TASK_STATE_WORKING', 'Holding')
    await hold.wait(turn)
    yield words === '' ? 'Held' : words
  },
  async *mute(turn, _words, hold) {
    await hold.wait(turn)
    yield turn.status('TASK_STATE_WORKING', 'At last')
    await hold.wait(turn)
  },
  async *ponder(turn, _words, hold) {
    yield turn.status('TASK_STATE_WORKING', 'Pondering')
    await hold.wait(turn)
    yield turn.ask('Which one?')
  },
  async *chunks(_turn, words): AsyncGenerator<AgentEvent> {
    for (const word of words.split(' ')) yield `${word} `
  },
  async *modes(turn) {
    yield turn.acceptedOutputModes.includes('application/json')
      ? turn.artifact({ artifactId: 'out', parts: [{ data: { ok: true } }] })
      : turn.artifact({ artifactId: 'out', parts: [{ text: 'ok' }] })
  },
  async *parts(turn) {
    yield turn.artifact({
      artifactId: 'out',
      parts: [
        { text: 'words' },
        { raw: 'dGNr', filename: 'a.txt', mediaType: 'text/plain' },
        { url: 'https://files.example/a.png', filename: 'a.png', mediaType: 'image/png' },
        { data: { key: 'value' } },
      ],
    })
  },
}

/** Makes the agent that the conformance tests serve; what it does not know it echoes. */
export function createScriptedAgent(description: Partial<AgentDescription> = {}): ScriptedAgent {
  const heard: string[] = []
  let gate: Deferred<void> = createDeferred()
  let holding = 0
  let early = false
  const hold: Hold = {
    async wait(turn) {
      if (early) {
        early = false
        return
      }
      holding++
      await withSignal(gate.promise, turn.signal).finally(() => holding--)
    },
  }
  const agent = defineAgent({ name: 'Scripted', ...description }, (message, turn) => {
    const text = textOf(message)
    heard.push(text)
    const [word = '', ...rest] = text.split(' ')
    const script = Object.hasOwn(scripts, word) ? scripts[word] : undefined
    return script ? script(turn, rest.join(' '), hold) : `Echo: ${text}`
  })
  return {
    ...agent,
    heard,
    release() {
      early = holding === 0
      gate.resolve()
      gate = createDeferred()
    },
  }
}

function textOf({ parts }: Message): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}
