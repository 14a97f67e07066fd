import { valueError } from '../python/error.ts'
import { str } from '../python/text.ts'
import { equals, type Value } from '../python/value.ts'
import type { Table } from '../state/table.ts'
import { defineToolkit, method, type Self, type Toolkit } from '../toolkit.ts'
import { type MockTask, type MockUser, taskModel } from './models.ts'
import { mockWords } from './words.ts'

const tasksOf = ({ db }: Self): Table<MockTask> => db.table('tasks')
const usersOf = ({ db }: Self): Table<MockUser> => db.table('users')

/** The agent's tools of the mock domain. */
export const mockTools: Toolkit = defineToolkit({
  name: 'MockTools',
  words: mockWords,
  tools: {
    create_task(self, { user_id, title, description }) {
      const user = editUser(self, user_id)
      const tasks = tasksOf(self)
      const task_id = `task_${tasks.size() + 1}`
      const task = taskModel.create({ task_id, title, description, status: 'pending' })
      tasks.put(task_id, task)
      user.tasks.push(task_id)
      return task
    },
    get_users: (self) => [...usersOf(self).values()],
    update_task_status(self, { task_id, status }) {
      const task = editTask(self, task_id)
      task.status = status
      return task
    },
    transfer_to_human_agents: () => 'Transfer successful',
  },
  functions: {
    assert_number_of_tasks: method(
      ['user_id', 'expected_number'],
      (self, { user_id, expected_number }) => {
        const user = usersOf(self).get(user_id)
        if (!user) throw valueError(`User ${str(user_id)} not found`)
        return equals(BigInt(user.tasks.length), expected_number)
      },
    ),
    assert_task_status: method(
      ['task_id', 'expected_status'],
      (self, { task_id, expected_status }) => {
        const task = tasksOf(self).get(task_id)
        if (!task) throw valueError(`Task ${str(task_id)} not found`)
        return equals(task.status, expected_status)
      },
    ),
  },
})

function editUser(self: Self, id: Value): MockUser {
  const users = usersOf(self)
  if (!users.get(id)) throw valueError(`User ${str(id)} not found`)
  return users.edit(id)
}

function editTask(self: Self, id: Value): MockTask {
  const tasks = tasksOf(self)
  if (!tasks.get(id)) throw valueError(`Task ${str(id)} not found`)
  return tasks.edit(id)
}
