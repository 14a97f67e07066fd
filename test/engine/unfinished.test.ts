import { describe, expect, test } from 'vitest'
import { readUnfinished } from '../../src/engine/recover.ts'
import { Suspects } from '../../src/engine/suspects.ts'
import type { TaskState } from '../../src/protocol/types.ts'
import type { Deaths, LogRecord, RecordDraft } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { createMachine, type Machine, type SimulatedProcess, type SimulatedTask } from './lives.ts'

const hour = 3_600_000

/** Runs for ever, without a word. */
const patient: SimulatedTask['run'] = () => {}

/** Ends after a while. */
const lasting =
  (id: string, ms: number): SimulatedTask['run'] =>
  (process) =>
    void process.clock.after(ms, () => process.end(id))

/** Kills its process a moment after it started. */
const poison: SimulatedTask['run'] = (process) => void process.clock.after(1, process.die)

/** Finishes a step, then kills its process. */
const stepper =
  (id: string, afterMs = 1): SimulatedTask['run'] =>
  (process) =>
    void process.clock.after(afterMs, () => {
      process.step(id)
      process.die()
    })

/** A machine whose tasks run for ever and were running in two deaths. */
function suspected(...ids: readonly string[]): Machine {
  const machine = createMachine()
  for (const id of ids) machine.send(id, patient)
  kill(machine, 3)
  return machine
}

/** Kills process after process, each shortly after its start. */
function kill(machine: Machine, times: number, afterMs = 10): readonly SimulatedProcess[] {
  return Array.from({ length: times }, () => {
    const process = machine.start()
    process.clock.advance(afterMs)
    process.die()
    return process
  })
}

function startAt(machine: Machine, ms: number): readonly string[] {
  const process = machine.start()
  process.clock.advance(ms)
  return [...process.started]
}

const letters = ['a', 'b', 'c', 'd', 'e', 'f']

describe('suspects', () => {
  test('a task that was running in one death starts at once, in two it is a suspect', () => {
    const machine = createMachine()
    for (const id of letters) machine.send(id, patient)
    const [first, second, third] = kill(machine, 3)
    expect(first?.started).toEqual(letters)
    expect(second?.started).toEqual(letters)
    expect(third?.started).toHaveLength(4)
  })

  test('run four at once, after a death of several two, then one, those that died first', () => {
    const machine = suspected(...letters)
    const [two, one] = kill(machine, 2)
    expect(two?.started).toEqual(['a', 'b'])
    expect(one?.started).toEqual(['a'])
  })

  test('two that are alone are told apart at once', () => {
    const machine = suspected('a', 'b')
    expect(startAt(machine, 10)).toEqual(['a'])
  })

  test('are cleared by a step', () => {
    const machine = suspected(...letters)
    const process = machine.start()
    process.step('a')
    expect(process.started).toEqual(['a', 'b', 'c'])
    process.step('b')
    process.step('c')
    process.step('d')
    expect(process.started).toEqual(letters)
  })

  test('are not alone while one that a step has cleared still runs', () => {
    const machine = createMachine()
    for (const id of letters) {
      machine.send(`stepper ${id}`, stepper(`stepper ${id}`, 20))
      machine.send(id, lasting(id, 100))
    }
    // Each has died alone once, by no fault of its own.
    kill(machine, 60)
    machine.settle(hour, 400)
    expect(machine.ended.toSorted()).toEqual(letters)
    expect(machine.failed.toSorted()).toEqual(letters.map((id) => `stepper ${id}`))
  })

  test('are not held up by one that a step has cleared and that has ended', () => {
    const machine = suspected('a', 'b')
    const process = machine.start()
    process.step('a')
    expect(process.started).toEqual(['a'])
    process.end('a')
    expect(process.started).toEqual(['a', 'b'])
  })

  test('are cleared by the end of the turn', () => {
    const machine = suspected(...letters)
    const process = machine.start()
    process.end('a')
    expect(process.started).toEqual(['a', 'b', 'c'])
  })

  test('are cleared by five seconds, and are none at the next death', () => {
    const machine = createMachine()
    for (const id of letters) machine.send(id, patient)
    kill(machine, 2)
    const process = machine.start()
    process.clock.advance(4_999)
    expect(process.started).toEqual(['a', 'b', 'c', 'd'])
    process.clock.advance(5_001)
    expect(process.started).toEqual(letters)
    process.die()
    expect(startAt(machine, 1)).toEqual(letters)
  })

  test('one that has ended meanwhile holds up nobody', () => {
    const machine = suspected('a', 'b')
    const process = machine.start()
    process.end('b')
    process.end('a')
    machine.send('c', patient)
    expect(process.started).toEqual(['a', 'c'])
    expect(process.clock.pending()).toEqual([])
  })

  test('one that died alone is tried again after five seconds, others meanwhile', () => {
    const machine = suspected('a')
    for (const id of ['x', 'y']) machine.send(id, patient)
    kill(machine, 2)
    const process = machine.start()
    process.clock.advance(4_999)
    expect(process.started).toEqual(['x', 'y'])
    process.clock.advance(5_001)
    expect(process.started).toEqual(['x', 'y', 'a'])
  })

  test('only one that dies alone twice is given up', () => {
    const machine = createMachine()
    machine.send('poison', poison)
    expect(machine.settle(hour, 100)).toBe(4)
    expect(machine.failed).toEqual(['poison'])
  })

  test('where the process is killed every few seconds nobody is given up', () => {
    const machine = suspected(...letters)
    kill(machine, 100, 4_000)
    kill(machine, 100, 100)
    expect(machine.failed).toEqual([])
    expect(machine.settle(hour, 1)).toBe(0)
    expect(machine.start().started).toEqual([])
  })

  test('planned stops are no deaths', () => {
    const machine = suspected('a', 'b')
    kill(machine, 1)
    for (let count = 0; count < 100; count++) {
      const process = machine.start()
      process.clock.advance(7_000)
      process.stop()
    }
    expect(machine.failed).toEqual([])
    expect(machine.deathsOf('a')?.alone ?? 0).toBeLessThan(2)
  })

  test('one that was tried once waits after a planned stop too', () => {
    const machine = suspected('a')
    const process = machine.start()
    process.clock.advance(6_000)
    process.stop()
    expect(startAt(machine, 4_999)).toEqual([])
    expect(startAt(machine, 5_001)).toEqual(['a'])
  })
})

