/** The first of many in an order that changes, each change at the cost of a logarithm. */
interface Heap<T> {
  first(): T | undefined
  add(item: T): void
  remove(item: T): void
  /** The item may belong elsewhere now. */
  moved(item: T): void
}

/** Makes a heap. Its items carry their own place, so that nobody has to look for them. */
export function createHeap<T extends { index: number }>(isAbove: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = []

  function put(item: T, index: number): void {
    items[index] = item
    item.index = index
  }

  function swap(a: T, b: T): void {
    const { index } = a
    put(a, b.index)
    put(b, index)
  }

  function rise(item: T): void {
    while (item.index > 0) {
      const above = items[(item.index - 1) >> 1]
      if (!above || !isAbove(item, above)) return
      swap(item, above)
    }
  }

  function sink(item: T): void {
    for (;;) {
      const left = items[2 * item.index + 1]
      const right = items[2 * item.index + 2]
      const below = left && right && isAbove(right, left) ? right : left
      if (!below || !isAbove(below, item)) return
      swap(item, below)
    }
  }

  const heap: Heap<T> = {
    first: () => items[0],
    add(item) {
      put(item, items.length)
      rise(item)
    },
    remove(item) {
      const last = items.pop()
      if (!last || last === item) return
      put(last, item.index)
      heap.moved(last)
    },
    moved(item) {
      rise(item)
      sink(item)
    },
  }
  return heap
}
