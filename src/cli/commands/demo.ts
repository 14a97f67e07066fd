import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { type Agent, type AgentEvent, defineAgent, type Turn } from '../../agents/index.ts'
import { A2AClient } from '../../client/index.ts'
import { A2AError, type Task, textOf, usageExtension } from '../../index.ts'
import { createServer, type Server } from '../../server/index.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { createMemoryStore, type Store } from '../../store/index.ts'
import { isPostgresUrl } from '../../store/postgres/connection.ts'
import { defineTeam, type Team } from '../../team/index.ts'
import { createFakeClock, type FakeClock } from '../../testing/index.ts'
import { addCommand, exits } from '../command.ts'
import { addServeOptions, type ServeFlags, serveUntilStopped } from './serve.ts'

/** Adds `corral demo`. */
export function addDemoCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'demo',
    description: 'serve a story writing team and a studio to watch, offline and without keys',
    examples: ['corral demo', 'corral demo --port 8080 --store memory'],
  })
  addServeOptions(command)
    .option('--store <memory|path|url>', 'where tasks are kept', '.corral/demo.db')
    .action(exits(demo))
}

/** The team of the demo: a file of the package. */
const team = fileURLToPath(new URL('../../../examples/fantasy/corral.toml', import.meta.url))

/** Examples are for a store that is new: whoever has used the demo finds it as he left it. */
async function demo(flags: ServeFlags): Promise<number> {
  const { store = 'memory' } = flags
  const isNew = store === 'memory' || !(isPostgresUrl(store) || existsSync(store))
  return serveUntilStopped(team, flags, {
    agents: [createStudio()],
    // A card that is being made is taken up again at the next start.
    shutdownMs: 1_000,
    async prepare({ server }) {
      if (isNew) await addExamples(server.store)
    },
    async ready({ server }) {
      if (isNew) await beginExample(server)
    },
  })
}

/** Examples of what to ask it, the first of them asked by the demo itself. */
const wishes = [
  'Write a card from a lighthouse in November',
  'A card about the last tram of the night',
  'Write a card about a market in the rain',
  'A card from a garden behind the station',
] as const

/**
 * The second team of the demo, to be looked at: it takes its time, a member uses a tool, one has to be asked twice, two
 * work at once, one is a team itself, and the user is asked before anything is printed. All of it offline.
 */
function createStudio(clock: Clock = systemClock): Team {
  const { writer, critic, ...members } = createMembers(clock)
  const desk = defineTeam({
    id: 'desk',
    name: 'Desk',
    description: 'A writer and a critic',
    clock,
    agents: { writer, critic },
    scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }, { agentId: 'critic' }] },
  })
  return defineTeam({
    id: 'studio',
    name: 'Studio',
    description: 'Writes, paints and prints a card about anything; asks before it prints',
    version: '1.0.0',
    clock,
    agents: { ...members, desk },
    skills: [
      {
        id: 'card',
        name: 'Cards',
        description: 'A card about a place or a thing',
        tags: ['writing'],
        examples: [...wishes],
      },
    ],
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'scout' },
        { parallel: [{ agentId: 'desk' }, { agentId: 'painter' }] },
        { agentId: 'editor', name: 'edit', maxRetries: 2 },
        { approval: { question: 'Shall the studio print this card?', onFeedback: 'edit' } },
        { agentId: 'publisher' },
      ],
    },
  })
}

/** What a member of the studio is, and what it does with a text. */
interface MemberPart {
  readonly name: string
  readonly description: string
  /** How long it thinks before its first word. */
  readonly thinksMs: number
  /** Says what it has to say; may use tools, and may fail. */
  work(text: string, turn: Turn): string
}

/** The members by their ids. */
function createMembers(
  clock: Clock,
): Readonly<Record<'scout' | 'writer' | 'critic' | 'painter' | 'editor' | 'publisher', Agent>> {
  const member = (part: MemberPart): Agent => createMember(clock, part)
  return {
    scout: member({
      name: 'Scout',
      description: 'Looks the subject up in the archive',
      thinksMs: 900,
      work: scout,
    }),
    writer: member({
      name: 'Writer',
      description: 'Writes a first draft from what the scout found',
      thinksMs: 1_200,
      work: (text) => draft(subjectOf(text)),
    }),
    critic: member({
      name: 'Critic',
      description: 'Reads the draft and cuts what it does not need',
      thinksMs: 800,
      work: (text) => text.replace(', as everybody there will tell you', ''),
    }),
    painter: member({
      name: 'Painter',
      description: 'Says what the picture on the front shows',
      thinksMs: 1_500,
      work: (text) => `*On the front:* ${subjectOf(text)} at first light, in three colours.`,
    }),
    editor: member({
      name: 'Editor',
      description: 'Puts words and picture on one card',
      thinksMs: 700,
      work: createEditor(),
    }),
    publisher: member({
      name: 'Publisher',
      description: 'Prints what was approved',
      thinksMs: 600,
      work: (text) => `${text.trim()}\n\n— *printed by the studio*`,
    }),
  }
}

/** Between two words. */
const wordMs = 60

/** A member that thinks, then speaks word by word, and tells about how many tokens that were. */
function createMember(clock: Clock, { name, description, thinksMs, work }: MemberPart): Agent {
  return defineAgent(
    { name, description, abilities: [name.toLowerCase()], resumable: true },
    async function* (message, turn): AsyncGenerator<AgentEvent> {
      const asked = textOf(message.parts)
      await pause(clock, thinksMs, turn)
      const answer = work(asked, turn)
      const words = answer.split(/(?<=\s)/)
      for (const word of words.slice(0, -1)) {
        yield word
        await pause(clock, wordMs, turn)
      }
      const usage = {
        inputTokens: toTokens(asked),
        outputTokens: toTokens(answer),
        estimated: true,
      }
      yield turn.artifact(
        {
          artifactId: 'response',
          parts: [{ text: words.at(-1) ?? '' }],
          metadata: { [usageExtension]: usage },
        },
        { append: words.length > 1, lastChunk: true },
      )
    },
  )
}

