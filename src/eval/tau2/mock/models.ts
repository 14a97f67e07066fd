import { defaults, type Model, model, orNone } from '../model/model.ts'
import { listType, literal, optionalType, strType } from '../model/types.ts'
import type { Instance, Value } from '../python/value.ts'
import type { DatabaseType } from '../state/base.ts'

/** A task of a user. */
export interface MockTask extends Instance {
  task_id: string
  title: Value
  description: Value
  status: Value
}

/** A user and the ids of their tasks. */
export interface MockUser extends Instance {
  user_id: string
  name: string
  tasks: string[]
}

/** A notification in the user's inbox. */
export interface Notification extends Instance {
  notification_id: string
  message: string
  status: string
  task_id: string | null
}

/** The model of a task. */
export const taskModel: Model<MockTask> = model<MockTask>('Task', {
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
export const notificationModel: Model<Notification> = model<Notification>(
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
export const mockDatabase: DatabaseType = {
  name: 'MockDB',
  tables: {
    tasks: { shape: 'dict', row: taskModel },
    users: { shape: 'dict', row: userModel },
  },
}

/** The user's database. */
export const mockUserDatabase: DatabaseType = {
  name: 'MockUserDB',
  tables: {
    notifications: { shape: 'dict', row: notificationModel, absent: () => new Map() },
  },
}
