/** The agent's tools of tau2's mock domain, in its words. */
export const mockWords = {
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
