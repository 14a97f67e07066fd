import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Receiver } from './receiver.ts'
import { chunk, createScene, encode, type Scene, status, told } from './scene.ts'

let scene: Scene
let receiver: Receiver
beforeEach(async () => {
  scene = createScene()
  receiver = await scene.receiver()
})
afterEach(() => scene.close())

const isBackoff = (ms: number): boolean => ms !== 15_000

/** Answers with the codes in turn, then with 200. */
function answerWith(codes: readonly number[], headers: Record<string, string> = {}): void {
  const left = [...codes]
  receiver.answer = (_request, response) => {
    const code = left.shift()
    response.writeHead(code ?? 200, code === undefined ? {} : headers).end()
  }
}

describe('webhooks', () => {
  test('G011 bring every public event in order, and none twice', async () => {
    const webhooks = await scene.open()
    await scene.append('t', status('TASK_STATE_WORKING'))
    await scene.hook({ config: { url: receiver.url } })
    webhooks.watch('t')
    await scene.seen(1)
    await scene.append('t', chunk('1'), { kind: 'start', turn: 1, attempt: 1 }, chunk('2'))
    webhooks.notify('t')
    await scene.append('t', chunk('3'), status('TASK_STATE_COMPLETED'))
    webhooks.notify('t')
    await scene.seen(6)
    expect(told(receiver)).toEqual(['TASK_STATE_WORKING', '1', '2', '3', 'TASK_STATE_COMPLETED'])
    const ids = receiver.requests.map(({ headers }) => headers['x-a2a-event-id'])
    expect(ids).toEqual([1, 2, 4, 5, 6].map((seq) => `t:${seq}`))
  })

  test('begin after the cursor with which the webhook was stored', async () => {
    await scene.append('t', status('TASK_STATE_WORKING'), chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url }, cursor: 2 })
    await scene.open()
    await scene.seen(3)
    expect(told(receiver)).toEqual(['2'])
  })

  test('look at a task again that was idle over a restart', async () => {
    await scene.append('t', status('TASK_STATE_INPUT_REQUIRED'))
    await scene.hook({ config: { url: receiver.url }, cursor: 1 })
    const webhooks = await scene.open()
    await scene.append('t', status('TASK_STATE_WORKING'))
    webhooks.notify('t')
    await scene.seen(2)
    expect(told(receiver)).toEqual(['TASK_STATE_WORKING'])
  })

  test('ask the store once for a task without webhooks, and never for an ignored one', async () => {
    let reads = 0
    const counting = {
      ...scene.store,
      pushConfigs: (taskId: string) => {
        reads++
        return scene.store.pushConfigs(taskId)
      },
    }
    const webhooks = await scene.open({ store: counting })
    webhooks.ignore('ignored')
    webhooks.notify('ignored')
    expect(reads).toBe(0)
    await scene.append('t', status('TASK_STATE_WORKING'))
    webhooks.notify('t')
    await webhooks.close()
    expect(reads).toBe(1)
    webhooks.notify('t')
    expect(reads).toBe(1)
  })

  test('notice a webhook of a task that was ignored', async () => {
    const webhooks = await scene.open()
    webhooks.ignore('t')
    await scene.append('t', status('TASK_STATE_WORKING'))
    await scene.hook({ config: { url: receiver.url } })
    webhooks.watch('t')
    await scene.seen(1)
    expect(told(receiver)).toHaveLength(1)
  })

  test('R-14 pass over what the events filter leaves out', async () => {
    const all = await scene.receiver()
    await scene.append(
      't',
      status('TASK_STATE_WORKING'),
      chunk('1'),
      chunk('2'),
      status('TASK_STATE_COMPLETED'),
      { kind: 'cancel', at: '' },
    )
    const events = ['completed', 'failed']
    await scene.hook({ config: { url: receiver.url }, id: 'ends', events })
    await scene.hook({ config: { url: all.url }, id: 'artifacts', events: ['artifactAdded'] })
    await scene.open()
    await scene.seen(5, 'ends')
    await scene.seen(5, 'artifacts')
    expect(told(receiver)).toEqual(['TASK_STATE_COMPLETED'])
    expect(told(all)).toEqual(['1', '2'])
    expect(await scene.store.claimDeliveries()).toEqual([])
  })

  test('move the cursor over many unwanted events of a running task', async () => {
    const chunks = Array.from({ length: 300 }, (_, i) => chunk(`${i + 1}`))
    await scene.append('t', ...chunks)
    await scene.hook({ config: { url: receiver.url }, events: ['completed'] })
    await scene.open()
    await scene.seen(300)
    expect(receiver.requests).toHaveLength(0)
  })

  test('tell the log what failed without the URL, the token or the credentials', async () => {
    const lines: string[] = []
    const tell = (fields: object, message: string): void =>
      void lines.push(JSON.stringify([fields, message]))
    const log = { debug: tell, info: tell, warn: tell, error: tell }
    answerWith([503, 404])
    await scene.append('t', chunk('1'))
    const authentication = { scheme: 'Bearer', credentials: 'secret-c' }
    const url = `${receiver.url}?key=secret-u`
    await scene.hook({ config: { url, token: 'secret-t', authentication } })
    await scene.open({ log, secretFor: () => 'secret-s' })
    scene.clock.advance(await scene.clock.timer(isBackoff))
    await scene.seen(1)
    expect(lines).toHaveLength(2)
    expect(lines[1]).toContain('HTTP 404')
    expect(lines.join()).not.toContain('secret')
  })

  test('C-36 hand the encoder the config of the dialect, and the task with the event in it', async () => {
    await scene.append('t', status('TASK_STATE_WORKING'))
    await scene.append('t', chunk('1'))
    await scene.append('t', status('TASK_STATE_COMPLETED'))
    await scene.append('t', { kind: 'cancel', at: '' })
    await scene.hook({ config: { url: receiver.url }, dialect: 'ranch' })
    await scene.open({
      encode: ({ dialect }, event, task) => ({
        contentType: 'application/json',
        body: JSON.stringify({ dialect, event: Object.keys(event)[0], state: task.status.state }),
      }),
    })
    await scene.seen(4)
    expect(receiver.requests.map(({ body }) => JSON.parse(body))).toEqual([
      { dialect: 'ranch', event: 'statusUpdate', state: 'TASK_STATE_WORKING' },
      { dialect: 'ranch', event: 'artifactUpdate', state: 'TASK_STATE_COMPLETED' },
      { dialect: 'ranch', event: 'statusUpdate', state: 'TASK_STATE_COMPLETED' },
    ])
    expect(receiver.requests[0]?.headers['content-type']).toBe('application/json')
  })

  test('fold all chunks into the older snapshot that the encoder gets', async () => {
    await scene.append('t', status('TASK_STATE_WORKING'))
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url }, dialect: 'ranch', cursor: 2 })
    await scene.open({
      encode: (_record, _event, task) => ({ contentType: 'x/y', body: JSON.stringify(task) }),
    })
    await scene.seen(3)
    expect(JSON.parse(receiver.requests[0]?.body ?? '')).toMatchObject({
      status: { state: 'TASK_STATE_WORKING' },
      artifacts: [{ artifactId: 'a', parts: [{ text: '1' }, { text: '2' }] }],
    })
  })

  test('keep two webhooks of one task apart: one that is down does not hold up the other', async () => {
    const fine = await scene.receiver()
    receiver.answer = (_request, response) => void response.writeHead(503).end()
    await scene.append('t', status('TASK_STATE_WORKING'), chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url }, id: 'down' })
    await scene.hook({ config: { url: fine.url }, id: 'fine' })
    await scene.open()
    await scene.seen(3, 'fine')
    expect(told(fine)).toEqual(['TASK_STATE_WORKING', '1', '2'])
    await scene.clock.timer(isBackoff)
    expect(told(receiver)).toEqual(['TASK_STATE_WORKING'])
  })

  test('survive a store that fails for a while, without telling the receiver again and again', async () => {
    let failures = 2
    const store = {
      ...scene.store,
      commit: async (writes: Parameters<typeof scene.store.commit>[0]) => {
        if (failures-- > 0) throw new Error('disk full')
        return scene.store.commit(writes)
      },
    }
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    await scene.open({ store })
    for (const ms of [1_000, 2_000]) {
      expect(await scene.clock.timer(isBackoff)).toBe(ms)
      scene.clock.advance(ms)
    }
    await scene.seen(2)
    expect(told(receiver)).toEqual(['1', '2'])
  })

  test('give up at once what cannot be encoded, and go on', async () => {
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open({
      encode: (record, event, task) => {
        if (JSON.stringify(event).includes('"1"')) throw new Error('a bug')
        return encode(record, event, task)
      },
    })
    await scene.seen(2)
    expect(told(receiver)).toEqual(['2'])
    const [letter] = await webhooks.deadLetters()
    expect(letter).toMatchObject({ seq: 1, reason: 'The event could not be encoded' })
  })
})

