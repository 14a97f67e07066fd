import type { AgentCard, Part, Task, TaskState } from '../index.ts'

/** A stream that may be a terminal. */
export type CommandOutput = NodeJS.WritableStream & { readonly isTTY?: boolean }

/** Dims what is not the answer itself, on terminals that show it and where NO_COLOR does not forbid it. */
export function dim(text: string, output: CommandOutput): string {
  const plain = !output.isTTY || Boolean(process.env.NO_COLOR) || process.env.TERM === 'dumb'
  return plain ? text : `\u001b[2m${text}\u001b[22m`
}

/** Text of others without control characters: an agent's words must not steer the terminal that shows them. */
export function safe(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, '')
}

/** A part as text; files by their name and type. */
export function partText(part: Part): string {
  if ('text' in part) return safe(part.text)
  if ('data' in part) return safe(JSON.stringify(part.data, null, 2))
  const name = part.filename ?? ('url' in part ? part.url : 'file')
  return safe(`[${name}${part.mediaType ? `, ${part.mediaType}` : ''}]`)
}

/** A state as people write it: `completed`, `input-required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

/** A task as a few lines. */
export function taskText(task: Task): string {
  const { id, contextId, status, artifacts = [], history = [] } = task
  const lines = [
    `task     ${safe(id)}`,
    `context  ${safe(contextId)}`,
    `state    ${stateName(status.state)}${status.timestamp ? ` since ${safe(status.timestamp)}` : ''}`,
  ]
  if (status.message) lines.push(`says     ${status.message.parts.map(partText).join('')}`)
  for (const { role, parts } of history)
    lines.push('', `${role === 'ROLE_USER' ? 'user' : 'agent'}:`, parts.map(partText).join(''))
  for (const { name, artifactId, parts } of artifacts)
    lines.push('', `artifact ${safe(name ?? artifactId)}:`, parts.map(partText).join(''))
  return lines.join('\n')
}

/** A card as a page. */
export function cardText(card: AgentCard): string {
  const { capabilities, securityRequirements = [] } = card
  const can = Object.entries(capabilities).flatMap(([name, value]) => (value === true ? name : []))
  const schemes = securityRequirements.map(({ schemes: all }) => Object.keys(all).join(' and '))
  const lines = [
    `${safe(card.name)} ${safe(card.version)}`,
    safe(card.description),
    '',
    'Interfaces:',
    toColumns(
      card.supportedInterfaces.map(({ protocolBinding, protocolVersion, url }) =>
        [' ', url, protocolBinding, protocolVersion].map(safe),
      ),
    ),
    'Skills:',
    ...card.skills.map(({ id, description }) => `  ${safe(id)}: ${safe(description)}`),
    `Can: ${can.join(', ') || 'answer'}`,
    `Takes: ${safe(card.defaultInputModes.join(', '))}; gives: ${safe(card.defaultOutputModes.join(', '))}`,
    `Asks for: ${safe(schemes.join(', or ')) || 'no credentials'}`,
  ]
  return lines.join('\n')
}

/** Rows as aligned columns. */
export function toColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows
    .map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}
