import { expect, it } from 'vitest'
import { wait } from '../../../src/shared/async.ts'
import { systemClock } from '../../../src/shared/clock.ts'
import { silent } from '../../../src/shared/log.ts'
import { TasksLocked } from '../../../src/store/documents.ts'
import { Commits } from '../../../src/store/postgres/commit.ts'
import { type DatabaseRow, namesIn } from '../../../src/store/postgres/connection.ts'
import { DatabaseLink } from '../../../src/store/postgres/links.ts'
import { toLine } from '../../../src/store/postgres/rows.ts'
import { write } from '../../contracts/store/samples.ts'

/** Whether a write waits for a lock until its timeout, or what it is about is stored. */
type Wrote = 'locked' | 'stored'

interface Script {
  /** What each look for locked tasks finds, in order: their ids, or that the connection broke. */
  readonly looks: readonly (readonly string[] | 'broken')[]
  /** What becomes of each write, in order. */
  readonly writes: readonly Wrote[]
}

function openCommits({ looks, writes }: Script) {
  const [nextLook, nextWrite] = [looks.values(), writes.values()]
  async function look(): Promise<readonly DatabaseRow[]> {
    const found = nextLook.next().value ?? []
    if (found === 'broken') throw new Error('Connection terminated unexpectedly')
    return found.map((id) => ({ id }))
  }
  const link = new DatabaseLink({
    ...{ url: '', tls: undefined, statementTimeoutMs: 1_000, name: 'test' },
    connect: async () => ({
      backend: 1,
      query: look,
      queryAll: async () => [],
      close: async () => {},
      destroy() {},
    }),
  })
  const db = {
    ...{ link, names: namesIn('test'), clock: systemClock, logger: silent, replica: () => 1 },
    ...{ leaseMs: 5_000, commitTimeoutMs: 30_000 },
  }
  const options: ConstructorParameters<typeof Commits>[2] = {
    async write(lines) {
      if (nextWrite.next().value === 'locked')
        throw Object.assign(new Error('lock timeout'), { code: '55P03', severity: 'ERROR' })
      return lines.map(() => ({ version: 1 }))
    },
  }
  const commits = new Commits(db, { committed() {}, failed() {} }, options)
  return {
    commit: (id: string) => commits.commit([toLine(write(id), 1_000_000)]),
    commits,
  }
}

it('writes a group again where the connection breaks in a look before it is written', async () => {
  const { commit } = openCommits({ looks: [['t'], 'broken'], writes: ['locked', 'stored'] })
  await expect(commit('t')).rejects.toThrow(TasksLocked)
  expect(await Promise.all([commit('t'), commit('u')])).toEqual([
    [{ version: 1 }],
    [{ version: 1 }],
  ])
})

it('writes a group again where the connection breaks in a look after a lock timeout', async () => {
  const { commit } = openCommits({ looks: ['broken', ['t']], writes: ['locked', 'locked'] })
  const [t, u] = await Promise.allSettled([commit('t'), commit('u')])
  expect(t).toMatchObject({ reason: { ids: new Set(['t']) } })
  expect(u).toMatchObject({ value: [{ version: 1 }] })
})

it('is not stuck where the only commits that waited were rejected for a lock', async () => {
  const { commit, commits } = openCommits({ looks: [[], ['t']], writes: ['locked', 'locked'] })
  await expect(commit('t')).rejects.toThrow(TasksLocked)
  await wait(systemClock, 20)
  expect(commits.stuckMs).toBe(0)
})