describe('beside a task that kills the process', () => {
  const innocents = Array.from({ length: 100 }, (_, index) => `innocent ${index}`)

  /** Every place of the killer among the others matters: they are taken up oldest first. */
  function crowd(place: number, killers: Readonly<Record<string, SimulatedTask['run']>>): Machine {
    const machine = createMachine()
    machine.start()
    const send = (id: string): void => machine.send(id, patient)
    innocents.slice(0, place).forEach(send)
    for (const [id, run] of Object.entries(killers)) machine.send(id, run)
    innocents.slice(place).forEach(send)
    return machine
  }

  test.each([0, 1, 2, 3, 4, 50, 97, 99, 100])(
    'a hundred others never fail, %i are older',
    (place) => {
      const machine = crowd(place, { poison })
      expect(machine.settle(hour, 60)).toBeLessThan(15)
      expect(machine.failed).toEqual(['poison'])
      machine.start().clock.advance(hour)
      expect(machine.failed).toEqual(['poison'])
    },
  )

  test('nor beside seven such tasks', () => {
    const ids = Array.from({ length: 7 }, (_, index) => `poison ${index}`)
    const machine = crowd(40, Object.fromEntries(ids.map((id) => [id, poison])))
    expect(machine.settle(hour, 200)).toBeLessThan(80)
    expect([...machine.failed].sort()).toEqual(ids)
  })

  test.each([0, 50, 100])(
    'nor beside one that finishes a step each time, %i are older',
    (place) => {
      const machine = crowd(place, { stepper: stepper('stepper') })
      expect(machine.settle(hour, 100)).toBeLessThan(40)
      expect(machine.failed).toEqual(['stepper'])
    },
  )

  test('nor beside one that takes twenty seconds to its step', () => {
    const machine = crowd(100, { stepper: stepper('stepper', 20_000) })
    expect(machine.settle(hour, 100)).toBeLessThan(60)
    expect(machine.failed).toEqual(['stepper'])
  })

  test('nor beside several of both kinds', () => {
    const machine = crowd(30, {
      poison,
      ...Object.fromEntries(['s1', 's2', 's3'].map((id) => [id, stepper(id)])),
      late: (process) => void process.clock.after(900, process.die),
    })
    machine.settle(hour, 300)
    expect([...machine.failed].sort()).toEqual(['late', 'poison', 's1', 's2', 's3'])
  })

  test('others get their work done meanwhile', () => {
    const machine = createMachine()
    machine.start()
    const ids = Array.from({ length: 20 }, (_, index) => `job ${index}`)
    for (const id of ids) machine.send(id, lasting(id, 3_000))
    machine.send('poison', poison)
    machine.settle(hour, 60)
    expect(machine.failed).toEqual(['poison'])
    expect([...machine.ended].sort()).toEqual([...ids].sort())
  })
})

