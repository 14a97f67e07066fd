import { sortedJson } from '../base/json.ts'
import {
  type ConversationMessage,
  isToolCall,
  type SpokenMessage,
  spoken,
  type ToolCall,
} from '../domain/conversation.ts'
import type { EvalTask } from '../domain/task.ts'
import type { User, UserSimulator } from './user.ts'

/** A conversation to replay the user's side of. */
export interface Recording {
  readonly task_id: string
  readonly trial?: number
  readonly messages: readonly ConversationMessage[]
}

/**
 * Plays the user of recorded conversations again, turn by turn, and reports the turn at which the agent's tool calls
 * leave the record: from there on the user answers something that was not said.
 */
export function createReplayUser(recordings: readonly Recording[]): UserSimulator {
  const find = (task: EvalTask, trial?: number): Recording | undefined =>
    recordings.find((one) => one.task_id === task.id && one.trial === trial) ??
    recordings.find((one) => one.task_id === task.id)
  return {
    kind: 'replay',
    refuses: (task) => (find(task) ? undefined : `There is no recording of task ${task.id}`),
    start: ({ task, trial }) => createReplay(find(task, trial)?.messages ?? []),
  }
}

function createReplay(messages: readonly ConversationMessage[]): User {
  const turns = messages.filter((message): message is SpokenMessage => message.role === 'user')
  const expected = messages.flatMap(agentCalls)
  let turn = 0
  let calls = 0
  let divergence: string | undefined
  return {
    async next() {
      const { content, tool_calls } = turns[turn++] ?? spoken('user', '###STOP###')
      return spoken('user', content, tool_calls ?? [])
    },
    observe(message) {
      for (const call of agentCalls(message)) {
        const wanted = expected[calls++]
        if (divergence === undefined && keyOf(call) !== keyOf(wanted))
          divergence = `Replay left its record at call ${calls}, after user turn ${turn}: ${call.name} instead of ${wanted?.name ?? 'nothing'}`
      }
    },
    warnings: () => (divergence === undefined ? [] : [divergence]),
  }
}

function agentCalls(message: ConversationMessage): readonly ToolCall[] {
  return message.role === 'assistant' && isToolCall(message) ? (message.tool_calls ?? []) : []
}

function keyOf(call: ToolCall | undefined): string {
  return call ? sortedJson([call.name, call.arguments]) : ''
}
