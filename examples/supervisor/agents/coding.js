/** Answers every question about code. */
export default function code() {
  return 'I can help you implement that feature with clean, efficient code!'
}
