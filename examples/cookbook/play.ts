import type { Message } from 'corral'
import type { Team } from 'corral/team'
import { runTeam, type TeamRun } from 'corral/team'
import { type ModelRequest, type ModelScript, openModelServer } from 'corral/testing'

/** What a program of the cookbook is played with. */
export interface Example {
  /** What was said before in the same conversation. */
  readonly earlier?: readonly string[]
  readonly message: string | Message
  /** What the user answers when the team asks. */
  readonly answers?: readonly string[]
  /** What stands in for a model service where none is named by MODEL_URL; absent where the team has no models. */
  readonly model?: ModelScript
  /** Starts what else the team needs, and says by which variables the team finds it. */
  open?(): Promise<Surroundings>
}

/** What a team needs around it. */
interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void> | void
}

/** Plays a program that was started by itself, with the model service at MODEL_URL or without any, and prints what happened. */
export async function play(
  file: string,
  createTeam: (modelUrl: string) => Team,
  example: Example,
): Promise<void> {
  if (process.argv[1] !== file) return
  const { message, earlier = [], answers = [], model = [''] } = example
  const service = process.env.MODEL_URL ? undefined : await openModelServer(model)
  const around = await example.open?.()
  Object.assign(process.env, around?.env)
  const team = createTeam(process.env.MODEL_URL ?? service?.url ?? '')
  print(await runTeam(team, message, { earlier, answers, logger: false }))
  await team.close()
  await around?.close()
  await service?.close()
}

/** The text of the last message that a model was sent. */
export function lastWords({ messages }: ModelRequest): string {
  return String(messages.at(-1)?.content)
}

function print({ text, state, questions, delegations }: TeamRun): void {
  for (const { member, text: asked } of delegations) console.log(`→ ${member}: ${asked}`)
  for (const question of questions) console.log(`? ${question}`)
  console.log(`${state}: ${text}`)
}