describe('a task that finishes a step at each attempt and kills the process', () => {
  test('starts later each time', () => {
    const machine = createMachine()
    machine.start()
    const lives: number[] = []
    machine.send('stepper', stepper('stepper'))
    machine.settle(1, 1)
    while (machine.failed.length === 0 && lives.length < 100) {
      const process = machine.start()
      let ms = 0
      for (; ms < 40_000 && process.started.length === 0; ms += 50) process.clock.advance(50)
      lives.push(ms)
      process.clock.advance(hour)
    }
    expect(lives.slice(0, 3)).toEqual([50, 50, 50])
    expect(lives[3]).toBeGreaterThanOrEqual(250)
    expect(lives).toEqual([...lives].sort((a, b) => a - b))
    expect(lives.at(-2)).toBe(30_000)
  })

  test('is given up after thirty deaths, not before', () => {
    const machine = createMachine()
    machine.start()
    machine.send('stepper', stepper('stepper'))
    expect(machine.settle(hour, 100)).toBe(30)
    expect(machine.failed).toEqual(['stepper'])
  })

  test('comes to its end if it has fewer steps to go', () => {
    const machine = createMachine()
    machine.start()
    let steps = 0
    machine.send('stepper', (process) =>
      process.clock.after(1, () => {
        if (++steps > 12) process.end('stepper')
        else stepper('stepper')(process)
      }),
    )
    machine.settle(hour, 100)
    expect(machine.ended).toEqual(['stepper'])
  })
})

