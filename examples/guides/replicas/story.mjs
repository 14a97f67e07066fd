import { setTimeout as sleep } from 'node:timers/promises'

export const resumable = true // a turn that was cut off runs again, from its last finished step

export default async function* story(_message, turn) {
  yield turn.status('TASK_STATE_WORKING', `process ${process.pid} tells it`)
  const lines = []
  for (const part of ['beginning', 'middle', 'turn', 'end']) {
    const tell = async () => {
      await sleep(700)
      return `${part}, told by process ${process.pid}`
    }
    lines.push(await turn.step(part, tell))
  }
  yield lines.join('\n')
}
