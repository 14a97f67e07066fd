import type { Case } from './case.ts'
import { againstEachOther, againstFloor, deskCost } from './compare.ts'
import { eventElsewhere, takeover, twoReplicas } from './replicas.ts'
import {
  clientCost,
  commandStart,
  compareClients,
  compareHops,
  crowd,
  dataHopCost,
  growth,
  guardCost,
  hopCost,
  memoryAfterTasks,
  slowCrowd,
  subscriberCost,
} from './special.ts'
import type { WorkloadName } from './workloads.ts'

const floors = '× floor CPU per request'

/** A load on Corral against the floor, and against the peer where that can do the same. */
function floorCase(name: WorkloadName, title: string, bar: number, withPeer = false): Case {
  return { name, title, bar, unit: floors, run: (bench) => againstFloor(bench, name, withPeer) }
}

function growthCase(store: string, title: string): Case {
  return {
    name: `growth-${store}`,
    title: `lists with 1,000,000 tasks against 10,000, ${title}`,
    bar: 1.3,
    unit: '× the time, of the list that grows most',
    run: (bench) => growth(bench, store),
  }
}

/** Every case, in the order of the report. */
export const cases: readonly Case[] = [
  floorCase('message', 'SendMessage → Message', 1.5, true),
  floorCase('task', 'SendMessage → completed Task, memory', 1.8, true),
  floorCase('lifecycle', '4-event lifecycle, memory', 2, true),
  floorCase('stream-20', 'stream of 20 chunks', 1.3, true),
  floorCase('stream-100', 'stream of 100 chunks', 1.4, true),
  floorCase('stream-400', 'stream of 400 chunks', 1.4, true),
  floorCase('task-sqlite', 'completed Task, SQLite, synchronous=FULL', 3),
  {
    name: 'task-postgres',
    title: 'completed Task, PostgreSQL, our own process alone',
    bar: 1.25,
    unit: '× the SQLite figure',
    run: (bench) => againstEachOther(bench, 'task-sqlite', 'task-postgres'),
  },
  floorCase('stream-20-sqlite', 'stream of 20 chunks, SQLite', 2.5),
  floorCase('get-task', 'GetTask with 100,000 tasks stored', 1.5),
  {
    name: 'list-tasks',
    title: 'ListTasks page of 50, 100,000 tasks against 1,000',
    bar: 1.1,
    unit: '× CPU of the page at 1,000',
    run: (bench) => againstEachOther(bench, 'list-1000', 'list-100000'),
  },
  growthCase('memory', 'memory'),
  growthCase('sqlite', 'SQLite'),
  growthCase('postgres', 'PostgreSQL'),
  {
    name: 'task-0.3',
    title: 'the task in dialect 0.3',
    bar: 1.15,
    unit: '× the 1.0 figure',
    run: (bench) => againstEachOther(bench, 'task', 'task-0.3'),
  },
  {
    name: 'task-ranch',
    title: 'the task in the RANCH dialect',
    bar: 1.15,
    unit: '× the 1.0 figure',
    run: (bench) => againstEachOther(bench, 'task', 'task-ranch'),
  },
  {
    name: 'replica-event',
    title: 'event stored on one replica → reader on another, p50',
    bar: 20,
    unit: 'ms after a reader on the first',
    run: eventElsewhere,
  },
  {
    name: 'replica-takeover',
    title: '1,000 tasks of a dead replica run on another',
    bar: 5_000,
    unit: 'ms after its death',
    run: takeover,
  },
  {
    name: 'replicas-2',
    title: 'completed Task, PostgreSQL, two replicas against one',
    bar: 1,
    unit: '× the time of one, load and database beside them',
    run: twoReplicas,
  },
  {
    name: 'workflow-hop',
    title: 'workflow of three local members, per hop',
    bar: 60,
    unit: 'µs CPU over direct calls',
    run: hopCost,
    compare: (bench, trees) => compareHops(bench, 'team', trees),
  },
  {
    name: 'workflow-data',
    title: 'workflow of three local members with CEL and checked data, per hop',
    bar: 100,
    unit: 'µs CPU over direct calls',
    run: dataHopCost,
    compare: (bench, trees) => compareHops(bench, 'data', trees),
  },
  {
    name: 'desk',
    title: 'support desk: 3 model calls, 2 tools, 2 hops, 4 guards, 200 at once',
    bar: 5,
    unit: 'ms CPU per chat',
    run: deskCost,
  },
  {
    name: 'guards-100k',
    title: '100 KB of text through each built-in guard, the slowest',
    bar: 1,
    unit: 'ms CPU',
    run: guardCost,
  },
  {
    name: 'rss-50000',
    title: 'RSS after 50,000 small tasks, memory',
    bar: 100,
    unit: 'MB above idle',
    run: memoryAfterTasks,
  },
  {
    name: 'subscribers-5000',
    title: '5,000 open subscriptions, one event',
    bar: 1.5,
    unit: '× floor RSS per subscriber',
    run: subscriberCost,
  },
  {
    name: 'concurrent-100',
    title: '100 concurrent requests, p95',
    bar: 500,
    unit: 'ms above the unloaded p95',
    run: crowd,
  },
  {
    name: 'concurrent-100-slow',
    title: '100 concurrent requests that take 200 ms, p95',
    bar: 100,
    unit: 'ms above the unloaded p95',
    run: slowCrowd,
  },
  {
    name: 'client',
    title: 'client: SendMessage',
    bar: 1.5,
    unit: '× bare undici CPU per call',
    run: clientCost,
    compare: compareClients,
  },
  {
    name: 'cli-version',
    title: 'CLI: corral --version',
    bar: 2,
    unit: '× node -e 0',
    run: commandStart,
  },
]
