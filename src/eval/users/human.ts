import { createInterface } from 'node:readline/promises'
import { toPrintable } from '../../shared/text.ts'
import { spoken } from '../domain/conversation.ts'
import { scenarioText, type UserSimulator } from './user.ts'

/** Where a person reads and writes. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/** Lets a person at the terminal play the user; `/stop` ends the conversation. Runs one simulation at a time. */
export function createHumanUser(terminal: Terminal): UserSimulator {
  const lines = createInterface({ input: terminal.input, output: terminal.output })
  return {
    kind: 'human',
    refuses: () => undefined,
    start({ task }) {
      terminal.output.write(
        toPrintable(`\n== ${task.id} ==\n${scenarioText(task)}\n(/stop ends it)\n`),
      )
      return {
        async next(input, signal) {
          const said = 'role' in input ? (input.content ?? '') : JSON.stringify(input)
          const prompt = toPrintable(`\nagent> ${said}\nyou> `)
          const typed = (await lines.question(prompt, { signal })).trim()
          return spoken('user', typed === '/stop' || typed === '' ? '###STOP###' : typed)
        },
      }
    },
    close: async () => lines.close(),
  }
}
