/** The commands of a block, as they are typed one after another. */
import { spawnSync } from 'node:child_process'

/** One command, perhaps of several lines. */
export interface Command {
  readonly line: number
  readonly text: string
}

/** The commands of a block whose first line has this number; comments and blank lines are none. */
export function toCommands(block: string, firstLine: number): readonly Command[] {
  const commands: Command[] = []
  let begun: Command | undefined
  for (const [at, line] of block.split('\n').entries()) {
    if (!begun && (line.trim() === '' || line.trim().startsWith('#'))) continue
    begun = begun
      ? { line: begun.line, text: `${begun.text}\n${line}` }
      : { line: firstLine + at, text: line }
    if (!isWhole(begun.text)) continue
    commands.push(begun)
    begun = undefined
  }
  return begun ? [...commands, begun] : commands
}

/** The command with the packed package in place of its name, where it installs it. */
export function withPackage(command: string, tarball: string): string {
  if (!/\bnpm (install|i|add)\b/.test(command)) return command
  return command.replace(/(?<=\s)corral(?:@[\w.-]+)?(?=\s|$)/g, tarball)
}

/** Whether a shell would run it, instead of asking for the rest of a quotation, a loop or a text. */
function isWhole(text: string): boolean {
  if (text.endsWith('\\')) return false
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })
  return status === 0 && stderr === ''
}
