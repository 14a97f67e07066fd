import type { Command } from 'commander'
import { holdChat } from '../chat.ts'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits } from '../command.ts'
import { stderr, stdout } from '../screen.ts'
import { tracingOf } from '../tracing.ts'

interface ChatFlags extends ClientFlags {
  readonly context?: string
}

/** Adds `corral chat`. */
export function addChatCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'chat <url>',
    description:
      'talk with an agent, line by line. /help lists the commands: /new, /task, /trace, /cancel, /quit; Ctrl-C cancels the task that runs, and leaves when none does',
    examples: [
      'corral chat http://localhost:3000',
      'corral chat http://localhost:3000 --context 5b3f…',
    ],
  })
  addClientOptions(command)
    .option('--context <id>', 'go on with this conversation')
    .action(exits(chatCommand))
}

async function chatCommand(url: string, flags: ChatFlags): Promise<number> {
  return withClient(url, flags, async (client) => {
    const { name } = await client.fetchAgentCard()
    const json = flags.json ?? false
    await holdChat(client, {
      url,
      name,
      output: stdout,
      about: stderr,
      json,
      tracing: await tracingOf(client, !json),
      ...(flags.context && { contextId: flags.context }),
    })
    return 0
  })
}
