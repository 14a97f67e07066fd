import { type DomainKind, plainPolicy } from '../kind.ts'
import { defaults, type Model, model, orNone } from '../model/model.ts'
import { listType, literal, optionalType, strType } from '../model/types.ts'
import { valueError } from '../python/error.ts'
import { str } from '../python/text.ts'
import { equals, type Instance, type Value } from '../python/value.ts'
import type { DatabaseType } from '../state/base.ts'
import type { Table } from '../state/table.ts'
import { defineToolkit, method, type Self, type Toolkit } from '../toolkit.ts'

/** A task of a user. */
interface MockTask extends Instance {
  task_id: string
  title: Value
  description: Value
  status: Value
}

/** A user and the ids of their tasks. */
interface MockUser extends Instance {
  user_id: string
  name: string
  tasks: string[]
}

/** A notification in the user's inbox. */
interface Notification extends Instance {
  notification_id: string
  message: string
  status: string
  task_id: string | null
}

/** The model of a task. */
const taskModel: Model<MockTask> = model<MockTask>('Task', {
  task_id: strType,
  title: strType,
  description: orNone(optionalType(strType)),
  status: literal('pending', 'completed'),
})

const userModel: Model<MockUser> = model<MockUser>('User', {
  user_id: strType,
  name: strType,
  tasks: listType(strType),
})

/** The model of a notification. */
const notificationModel: Model<Notification> = model<Notification>(
  'Notification',
  {
    notification_id: strType,
    message: strType,
    status: defaults(literal('unread', 'read'), () => 'unread'),
    task_id: orNone(optionalType(strType)),
  },
  { extra: 'forbid' },
)

/** The agent's database. */
const mockDatabase: DatabaseType = {
  name: 'MockDB',
  tables: {
    tasks: { shape: 'dict', row: taskModel },
    users: { shape: 'dict', row: userModel },
  },
}

/** The user's database. */
const mockUserDatabase: DatabaseType = {
  name: 'MockUserDB',
  tables: {
    notifications: { shape: 'dict', row: notificationModel, absent: () => new Map() },
  },
}

/** The agent's tools of tau2's mock domain, in its words. */
const mockWords = {
  create_task: {
    kind: 'write',
    description: 'Create a new task for a user.',
    parameters: {
      user_id: { type: 'str', description: 'The ID of the user creating the task' },
      title: { type: 'str', description: 'The title of the task' },
      description: { type: 'str', description: 'Optional description of the task', default: null },
    },
  },
  get_users: {
    kind: 'read',
    description: 'Get all users in the database.',
    parameters: {},
  },
  update_task_status: {
    kind: 'write',
    description: 'Update the status of a task.',
    parameters: {
      task_id: { type: 'str', description: 'The ID of the task to update' },
      status: {
        type: { enum: ['pending', 'completed'], type: 'string' },
        description: 'The new status of the task',
      },
    },
  },
  transfer_to_human_agents: {
    kind: 'generic',
    description:
      "Transfer the user to a human agent, with a summary of the user's issue.\n\nOnly transfer if\n -  the user explicitly asks for a human agent\n -  given the policy and the available tools, you cannot solve the user's issue.",
    parameters: {
      summary: { type: 'str', description: "A summary of the user's issue." },
    },
  },
} as const

const tasksOf = ({ db }: Self): Table<MockTask> => db.table('tasks')
const usersOf = ({ db }: Self): Table<MockUser> => db.table('users')

/** The agent's tools of the mock domain. */
const mockTools: Toolkit = defineToolkit({
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

/** The user's tools of tau2's mock domain, in its words. */
const mockUserWords = {
  check_notifications: {
    kind: 'read',
    description: "Check all notifications in the user's inbox.",
    parameters: {},
  },
  dismiss_notification: {
    kind: 'write',
    description: 'Dismiss (mark as read) a notification.',
    parameters: {
      notification_id: { type: 'str', description: 'The ID of the notification to dismiss.' },
    },
  },
} as const

const inboxOf = ({ db }: Self): Table<Notification> => db.table('notifications')

/** The user's tools of the mock domain: an inbox. */
const mockUserTools: Toolkit = defineToolkit({
  name: 'MockUserTools',
  words: mockUserWords,
  tools: {
    check_notifications: (self) => [...inboxOf(self).values()],
    dismiss_notification(self, { notification_id }) {
      const notifications = inboxOf(self)
      if (!notifications.get(notification_id))
        throw valueError(`Notification ${str(notification_id)} not found`)
      notifications.edit(notification_id).status = 'read'
      return `Notification ${str(notification_id)} dismissed`
    },
  },
  functions: {
    add_notification: method(
      ['notification_id', 'message'],
      (self, { notification_id, message, task_id }) => {
        const made = notificationModel.create({ notification_id, message, task_id })
        inboxOf(self).put(made.notification_id, made)
        return made
      },
      { task_id: null },
    ),
    assert_notification_status: method(
      ['notification_id', 'expected_status'],
      (self, { notification_id, expected_status }) => {
        const notification = inboxOf(self).get(notification_id)
        if (!notification) throw valueError(`Notification ${str(notification_id)} not found`)
        return equals(notification.status, expected_status)
      },
    ),
  },
})

/** tau2's mock domain: tasks of a user, and an inbox on the user's side. */
export const mockKind: DomainKind = {
  name: 'mock',
  folder: 'mock',
  policy: plainPolicy,
  agent: { toolkit: mockTools, database: mockDatabase, file: 'db.json' },
  user: { toolkit: mockUserTools, database: mockUserDatabase, file: 'user_db.json' },
}
