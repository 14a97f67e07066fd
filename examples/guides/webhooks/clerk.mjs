import { textOf } from 'corral'

export default async function* clerk({ parts }, turn) {
  yield turn.status('TASK_STATE_WORKING', 'Writing it down')
  yield `Noted: ${textOf(parts)}`
}
