import { textOf } from '../protocol/task.ts'
import type { Message, Part, Task, TaskState } from '../protocol/types.ts'
import type { ConsoleHost } from '../server/console.ts'
import { isFields } from '../shared/json.ts'
import { currentTask } from '../store/current.ts'
import type { StoredTask } from '../store/store.ts'
import type { NeedsYou } from './api.ts'
import { approvalsOf } from './graph.ts'
import { toListedTask } from './listed-task.ts'
import { createTaskPages } from './pages.ts'
import { inSlices } from './slices.ts'
import type { TaskReader } from './task-reader.ts'
import type { Viewer } from './viewer.ts'

const maxWaiting = 50

/** Makes what reads the tasks that wait for a caller, those that have waited longest first. */
export function createInbox(
  host: ConsoleHost,
  reader: TaskReader,
): (viewer: Viewer) => Promise<readonly NeedsYou[]> {
  const { mounts, store } = host
  const readPage = createTaskPages(host, reader)
  /** A list does not bring the messages of large tasks. */
  async function wholeOf(listed: StoredTask): Promise<Task> {
    const { id } = listed.head
    const stored = listed.task.history ? listed : await store.get(id, undefined, bare)
    return currentTask(store, stored ?? listed)
  }

  return async (viewer) => {
    // An operator's own are not lost among everybody's.
    const owner = { ...viewer, isOperator: false }
    const pages = await Promise.all(
      waitingStates.map((state) => readPage(owner, { state, limit: maxWaiting })),
    )
    const waiting = pages
      .flatMap(({ tasks }) => tasks)
      .sort((a, b) => (a.head.timestamp < b.head.timestamp ? -1 : 1))
    return inSlices(waiting.slice(0, maxWaiting), async (stored) => {
      const { message: question } = (await wholeOf(stored)).status
      const agent = mounts.get(stored.head.scope.agent)?.agent()
      return {
        task: await toListedTask(stored, viewer, reader),
        kind: kindOfQuestion(stored, question, agent ? approvalsOf(agent) : []),
        ...(question && { question }),
      }
    })
  }
}

const bare = { artifacts: false }

const waitingStates: readonly TaskState[] = [
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
]

/** An approval of a tool says in its data which one; another one ends with the question of its step. */
function kindOfQuestion(
  { head }: StoredTask,
  question: Message | undefined,
  approvals: readonly string[],
): NeedsYou['kind'] {
  if (head.state === 'TASK_STATE_AUTH_REQUIRED') return 'login'
  if (question?.parts.some(isToolApproval)) return 'approval'
  const text = textOf(question?.parts ?? [])
  return approvals.some((one) => text.endsWith(one)) ? 'approval' : 'input'
}

function isToolApproval(part: Part): boolean {
  if (!('data' in part) || !isFields(part.data)) return false
  const { approval } = part.data
  return isFields(approval) && typeof approval.tool === 'string'
}
