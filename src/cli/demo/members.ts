import { type Agent, type AgentEvent, defineAgent, type Turn } from '../../agents/index.ts'
import { A2AError, textOf, usageExtension } from '../../index.ts'
import type { Clock } from '../../shared/clock.ts'
import { pause } from './pace.ts'

/** What a member of the studio is, and what it does with a text. */
interface Part {
  readonly name: string
  readonly description: string
  /** How long it thinks before its first word. */
  readonly thinksMs: number
  /** Says what it has to say; may use tools, and may fail. */
  work(text: string, turn: Turn): string
}

/** Between two words. */
const wordMs = 60

/** A member that thinks, then speaks word by word, and tells about how many tokens that were. */
function createMember(clock: Clock, { name, description, thinksMs, work }: Part): Agent {
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

function toTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

/** The members by their ids. */
export function createMembers(
  clock: Clock,
): Readonly<Record<'scout' | 'writer' | 'critic' | 'painter' | 'editor' | 'publisher', Agent>> {
  const member = (part: Part): Agent => createMember(clock, part)
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

function draft(subject: string): string {
  return `Subject: ${subject}\n\nDear you, I am writing from ${subject}. It is older than the road that leads to it, as everybody there will tell you. Come before the season ends, and bring nothing.`
}

/** Its press is jammed the first time a task comes to it: so that there is a second try to be seen. */
function createEditor(): Part['work'] {
  const jammed = new Set<string>()
  return (text, { taskId }) => {
    if (!jammed.delete(taskId)) {
      jammed.add(taskId)
      if (jammed.size > 1_000) jammed.clear()
      throw new A2AError('agentUnavailable', 'The press is jammed; it needs a moment')
    }
    const body = text.replace(/^(?:Subject: .*|desk:|painter:)\n+/gm, '')
    return `# A card from ${subjectOf(text)}\n\n${body.trim()}`
  }
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
