const parameters = {
  type: 'object',
  properties: { order_id: { type: 'string', description: 'Such as o1' } },
  required: ['order_id'],
}

/** What the agent may call. The world is changed in place; what is thrown is told to the agent. */
export const tools = {
  get_order: {
    kind: 'read',
    description: 'Look at an order.',
    parameters,
    run: ({ order_id }, { agent }) => ({ order_id, ...agent.orders[order_id] }),
  },
  cancel_order: {
    description: 'Cancel an order.',
    parameters,
    run({ order_id }, { agent }) {
      agent.orders[order_id].status = 'cancelled'
      return { order_id, status: 'cancelled' }
    },
  },
}

/** What tasks check; the agent never sees it. */
export const functions = {
  has_status: ({ order_id, status }, { agent }) => agent.orders[order_id].status === status,
}
