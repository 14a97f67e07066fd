import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import {
  canTransition,
  createFold,
  type Fold,
  isTerminal,
  taskStates,
  textOf,
} from '../../src/protocol/task.ts'
import type {
  Artifact,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
} from '../../src/protocol/types.ts'

const ids = { taskId: 't', contextId: 'c' }

const start: Task = freeze({ id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } })

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    Object.values(Object.freeze(value)).forEach(freeze)
  return value
}

function say(messageId: string, text = messageId): Message {
  return { messageId, role: 'ROLE_AGENT', parts: [{ text }] }
}

function to(state: TaskState, message?: Message): StreamResponse {
  return { statusUpdate: { ...ids, status: { state, ...(message && { message }) } } }
}

function chunk(text: string, append = true, artifactId = 'a'): StreamResponse {
  return { artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] }, append } }
}

function foldAll(
  events: readonly StreamResponse[],
  options?: Parameters<typeof createFold>[1],
  task = start,
): Fold {
  const fold = createFold(task, options)
  for (const event of events) fold.apply(event)
  return fold
}

const word = fc.string({ maxLength: 4 })
const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: word }),
  fc.record({ text: word, mediaType: fc.constant('text/markdown') }),
  fc.record({ text: word, filename: fc.constant('notes.txt') }),
  fc.record({ text: word, metadata: fc.constant({ lang: 'en' }) }),
  fc.record({ data: fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<null> }), // any JSON; null stands for all of it
)
const artifactEvent: fc.Arbitrary<StreamResponse> = fc
  .record({
    artifactId: fc.constantFrom('a', 'b'),
    parts: fc.array(part, { maxLength: 3 }),
    append: fc.boolean(),
    name: fc.option(word, { nil: undefined }),
    metadata: fc.option(fc.dictionary(word, word, { maxKeys: 2 }), { nil: undefined }),
  })
  .map(({ append, artifactId, parts, name, metadata }) => ({
    artifactUpdate: {
      ...ids,
      artifact: { artifactId, parts, ...(name && { name }), ...(metadata && { metadata }) },
      append,
    },
  }))
const living = taskStates.filter(
  (state) => !isTerminal(state) && state !== 'TASK_STATE_UNSPECIFIED',
)
const statusEvent = fc
  .record({ state: fc.constantFrom(...living), id: fc.constantFrom('', 'm1', 'm2') })
  .map(({ state, id }) => to(state, id === '' ? undefined : say(id)))
const messageEvent = fc.constantFrom('m1', 'm3').map((id): StreamResponse => ({ message: say(id) }))
const events = fc
  .array(fc.oneof({ weight: 4, arbitrary: artifactEvent }, statusEvent, messageEvent), {
    maxLength: 30,
  })
  .map(freeze)

