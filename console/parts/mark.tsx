/** The mark of the house: a round pen with its gate open. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d="M18 6.6a8.4 8.4 0 1 0 0 10.8" />
      <circle cx="12" cy="12" r="2.2" />
      <path d="M14.4 12H22" />
    </svg>
  )
}
