import { valueError } from '../python/error.ts'
import { str } from '../python/text.ts'
import { equals } from '../python/value.ts'
import type { Table } from '../state/table.ts'
import { defineToolkit, method, type Self, type Toolkit } from '../toolkit.ts'
import { type Notification, notificationModel } from './models.ts'
import { mockUserWords } from './user-words.ts'

const inboxOf = ({ db }: Self): Table<Notification> => db.table('notifications')

/** The user's tools of the mock domain: an inbox. */
export const mockUserTools: Toolkit = defineToolkit({
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
