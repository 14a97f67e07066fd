/** Answers every question about documentation. */
export default function document() {
  return "I'll create comprehensive documentation with examples and best practices!"
}