/** Waits, as people do who think; a cancelled turn ends the wait. */
function pause(clock: Clock, ms: number, { signal }: Pick<Turn, 'signal'>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      callOff()
      reject(signal.reason)
    }
    const callOff = clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function toTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

/** What the archive of the studio knows; it is found by a tool, as a model would. */
const archive: readonly string[] = [
  'It is older than the road that leads to it.',
  'Three families have kept its keys.',
  'In winter its light is seen from the other shore.',
  'Nobody agrees on who named it.',
]

function scout(text: string, turn: Turn): string {
  const subject = subjectOf(text)
  const from = [...subject].reduce((sum, one) => sum + (one.codePointAt(0) ?? 0), 0)
  const found = [0, 1].flatMap((i) => archive[(from + i) % archive.length] ?? [])
  turn.trace({
    type: 'tool',
    agent: 'scout',
    tool: 'search_archive',
    round: 0,
    durationMs: 340,
    failed: false,
    arguments: JSON.stringify({ subject }),
    result: JSON.stringify({ found }),
  })
  return `Subject: ${subject}\n${found.map((fact) => `- ${fact}`).join('\n')}`
}

const named = /^Subject: (.{1,80})$/m
const about = /\b(?:about|of|from)\s+(.{1,80})/i

/** What it is all about: as a colleague has written it down, or as the user has said it. */
function subjectOf(text: string): string {
  const start = text.slice(0, 2_000)
  const found = named.exec(start)?.[1] ?? about.exec(start)?.[1] ?? start.split('\n')[0] ?? ''
  return (
    found
      .replace(/[.!?]$/, '')
      .trim()
      .slice(0, 80) || 'a harbour'
  )
}

function draft(subject: string): string {
  return `Subject: ${subject}\n\nDear you, I am writing from ${subject}. It is older than the road that leads to it, as everybody there will tell you. Come before the season ends, and bring nothing.`
}

/** Its press is jammed the first time a task comes to it: so that there is a second try to be seen. */
function createEditor(): MemberPart['work'] {
  const jammed = new Set<string>()
  return (text, { taskId }) => {
    if (!jammed.delete(taskId)) {
      jammed.add(taskId)
      if (jammed.size > 1_000) jammed.clear()
      throw new A2AError('agentUnavailable', 'The press is jammed; it needs a moment')
    }
    const [words = '', wish] = text.split('\n\nFeedback: ')
    const body = words.replace(/^(?:Subject: .*|desk:|painter:)\n+/gm, '').trim()
    const added = wish === undefined ? '' : `\n\n*As you wished:* ${wish.trim()}`
    return `# A card from ${subjectOf(words)}\n\n${body}${added}`
  }
}

/** How long ago the first of them began, and how long after one the next. */
const agoMs = 40 * 60_000

/** Runs that a first look at the demo finds: what was asked, and what the user said to the question, if anything. */
const runs: readonly (readonly [wish: string, verdict?: 'yes' | 'no'])[] = [
  [wishes[1], 'yes'],
  [wishes[2], 'no'],
  [wishes[3], 'yes'],
  ['A card about a bakery at four in the morning'],
]

const apartMs = 8 * 60_000

/**
 * Puts finished and waiting runs of the studio into a store that has none. They are real runs, made on a clock that goes
 * as fast as it is asked, with their whole logs.
 */
async function addExamples(store: Store): Promise<void> {
  const clock = createFakeClock(systemClock.now() - agoMs)
  const stop = letPass(clock)
  const drafts = createMemoryStore()
  const server = await createServer({
    agents: [createStudio(clock)],
    store: drafts,
    clock,
    logger: false,
  })
  try {
    for (const [wish, verdict] of runs) {
      const { id } = await say(server, wish)
      if (verdict !== undefined) await say(server, verdict, id)
      await copy(id, drafts, store)
      clock.advance(apartMs)
    }
  } finally {
    stop()
    await server.close()
    await drafts.close()
  }
}

const stepMs = 20

/** Lets time go by in small steps, each once everything that was due is done. */
function letPass(clock: FakeClock): () => void {
  let next = setImmediate(step)
  function step(): void {
    clock.advance(stepMs)
    next = setImmediate(step)
  }
  return () => clearImmediate(next)
}

async function say(server: Server, text: string, taskId?: string): Promise<Task> {
  const continued = taskId === undefined ? {} : { taskId }
  const answer = await toStudio(server).sendMessage(text, continued)
  if ('task' in answer) return answer.task
  throw new Error('The studio has answered without a task')
}

function toStudio(server: Server): A2AClient {
  return new A2AClient({ dispatch: server.dispatch('studio') })
}

async function copy(id: string, from: Store, to: Store): Promise<void> {
  const stored = await from.get(id)
  const records = await from.records(id, 0)
  if (!stored) return
  const { head, task } = stored
  await to.commit([{ type: 'task', head, expectedVersion: 0, records, task }])
}

/** Lets the studio begin a card, so that somebody is at work when the page is opened. */
async function beginExample(server: Server): Promise<void> {
  await toStudio(server).sendMessage(wishes[0], { configuration: { returnImmediately: true } })
}