describe('what a log says is left to do', () => {
  const sent = (turn: number): RecordDraft => ({
    kind: 'message',
    turn,
    message: { messageId: `m${turn}`, role: 'ROLE_USER', parts: [] },
    request: { userId: '' },
  })
  const start = (turn: number, deaths?: Deaths): RecordDraft => ({
    ...{ kind: 'start', turn, attempt: 1 },
    ...(deaths && { deaths }),
  })
  const step = (turn: number, name: string): RecordDraft => ({
    kind: 'step',
    turn,
    name,
    result: 1,
  })
  const status = (state: TaskState): RecordDraft => ({
    kind: 'event',
    event: { statusUpdate: { taskId: 't', contextId: 'c', status: { state } } },
  })
  const whole = (state: TaskState): RecordDraft => ({
    kind: 'event',
    event: { task: { id: 't', contextId: 'c', status: { state } } },
  })
  const rest: RecordDraft = { kind: 'rest', turn: 1 }
  const stop: RecordDraft = { kind: 'stop', turn: 1 }
  const alive: RecordDraft = { kind: 'alive', turn: 1 }
  const dropped: RecordDraft = { kind: 'dropped', messageId: 'm2', reason: 'over' }
  const apart = (total: number, silent: number, alone = 1): Deaths => ({
    ...{ total, silent, alone },
    apart: 1,
  })

  test.each<[string, readonly RecordDraft[], string]>([
    ['no records', [], ''],
    ['a message', [sent(1)], '1/1'],
    ['a start', [sent(1), start(1)], '1/2 began'],
    ['several', [sent(1), start(1), start(1), start(1)], '1/4 began'],
    ['an end', [sent(1), start(1), rest], ''],
    ['a question', [sent(1), start(1), status('TASK_STATE_INPUT_REQUIRED')], ''],
    ['a login', [sent(1), start(1), status('TASK_STATE_AUTH_REQUIRED')], '1/2 began'],
    ['work after a rest', [sent(1), start(1), rest, status('TASK_STATE_WORKING')], '1/2 began'],
    ['a change after a rest', [sent(1), start(1), rest, whole('TASK_STATE_WORKING')], ''],
    ['an artifact’s words', [sent(1), start(1), rest, status('TASK_STATE_SUBMITTED')], ''],
    ['a step', [sent(1), start(1), step(1, 'a')], '1/1 began a'],
    ['a step before', [sent(1), start(1), step(1, 'a'), start(1)], '1/2 began a'],
    ['a stop', [sent(1), start(1), stop], '1/1 began'],
    ['two stops', [sent(1), start(1), stop, stop], '1/1 began'],
    ['one stop of two', [sent(1), start(1), start(1), stop], '1/2 began'],
    ['another turn', [sent(1), start(1), start(1), rest, sent(2), start(2)], '2/2 began'],
    ['those that wait', [sent(1), start(1), sent(2), sent(3)], '1/2 2/1 3/1 began'],
    ['one that was dropped', [sent(1), start(1), sent(2), sent(3), dropped], '1/2 3/1 began'],
    ['only those that wait', [sent(1), start(1), rest, sent(2), sent(3)], '2/1 3/1'],
    [
      'steps of its own',
      [sent(1), start(1), step(1, 'a'), rest, sent(2), start(2), step(2, 'b')],
      '2/1 began b',
    ],
  ])('after %s', (_, drafts, expected) => {
    const { messages, began, steps } = readUnfinished(numbered(drafts))
    const turns = messages.map(({ number, attempt }) => `${number}/${attempt}`)
    expect([...turns, ...(began ? ['began'] : []), ...steps.keys()].join(' ')).toBe(expected)
  })

  test.each<[string, readonly RecordDraft[], Deaths, boolean]>([
    ['its first', [start(1)], { total: 1, silent: 1, alone: 0 }, false],
    ['one after a step', [start(1), step(1, 'a')], { total: 1, silent: 1, alone: 0 }, false],
    ['none after a stop', [start(1), stop], { total: 0, silent: 0, alone: 0 }, false],
    ['one apart', [start(1, apart(3, 3))], apart(4, 4), true],
    [
      'one apart after a step',
      [start(1, apart(3, 3)), step(1, 'a')],
      { total: 4, silent: 1, alone: 0 },
      false,
    ],
    [
      'one apart that lived on',
      [start(1, apart(3, 3)), alive],
      { total: 4, silent: 1, alone: 0 },
      false,
    ],
    [
      'a stop of one apart',
      [start(1, apart(3, 3)), stop],
      { total: 3, silent: 3, alone: 1 },
      false,
    ],
    ['one that steps each time', [start(1, apart(6, 1)), step(1, 'a')], apart(7, 1), true],
    [
      'its thirtieth in spite of a step',
      [start(1, apart(30, 3)), step(1, 'a')],
      apart(31, 1),
      true,
    ],
    [
      'one of those that lived on before',
      [start(1, apart(3, 3)), alive, start(1, apart(4, 3))],
      apart(5, 4),
      true,
    ],
    [
      'one of those that stepped before',
      [start(1, apart(3, 3)), step(1, 'a'), start(1, apart(4, 3))],
      apart(5, 4),
      true,
    ],
  ])('counts %s', (_, drafts, deaths, died) => {
    expect(readUnfinished(numbered([sent(1), ...drafts]))).toMatchObject({ died })
    expect(readUnfinished(numbered([sent(1), ...drafts])).deaths).toEqual(deaths)
  })

  test('where its process lives, no start was an attempt or a death', () => {
    const { messages, deaths, died } = readUnfinished(numbered([sent(1), start(1)]), false)
    expect(messages).toMatchObject([{ number: 1, attempt: 1, seq: 1 }])
    expect([deaths, died]).toEqual([{ total: 0, silent: 0, alone: 0 }, false])
  })

  function numbered(drafts: readonly RecordDraft[]): readonly LogRecord[] {
    return drafts.map((draft, index) => ({ ...draft, seq: index + 1 }))
  }
})

