/** Answers every question about tests. */
export default function test() {
  return "I'll create comprehensive test coverage with unit, integration, and edge case tests!"
}
