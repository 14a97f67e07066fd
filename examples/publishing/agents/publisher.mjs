/** Publishes what it gets. */

export default function publish(message) {
  return `Published: ${message.parts.map((part) => part.text ?? '').join('')}`
}
