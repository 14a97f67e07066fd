import type { Command } from 'commander'
import { addClientOptions, type ClientFlags, withClient } from '../client.ts'
import { addCommand, exits } from '../command.ts'
import { stdout } from '../screen.ts'
import { cardText } from '../text.ts'

interface CardFlags extends ClientFlags {
  readonly extended?: boolean
}

/** Adds `corral card`. */
export function addCardCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'card <url>',
    description: 'show the card of an agent',
    examples: [
      'corral card http://localhost:3000',
      'corral card http://localhost:3000 --json | jq .skills',
    ],
  })
  addClientOptions(command)
    .option('--extended', 'the card for authenticated callers')
    .action(exits(cardCommand))
}

async function cardCommand(url: string, flags: CardFlags): Promise<number> {
  const card = await withClient(url, flags, (client) =>
    flags.extended ? client.getExtendedAgentCard() : client.fetchAgentCard(),
  )
  stdout.write(`${flags.json ? JSON.stringify(card, null, 2) : cardText(card)}\n`)
  return 0
}
