/** The protocol's words: a message, a task, what it answers. Run: npx tsx examples/vocabulary.ts */

// #region vocabulary
import {
  answerParts,
  isTerminal,
  newArtifact,
  newStatus,
  type Task,
  textOf,
  userMessage,
} from 'corral'

const message = userMessage('A poem, please', { contextId: 'context-1' })
const task: Task = {
  id: 'task-1',
  contextId: 'context-1',
  status: newStatus('completed'),
  history: [message],
  artifacts: [newArtifact('poem', 'Roses are red.')],
}
if (isTerminal(task.status.state)) console.log(textOf(answerParts(task)))
// #endregion vocabulary
