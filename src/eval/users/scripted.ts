import { newId } from '../../shared/ids.ts'
import { isResults, type SpokenMessage, spoken, type ToolMessage } from '../domain/conversation.ts'
import type { ScriptedReply, UserScript } from '../domain/task.ts'
import { compileWhen, whenFault } from '../domain/when.ts'
import type { User, UserSimulator } from './user.ts'

/** Plays the user by the lines of a task's `user_script`; needs no model and does the same every time. */
export const scriptedUser: UserSimulator = {
  kind: 'scripted',
  refuses({ id, user_script: script }) {
    if (!script) return `Task ${id} has no user_script`
    const faults = script.replies.flatMap(({ when }, index) => {
      const fault = whenFault(when)
      return fault === undefined ? [] : [`Task ${id}: user_script.replies.${index}.when ${fault}`]
    })
    return faults[0]
  },
  start({ task }) {
    if (!task.user_script) throw new Error(`Task ${task.id} has no user_script`)
    return createScripted(task.user_script)
  },
}

function createScripted(script: UserScript): User {
  const { opening, replies, fallback = 'Could you please look into it?', patience = 2 } = script
  const isFound = new Map(replies.map((reply) => [reply, compileWhen(reply.when)]))
  const used = new Map<ScriptedReply, number>()
  let opened = false
  let lost = 0
  let pending: string | undefined

  function answer(said: string): SpokenMessage {
    const reply = replies.find(
      (one) => (used.get(one) ?? 0) < (one.times ?? 1) && isFound.get(one)?.(said),
    )
    if (!reply) return ++lost > patience ? stop('That did not help. Goodbye.') : say(fallback)
    lost = 0
    used.set(reply, (used.get(reply) ?? 0) + 1)
    if (reply.stop) return stop(reply.say ?? 'Goodbye.')
    if (!reply.call) return say(reply.say ?? fallback)
    pending = reply.say
    return spoken('user', null, [{ id: newId(), ...reply.call, requestor: 'user' }])
  }

  return {
    async next(input) {
      if (!opened) {
        opened = true
        return say(opening)
      }
      const line = pending
      pending = undefined
      if (isResults(input)) return line === undefined ? answer(textOf(input)) : say(line)
      return answer(input.content ?? '')
    },
  }
}

function textOf(results: readonly ToolMessage[]): string {
  return results.map(({ content }) => content).join('\n')
}

function say(text: string): SpokenMessage {
  return spoken('user', text)
}

function stop(text: string): SpokenMessage {
  return say(`${text} ###STOP###`)
}
