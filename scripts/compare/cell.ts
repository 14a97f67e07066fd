import type { Installed } from './place.ts'
import { type Running, type Side, start } from './side.ts'

/** A row of the comparison: the same question to both sides. */
export interface Cell {
  readonly name: string
  readonly question: string
  /** How it was found out, for whoever wants to repeat it. */
  readonly how: string
  run(place: Installed): Promise<Findings> | Findings
}

/** What each side did, in words. */
export type Findings = Readonly<Record<Side, string>>

/** Asks one side after the other, so that neither takes time from the other. */
export async function askBoth(ask: (side: Side) => Promise<string>): Promise<Findings> {
  return { corral: await ask('corral'), peer: await ask('peer') }
}

/** A cell that asks a fresh server of each side. */
export function ofServer(cell: Omit<Cell, 'run'>, ask: (server: Running) => Promise<string>): Cell {
  return {
    ...cell,
    run: (place) =>
      askBoth(async (side) => {
        const server = await start(place, side)
        const finding = await ask(server)
        await server.kill()
        return finding
      }),
  }
}
