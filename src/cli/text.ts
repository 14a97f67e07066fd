import type { AgentCard, Part, Task, TaskState } from '../index.ts'
import { toPrintableLine } from '../shared/text.ts'
import { pad, widthOf } from './terminal/width.ts'

/** A part as text; files by their name and type. */
export function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data, null, 2)
  const name = part.filename ?? ('url' in part ? part.url : 'file')
  return toPrintableLine(`[${name}${part.mediaType ? `, ${part.mediaType}` : ''}]`)
}

/** A state as people write it: `completed`, `input-required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

/** A task as a few lines. */
export function taskText(task: Task): string {
  const { id, contextId, status, artifacts = [], history = [] } = task
  const lines = [
    `task     ${toPrintableLine(id)}`,
    `context  ${toPrintableLine(contextId)}`,
    `state    ${stateName(status.state)}${status.timestamp ? ` since ${toPrintableLine(status.timestamp)}` : ''}`,
  ]
  if (status.message) lines.push(`says     ${status.message.parts.map(partText).join('')}`)
  for (const { role, parts } of history)
    lines.push('', `${role === 'ROLE_USER' ? 'user' : 'agent'}:`, parts.map(partText).join(''))
  for (const { name, artifactId, parts } of artifacts)
    lines.push('', `artifact ${toPrintableLine(name ?? artifactId)}:`, parts.map(partText).join(''))
  return lines.join('\n')
}

/** A card as a page. */
export function cardText(card: AgentCard): string {
  const { capabilities, securityRequirements = [] } = card
  const can = Object.entries(capabilities).flatMap(([name, value]) => (value === true ? name : []))
  const schemes = securityRequirements.map(({ schemes: all }) => Object.keys(all).join(' and '))
  const lines = [
    toPrintableLine(`${card.name} ${card.version}`),
    toParagraph(card.description),
    '',
    'Interfaces:',
    toColumns(
      card.supportedInterfaces.map(({ protocolBinding, protocolVersion, url }) => [
        ' ',
        url,
        protocolBinding,
        protocolVersion,
      ]),
    ),
    'Skills:',
    ...card.skills.map(
      ({ id, description }) => `  ${toPrintableLine(id)}: ${toParagraph(description)}`,
    ),
    toPrintableLine(`Can: ${can.join(', ') || 'answer'}`),
    toPrintableLine(
      `Takes: ${card.defaultInputModes.join(', ')}; gives: ${card.defaultOutputModes.join(', ')}`,
    ),
    toPrintableLine(`Asks for: ${schemes.join(', or ') || 'no credentials'}`),
  ]
  return lines.join('\n')
}

/** Lines of others below a first one: they stand further in, so that none can pass for ours. */
function toParagraph(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

/** A longer cell is not waited for: its row runs over, and the others stay as they are. */
const widest = 100

/** Rows as aligned columns; each cell stays on its line. */
export function toColumns(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(toPrintableLine))
  const widths = (cells[0] ?? []).map((_, i) =>
    cells.reduce((width, row) => Math.min(Math.max(width, widthOf(row[i] ?? '')), widest), 0),
  )
  return cells
    .map((row) => row.map((cell, i) => pad(cell, widths[i] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}
