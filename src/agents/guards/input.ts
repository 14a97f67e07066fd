import type { Json, JsonObject, Message, Part } from '../../protocol/types.ts'
import { digestOf } from '../../shared/ids.ts'
import { isFields } from '../../shared/json.ts'
import type { Turn } from '../agent.ts'
import { ContentBlocked } from './blocked.ts'
import type { GuardCheck } from './check.ts'
import { GuardedTurn, type GuardedView } from './guarded-turn.ts'
import { guardHistory } from './history.ts'

/**
 * The turn as the guards of the input leave it: its message, and earlier ones, which the log has as the user sent them.
 * @throws ContentBlocked
 */
export async function guardInput(check: GuardCheck, message: Message, turn: Turn): Promise<Turn> {
  if (!check.isNeeded) return turn
  const past = createPast(check, turn)
  const parts = await past.remember(message.parts, () => check.parts(message.parts, 'message'))
  const { metadata } = message
  const noted = metadata && (await guardHistory(check, check.notes(metadata)))
  const left = { ...message, parts, ...(noted && { metadata: noted }) }
  if (check.decides && turn.number > 1) await past.learn(turn.history)
  return new GuardedTurn(turn, { message: left, ...past })
}

interface Past extends Omit<GuardedView, 'message'> {
  /** Keeps what was decided of a message by those who might decide otherwise another time. */
  remember(given: readonly Part[], work: () => Promise<readonly Part[]>): Promise<readonly Part[]>
}

/** What was decided of earlier messages stays with the conversation, under their content: copies have other ids. */
function createPast(check: GuardCheck, turn: Turn): Past {
  const known = new Map<string, readonly Part[]>()
  const keyOf = async (parts: readonly Part[]): Promise<string> =>
    `corral:guards:${await digestOf([check.owner, parts])}`
  const keep = async (given: readonly Part[], left: readonly Part[]): Promise<void> => {
    if (check.decides && left !== given) turn.context.set(await keyOf(given), toKept(left))
  }
  return {
    async remember(given, work) {
      try {
        const left = await work()
        await keep(given, left)
        return left
      } catch (thrown) {
        if (thrown instanceof ContentBlocked) await keep(given, [])
        throw thrown
      }
    },
    async learn(messages) {
      if (!check.decides) return
      for (const { role, parts } of messages) {
        const kept = role === 'ROLE_USER' && partsOf(await turn.context.get(await keyOf(parts)))
        if (kept) known.set(JSON.stringify(parts), kept)
      }
    },
    earlier(message) {
      if (message.role !== 'ROLE_USER') return message
      const parts = check.again(known.get(JSON.stringify(message.parts)) ?? message.parts)
      if (parts?.length) return parts === message.parts ? message : { ...message, parts }
      return undefined
    },
  }
}

function toKept(parts: readonly Part[]): JsonObject {
  const value: object = { parts }
  return value as JsonObject // parts are JSON
}

function partsOf(value: Json | undefined): readonly Part[] | undefined {
  if (!isFields(value) || !Array.isArray(value.parts)) return undefined
  return value.parts as readonly Part[] // only toKept writes these keys
}
