import { TaskState } from '@a2a-js/sdk'
import { AgentEvent } from '@a2a-js/sdk/server'

export const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() })
    const update = (state) =>
      AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} })
    const task = { id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED) }
    bus.publish(AgentEvent.task({ ...task, artifacts: [], history: [userMessage], metadata: {} }))
    bus.publish(update(TaskState.TASK_STATE_WORKING))
    for (const [at, word] of ['Roses ', 'are ', 'red.'].entries()) {
      const content = { $case: 'text', value: word }
      const parts = [{ content, metadata: {}, filename: '', mediaType: '' }]
      const artifact = { artifactId: 'poem', name: 'poem', description: '', parts }
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: { ...artifact, metadata: {}, extensions: [] },
          append: at > 0,
          lastChunk: at === 2,
          metadata: {},
        }),
      )
    }
    bus.publish(update(TaskState.TASK_STATE_COMPLETED))
    bus.finished()
  },
  async cancelTask() {},
}
