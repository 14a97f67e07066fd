import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import { createFacts, type TaskFacts } from './facts.ts'
import { LastRead } from './last-read.ts'
import { createTraces } from './traces.ts'
import { wordsOf } from './words.ts'

/** Reads what the views show of tasks, however large they are, and remembers what it has read. */
export interface TaskReader {
  /** The first words of the user's first message. */
  words(stored: StoredTask): Promise<string>
  /** What only the log tells. */
  facts(stored: StoredTask): Promise<TaskFacts>
  /** The entries of the trace and the questions to the user, in order, as far as a long log is read. */
  traced(stored: StoredTask): Promise<readonly LogRecord[]>
}

const maxWords = 10_000

/** Makes the reader of a console. */
export function createTaskReader(store: Store): TaskReader {
  const traced = createTraces(store)
  return { words: createWords(store), facts: createFacts(store, traced), traced }
}

/** A list does not bring the messages of large tasks: of these the first one is read once, since it never changes. */
function createWords(store: Store): TaskReader['words'] {
  const kept = new LastRead<string>(maxWords)
  return async ({ head: { id }, task }) => {
    if (task.history) return wordsOf(task)
    const known = kept.get(id)
    if (known !== undefined) return known
    const whole = await store.get(id, undefined, { artifacts: false })
    const words = whole ? wordsOf(whole.task) : ''
    kept.set(id, words)
    return words
  }
}
