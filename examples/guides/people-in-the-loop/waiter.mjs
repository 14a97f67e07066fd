import { textOf } from 'corral'

/** Books a table once it knows for how many. */
export default async function* book({ parts }, turn) {
  if (!turn.task) {
    await turn.save('when', textOf(parts))
    yield turn.ask('For how many?')
    return
  }
  yield `A table for ${textOf(parts)}, ${turn.load('when')}.`
}
