import { useSignal } from '@preact/signals'
import type { AgentReport } from '../../src/console/api.ts'
import { sentenceOf, write } from '../logic/server.ts'
import { countInWords } from '../logic/words.ts'
import { Fault } from './empty.tsx'

const tones = { pass: 'good', fail: 'bad', skip: 'calm' } as const

/** What an agent does as the protocol demands; asked for by a press, since it sends the agent messages. */
export function CheckPanel({
  url,
  authorization,
}: {
  readonly url: string
  readonly authorization: string
}) {
  const report = useSignal<AgentReport | undefined>(undefined)
  const fault = useSignal('')
  const isRunning = useSignal(false)
  const run = async (): Promise<void> => {
    isRunning.value = true
    fault.value = ''
    try {
      report.value = await write<AgentReport>('relay', {
        kind: 'check',
        url,
        ...(authorization && { authorization }),
      })
    } catch (thrown) {
      fault.value = sentenceOf(thrown)
    }
    isRunning.value = false
  }
  const found = report.value
  const failed = found?.checks.filter(({ verdict }) => verdict === 'fail') ?? []
  const others = found?.checks.filter(({ verdict }) => verdict !== 'fail') ?? []
  return (
    <section class="panel pad" aria-label="Check">
      <p class="row">
        <button type="button" class="go" disabled={isRunning.value} onClick={() => void run()}>
          {isRunning.value ? 'Checking…' : found ? 'Check again' : 'Check this agent'}
        </button>
        <span class="soft" role="status">
          {found ? verdictOf(found) : 'Sends it a few messages and looks at how it answers.'}
        </span>
      </p>
      <Fault text={fault.value} />
      {found && (
        <ul class="checks">
          {[...failed, ...others].map(({ name, verdict, detail }) => (
            <li key={name}>
              <span class={`chip ${tones[verdict]}`}>{verdict}</span> {name}{' '}
              <span class="soft">{detail}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function verdictOf({ passed, failed, skipped }: AgentReport): string {
  const fine = failed === 0 ? 'Nothing failed' : `${countInWords(failed, 'check')} failed`
  return `${fine}; ${passed} passed, ${skipped} left out.`
}
