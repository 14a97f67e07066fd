/** Calls back in the next animation frame, once, however often it is asked within this one. */
export function oncePerFrame(draw: () => void): () => void {
  let asked = false
  return () => {
    if (asked) return
    asked = true
    nextFrame(() => {
      asked = false
      draw()
    })
  }
}

/** A tab in the background has no frames; it must not stand still for whoever waits for its answer. */
function nextFrame(callback: () => void): void {
  if (document.visibilityState === 'hidden') queueMicrotask(callback)
  else requestAnimationFrame(callback)
}
