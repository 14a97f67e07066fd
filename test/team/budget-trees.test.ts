import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Agent, Turn } from '../../src/agents/agent.ts'
import { wrapAgent } from '../../src/agents/wrap.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { toUsageMetadata, type Usage, usageOf } from '../../src/protocol/extensions.ts'
import type { Step } from '../../src/team/config.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import { createInstantClock } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

/** A member with what its rounds cost, in thousandths of a dollar. */
interface Leaf {
  readonly costs: readonly number[]
  /** Whether it counts while it works, as models do, or tells in its reply. */
  readonly live: boolean
  /** Whether its first try fails after its rounds; a live one only, since a failure tells nothing. */
  readonly fails: boolean
}

/** A team of members and teams. */
interface Tree {
  readonly members: readonly (Tree | Leaf)[]
  readonly parallel: boolean
  readonly limit: number | undefined
}

const leaf: fc.Arbitrary<Leaf> = fc.record({
  costs: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 4 }),
  live: fc.boolean(),
  fails: fc.boolean(),
})

const { tree } = fc.letrec<{ tree: Tree; node: Tree | Leaf }>((tie) => ({
  tree: fc.record({
    members: fc.array(tie('node'), { minLength: 1, maxLength: 4 }),
    parallel: fc.boolean(),
    limit: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
  }),
  node: fc.oneof({ maxDepth: 3 }, leaf, tie('tree')),
}))

/** What was truly spent below a team, in thousandths. */
interface Truth {
  readonly limit: number | undefined
  spent: number
}

/** Notes each call that begins, and what it costs once it has ended. */
function createScene() {
  const broken: string[] = []
  return {
    broken,
    begin(around: readonly Truth[]) {
      for (const { spent, limit } of around)
        if (limit !== undefined && spent >= limit) broken.push(`${spent} of ${limit}`)
    },
    end(around: readonly Truth[], cost: number) {
      for (const truth of around) truth.spent += cost
    },
  }
}

type Scene = ReturnType<typeof createScene>

function toUsage(thousandths: number): Usage {
  return { inputTokens: thousandths, outputTokens: 0, costUsd: thousandths / 1_000 }
}

/** Other members go on meanwhile. */
function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function toMember(scene: Scene, { costs, live, fails }: Leaf, around: readonly Truth[]): Agent {
  const total = costs.reduce((sum, cost) => sum + cost, 0)
  let tries = 0
  return member('leaf', async (text, turn: Turn) => {
    tries++
    if (!live) {
      scene.begin(around)
      await later()
      // Nobody reads the reply of a member that was left behind, so nobody can know what it cost.
      if (turn.signal.aborted) return turn.reply(text)
      scene.end(around, total)
      return { ...turn.reply(text), metadata: toUsageMetadata(toUsage(total)) }
    }
    for (const cost of costs) {
      turn.account?.check()
      scene.begin(around)
      await later()
      scene.end(around, cost)
      turn.account?.spend(toUsage(cost))
    }
    if (fails && tries === 1) throw new A2AError('agentUnavailable', 'not now')
    // What it counted itself it may also tell.
    return { ...turn.reply(text), metadata: toUsageMetadata(toUsage(total)) }
  })
}

function toTeam(scene: Scene, tree: Tree, above: readonly Truth[]): { team: Team; truth: Truth } {
  const truth: Truth = { limit: tree.limit, spent: 0 }
  const around = [...above, truth]
  const agents = Object.fromEntries(
    tree.members.map((one, index) => [
      `m${index}`,
      'members' in one ? toNested(scene, one, around) : toMember(scene, one, around),
    ]),
  )
  const calls = Object.keys(agents).map((agentId): Step => ({ agentId, maxRetries: 1 }))
  const team = defineTeam({
    ...{ id: 'team', name: 'Team', agents, clock: createInstantClock() },
    scheduler: { type: 'workflow', steps: tree.parallel ? [{ parallel: calls }] : calls },
    ...(tree.limit !== undefined && { budget: { maxCostUsd: tree.limit / 1_000 } }),
  })
  return { team, truth }
}

/** A limit is that of one run: a team that is tried again begins another one. */
function toNested(scene: Scene, tree: Tree, around: readonly Truth[]): Agent {
  const { team, truth } = toTeam(scene, tree, around)
  return wrapAgent(team, {
    process(ask, _message, turn) {
      truth.spent = 0
      return ask(turn)
    },
  })
}

test('no call begins in a tree of teams once one of them has spent its limit, and nothing is counted twice', async () => {
  let [completed, stopped] = [0, 0]
  await fc.assert(
    fc.asyncProperty(tree, async (given) => {
      const scene = createScene()
      const { team, truth } = toTeam(scene, given, [])
      const events = await runTurn(team, createTurn('x')).catch((error: unknown) => {
        expect(error).toBeInstanceOf(A2AError)
        return undefined
      })
      expect(scene.broken).toEqual([])
      if (!events) return void stopped++
      completed++
      const last = events.at(-1)
      const isStatus = typeof last === 'object' && 'statusUpdate' in last
      const used = isStatus ? usageOf(last.statusUpdate.metadata) : undefined
      expect(used).toMatchObject(toUsage(truth.spent))
    }),
    { numRuns: 150 },
  )
  // Both ends were seen.
  expect(Math.min(completed, stopped)).toBeGreaterThan(10)
})
