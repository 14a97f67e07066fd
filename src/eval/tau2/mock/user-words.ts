/** The user's tools of tau2's mock domain, in its words. */
export const mockUserWords = {
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