describe('a suspect', () => {
  /** Suspects at a clock of their own, and what happens to those that are added. */
  function createScene() {
    const clock = createFakeClock()
    const suspects = new Suspects(clock)
    const seen: string[] = []
    const add = (
      id: string,
      deaths: Partial<Deaths> = {},
      { died = false, survives = true } = {},
    ) =>
      suspects.add({
        id,
        deaths: { total: 2, silent: 2, alone: 0, ...deaths },
        died,
        start: (known) => seen.push(`${id} beside ${known.apart}`) > 0,
        survivedTrial: () => seen.push(`${id} ${survives ? 'lives' : 'waits'}`) > 0 && survives,
        giveUp: ({ alone }) => void seen.push(`${id} is given up, ${alone}`),
      })
    /** What has happened since the last look. */
    const news = (): readonly string[] => seen.splice(0)
    return { clock, suspects, add, news }
  }

  test('waits until all are gathered, from however many sides', () => {
    const { clock, suspects, add, news } = createScene()
    clock.advance(10_000)
    suspects.gather()
    clock.advance(3_000)
    suspects.gather()
    add('a')
    add('b', { alone: 1 })
    suspects.ready()
    expect(news()).toEqual([])
    suspects.ready()
    expect(news()).toEqual(['a beside 1'])
    suspects.progressed('a', true)
    // Its five seconds count from the first gathering.
    clock.advance(1_999)
    expect(news()).toEqual([])
    clock.advance(1)
    expect(news()).toEqual(['b beside 1'])
  })

  test('is neither started nor given up once the process stops', () => {
    const { clock, suspects, add, news } = createScene()
    add('late', { total: 12, silent: 0 })
    suspects.gather()
    add('gathered')
    suspects.close()
    suspects.ready()
    add('a')
    add('b', { total: 4, silent: 4, alone: 2 })
    suspects.gather()
    suspects.ready()
    clock.advance(60_000)
    expect([news(), clock.pending()]).toEqual([[], []])
  })

  test('that has no slot yet is watched for five seconds more', () => {
    const { clock, suspects, add, news } = createScene()
    add('a', {}, { survives: false })
    clock.advance(5_000)
    clock.advance(5_000)
    expect(news()).toEqual(['a beside 1', 'a waits', 'a waits'])
    expect(suspects.watching).toBe(true)
    suspects.progressed('a', true)
    expect(suspects.watching).toBe(false)
    expect(clock.pending()).toEqual([])
  })

  test('that a step has cleared is watched until its five seconds are over, or its turn', () => {
    for (const end of ['time', 'turn']) {
      const { clock, suspects, add, news } = createScene()
      expect(suspects.watching).toBe(false)
      suspects.gather()
      add('a')
      add('b')
      suspects.ready()
      news()
      for (const id of ['a', 'b']) suspects.progressed(id, false)
      expect(suspects.watching).toBe(true)
      if (end === 'time') clock.advance(5_000)
      else for (const id of ['a', 'b']) suspects.progressed(id, true)
      expect(suspects.watching).toBe(false)
      expect(clock.pending()).toEqual([])
    }
  })

  test.each([
    [{ total: 4, silent: 0 }, 250, 5_000],
    [{ total: 5, silent: 0 }, 500, 5_000],
    [{ total: 10, silent: 0 }, 16_000, 16_000],
    [{ total: 11, silent: 0 }, 30_000, 30_000],
    [{ total: 4, silent: 0, alone: 1 }, 5_000, 5_000],
    [{ total: 11, silent: 0, alone: 1 }, 30_000, 30_000],
    [{ total: 11, silent: 2, alone: 1 }, 5_000, 5_000],
  ])('with %o waits for %i ms and is watched for %i ms', (deaths, held, watched) => {
    const { clock, add, news } = createScene()
    add('a', deaths)
    clock.advance(held - 1)
    expect(news()).toEqual([])
    clock.advance(1)
    expect(news()).toEqual(['a beside 1'])
    clock.advance(watched - 1)
    expect(news()).toEqual([])
    clock.advance(1)
    expect(news()).toEqual(['a lives'])
  })

  test.each([
    [{ total: 3, silent: 3, alone: 1, apart: 1 }, true, true],
    [{ total: 3, silent: 3, alone: 1, apart: 1 }, false, false],
    [{ total: 3, silent: 3, alone: 1, apart: 2 }, true, false],
    [{ total: 3, silent: 3, alone: 0, apart: 1 }, true, false],
    [{ total: 3, silent: 2, alone: 2 }, false, false],
    [{ total: 29, silent: 0, alone: 2 }, false, false],
    [{ total: 30, silent: 0, alone: 2 }, false, true],
    [{ total: 30, silent: 0, alone: 1 }, false, false],
  ])('with %o, died: %s, is given up: %s', (deaths, died, isGivenUp) => {
    const { add, news } = createScene()
    add('a', deaths, { died })
    expect(news().some((one) => one.includes('given up, 2'))).toBe(isGivenUp)
  })
})