describe('a receiver that is in trouble', () => {
  test('G014 gets everything, in order, after failing for a while, with growing waits', async () => {
    answerWith([500, 502, 503])
    await scene.append('t', chunk('1'), chunk('2'), chunk('3'))
    await scene.hook({ config: { url: receiver.url } })
    await scene.open()
    for (const ms of [1_000, 2_000, 4_000]) {
      expect(await scene.clock.timer(isBackoff)).toBe(ms)
      scene.clock.advance(ms)
    }
    await scene.seen(3)
    expect(told(receiver)).toEqual(['1', '1', '1', '1', '2', '3'])
    const ids = receiver.requests.slice(0, 4).map(({ headers }) => headers['x-a2a-event-id'])
    expect(new Set(ids).size).toBe(1)
  })

  test('waits differ by half at most, and never exceed five minutes', async () => {
    answerWith(Array.from({ length: 12 }, () => 503))
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    await scene.open({ random: () => 0 })
    const waits: number[] = []
    while (waits.length < 12) {
      const ms = await scene.clock.timer(isBackoff)
      waits.push(ms)
      scene.clock.advance(ms)
    }
    expect(waits.slice(0, 3)).toEqual([500, 1_000, 2_000])
    expect(waits.at(-1)).toBe(150_000)
    await scene.seen(1)
  })

  test('is left alone for as long as its Retry-After says', async () => {
    answerWith([429], { 'retry-after': '77' })
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    await scene.open()
    expect(await scene.clock.timer(isBackoff)).toBe(77_000)
    scene.clock.advance(76_999)
    expect(receiver.requests).toHaveLength(1)
    scene.clock.advance(1)
    await scene.seen(2)
    expect(told(receiver)).toEqual(['1', '1', '2'])
  })

  test('that hangs is cut off and tried again', async () => {
    receiver.answer = () => {}
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    await scene.open({ timeoutMs: 12_000 })
    await receiver.received(1)
    receiver.answer = (_request, response) => void response.end()
    scene.clock.advance(12_000)
    expect(await scene.clock.timer((ms) => ms !== 12_000)).toBe(1_000)
    scene.clock.advance(1_000)
    await scene.seen(2)
    expect(told(receiver)).toEqual(['1', '1', '2'])
  })

  test('that is down across a restart gets everything, in order', async () => {
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    await receiver.close()
    const before = await scene.open()
    await scene.clock.timer(isBackoff)
    await before.close()
    expect(scene.clock.pending()).toEqual([])
    await scene.append('t', chunk('3'), status('TASK_STATE_COMPLETED'))
    const back = await scene.receiver(receiver.port)
    await scene.open()
    await scene.seen(4)
    expect(told(back)).toEqual(['1', '2', '3', 'TASK_STATE_COMPLETED'])
  })
})