describe('folding events into a task', () => {
  test('gives the same task however the events are split, each part begun from a snapshot', () => {
    const splits = fc.array(fc.nat({ max: 30 }), { maxLength: 4 })
    const property = fc.property(events, splits, (all, places) => {
      let task = start
      let from = 0
      for (const place of [...places.sort((a, b) => a - b), all.length]) {
        task = freeze(foldAll(all.slice(from, place), {}, task).snapshot())
        from = Math.max(from, Math.min(place, all.length))
      }
      expect(task).toEqual(foldAll(all).snapshot())
    })
    fc.assert(property, { numRuns: 500 })
  })

  test('never changes what it was given or has given away', () => {
    const property = fc.property(events, (all) => {
      const fold = createFold(start)
      for (const event of all) {
        fold.apply(event)
        // A frozen snapshot throws at whoever writes to it later.
        freeze(fold.snapshot())
      }
      fold.compact()
    })
    fc.assert(property)
  })

  test('F018: reassembles chunks by artifact, in order', () => {
    const mixed = [chunk('a1', false), chunk('b1', false, 'b'), chunk('a2'), chunk('b2', true, 'b')]
    const { artifacts = [] } = foldAll(mixed).snapshot()
    expect(artifacts.map(({ parts }) => textOf(parts))).toEqual(['a1a2', 'b1b2'])
  })

  test('replaces an artifact that comes again without append', () => {
    const { artifacts } = foldAll([chunk('old', false), chunk('new', false)]).snapshot()
    expect(artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'new' }] }])
  })

  test('shows a message once, however often a status repeats it', () => {
    const fold = foldAll([
      to('TASK_STATE_WORKING', say('m1')),
      to('TASK_STATE_WORKING', say('m1')),
      to('TASK_STATE_COMPLETED', say('m2')),
    ])
    expect(fold.snapshot().history?.map(({ messageId }) => messageId)).toEqual(['m1', 'm2'])
  })

  test('takes a snapshot event for the whole truth', () => {
    const whole: Task = {
      id: 'peer task',
      contextId: 'peer context',
      status: { state: 'TASK_STATE_WORKING' },
      history: [say('m9')],
      metadata: { from: 'peer' },
    }
    expect(foldAll([chunk('gone', false), { task: whole }]).snapshot()).toEqual(whole)
    const { metadata: _, ...bare } = whole
    expect(foldAll([{ task: bare }], {}, whole).snapshot()).toEqual(bare)
  })

  test('a chunk after a snapshot event continues its artifact at the place that the snapshot gave it', () => {
    const names = Array.from({ length: 12 }, (_, i) => `a${i}`)
    const begun = names.map((name) => chunk(`${name} `, false, name))
    const artifacts = names
      .map((artifactId) => ({ artifactId, parts: [{ text: `${artifactId} ` }] }))
      .reverse()
    // The first chunk is found among many artifacts, and so is each of the later ones.
    const fold = foldAll([...begun, chunk('before', true, 'a0'), { task: { ...start, artifacts } }])
    for (const name of names) fold.apply(chunk(`more of ${name}`, true, name))
    const texts = fold.snapshot().artifacts?.map(({ parts }) => textOf(parts))
    expect(texts).toEqual(names.map((name) => `${name} more of ${name}`).reverse())
  })

  test('a chunk adds what it says of its artifact, and leaves what it does not mention', () => {
    const artifact = {
      artifactId: 'a',
      name: 'first',
      description: 'old',
      metadata: { a: 1, b: 1 },
    }
    const extensions = ['urn:x']
    const told: readonly Partial<Artifact>[] = [
      { description: 'new' },
      { metadata: { b: 2, c: 3 } },
      { extensions },
    ]
    const events = told.map(
      (more): StreamResponse => ({
        artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [], ...more }, append: true },
      }),
    )
    const begin = { artifactUpdate: { ...ids, artifact: { ...artifact, parts: [] } } }
    expect(foldAll([begin, ...events]).snapshot().artifacts).toEqual([
      {
        ...{ artifactId: 'a', name: 'first', description: 'new', parts: [], extensions },
        metadata: { a: 1, b: 2, c: 3 },
      },
    ])
  })

  test('messages of the user and the agent are two, even where both have one id', () => {
    const asked: Message = { ...say('m1'), role: 'ROLE_USER' }
    const fold = createFold(start)
    fold.hear(asked)
    fold.apply({ message: say('m1') })
    expect(fold.snapshot().history).toEqual([asked, say('m1')])
  })

  test('gives the same snapshot until something happens', () => {
    const fold = foldAll([chunk('a', false), chunk('b')])
    expect(fold.snapshot()).toBe(fold.snapshot())
    fold.compact()
    expect(fold.snapshot().artifacts?.[0]?.parts).toEqual([{ text: 'ab' }])
    fold.hear(say('m1'))
    expect(fold.snapshot().history).toEqual([say('m1')])
  })
})

