/** Does the work. It knows nothing of routing, so its answer goes to the user. */
export default function work(message) {
  return `[Worker] Completed task: ${message.parts.map((part) => part.text ?? '').join('')}`
}
