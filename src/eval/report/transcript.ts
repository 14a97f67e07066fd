import { type ConversationMessage, isToolCall } from '../domain/conversation.ts'
import type { Simulation } from '../results/simulation.ts'
import { reasonsOf } from '../scorers/built-in.ts'
import type { RewardInfo, ScoreCheck } from '../scorers/scorer.ts'
import { escapeHtml } from './markup.ts'
import { outcomeOf } from './words.ts'

/** One simulation to open and read: what was said, what was called, and what the score is made of. */
export function transcript(simulation: Simulation): string {
  const { task_id, trial, termination_reason, duration, messages, error } = simulation
  const outcome = outcomeOf(simulation)
  const notes = [
    error,
    simulation.reward_info.info.note,
    ...simulation.warnings,
    ...simulation.retries,
  ]
    .filter((note) => note !== undefined)
    .map((note) => `<p class="note">${escapeHtml(note)}</p>`)
  return `<details class="sim ${outcome}" id="${escapeHtml(anchor(simulation))}">
<summary><span class="badge ${outcome}">${outcome}</span> <b>${escapeHtml(task_id)}</b> trial ${trial + 1}
<span class="quiet">${escapeHtml(termination_reason)}, ${messages.length} messages, ${duration} s, ${simulation.metrics_summary.total_tokens} tokens</span></summary>
${parts(simulation.reward_info)}${notes.join('')}
<ol class="talk">${messages.map(line).join('\n')}</ol>
</details>`
}

/** The place of a simulation in the page. */
export function anchor({ task_id, trial }: Pick<Simulation, 'task_id' | 'trial'>): string {
  return `sim-${trial + 1}-${task_id.replace(/[^\w-]/g, '_')}`
}

function line(message: ConversationMessage): string {
  if (message.role === 'tool')
    return `<li class="tool${message.error ? ' bad' : ''}"><b>${escapeHtml(message.name ?? 'tool')}</b><pre>${escapeHtml(pretty(message.content))}</pre></li>`
  const said = message.content ? `<p>${escapeHtml(message.content)}</p>` : ''
  const calls = isToolCall(message)
    ? (message.tool_calls ?? []).map(
        ({ name, arguments: args }) =>
          `<code>${escapeHtml(`${name}(${JSON.stringify(args)})`)}</code>`,
      )
    : []
  return `<li class="${message.role}"><b>${message.role === 'user' ? 'user' : 'agent'}</b>${said}${calls.join('')}</li>`
}

function pretty(content: string): string {
  try {
    return JSON.stringify(JSON.parse(content), null, 1)
  } catch {
    return content
  }
}

function parts(info: RewardInfo): string {
  const checks = reasonsOf(info).map(check)
  return checks.length > 0 ? `<ul class="checks">${checks.join('')}</ul>` : ''
}

function check({ what, met, why }: ScoreCheck): string {
  const words = why === undefined ? what : `${what}: ${why}`
  return `<li class="${met ? 'met' : 'unmet'}">${met ? '✓' : '✗'} ${escapeHtml(words)}</li>`
}