describe('the legal transitions', () => {
  const states = fc.constantFrom(...taskStates)

  test('a strict fold accepts exactly the transitions of the table', () => {
    const property = fc.property(states, states, (from, next) => {
      const fold = createFold({ ...start, status: { state: from } }, { strict: true })
      if (canTransition(from, next)) fold.apply(to(next))
      else expect(() => fold.apply(to(next))).toThrow(A2AError)
      expect(fold.state).toBe(canTransition(from, next) ? next : from)
    })
    fc.assert(property, { numRuns: 300 })
  })

  test.each([true, false])('a terminal task refuses every update (strict: %s)', (strict) => {
    for (const end of taskStates.filter(isTerminal)) {
      const fold = createFold({ ...start, status: { state: end } }, { strict })
      const before = fold.snapshot()
      for (const event of [
        to('TASK_STATE_WORKING'),
        to(end),
        chunk('late'),
        chunk('late', false),
      ]) {
        expect(() => fold.apply(event)).toThrow(A2AError)
      }
      expect(fold.snapshot()).toEqual(before)
    }
  })

  test('a chunk of an artifact that nobody began is refused where strict, else begins it', () => {
    expect(() => foldAll([chunk('x')], { strict: true })).toThrow('Chunk of unknown artifact a')
    expect(foldAll([chunk('x')]).snapshot().artifacts).toEqual([
      { artifactId: 'a', parts: [{ text: 'x' }] },
    ])
  })
})

describe('compacting', () => {
  test('keeps the text and everything that is not plain text, and leaves no plain neighbours', () => {
    const property = fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const whole: StreamResponse = {
        artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts } },
      }
      const fold = foldAll([whole])
      fold.compact()
      const merged = fold.snapshot().artifacts?.[0]?.parts ?? []
      const isPlain = (item: Part | undefined): boolean =>
        item !== undefined && 'text' in item && Object.keys(item).length === 1
      expect(textOf(merged)).toBe(textOf(parts))
      expect(merged.filter((item) => !isPlain(item))).toEqual(
        parts.filter((item) => !isPlain(item)),
      )
      expect(merged.some((item, i) => isPlain(item) && isPlain(merged[i + 1]))).toBe(false)
    })
    fc.assert(property)
  })

  test('a thousand chunks become one part, and further ones still append', () => {
    const fold = foldAll([chunk('', false), ...Array.from({ length: 1000 }, () => chunk('x'))])
    fold.compact()
    fold.apply(chunk('y'))
    const parts = fold.snapshot().artifacts?.[0]?.parts
    expect(parts).toEqual([{ text: 'x'.repeat(1000) }, { text: 'y' }])
  })
})

test('a chunk costs the same whether it is the twentieth or the four-hundredth', () => {
  const stepsPerChunk = (chunks: number, after: (fold: Fold) => void = () => {}): number => {
    const fold = foldAll([chunk('first', false)])
    const steps = countSteps(() => {
      for (let i = 0; i < chunks; i++) {
        fold.apply(chunk('x'))
        after(fold)
      }
    })
    return steps / chunks
  }
  expect(stepsPerChunk(400)).toBe(stepsPerChunk(20))
  // The counter does see copies: a snapshot after each chunk costs more the longer the list is.
  const copied = (chunks: number): number => stepsPerChunk(chunks, (fold) => fold.snapshot())
  expect(copied(400)).toBeGreaterThan(10 * copied(20))
})

/** How many items of any list are walked over or copied while work is done. */
function countSteps(work: () => void): number {
  const copying = ['slice', 'concat', 'map', 'filter', 'flatMap', 'toSpliced', 'with'] as const
  const { prototype } = Array
  const originals = [Symbol.iterator, ...copying].map(
    (name) => [name, Object.getOwnPropertyDescriptor(prototype, name)] as const,
  )
  let steps = 0
  for (const [name, original] of originals) {
    const value = function (this: unknown[], ...args: unknown[]): unknown {
      steps += this.length
      return Reflect.apply(original?.value, this, args)
    }
    Object.defineProperty(prototype, name, { ...original, value })
  }
  const before = steps
  try {
    work()
    return steps - before
  } finally {
    for (const [name, original] of originals) Object.defineProperty(prototype, name, original ?? {})
  }
}
