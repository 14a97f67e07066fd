import { createMemoryStore } from '../../src/store/memory.ts'
import { describeStore } from '../contracts/store.ts'

describeStore('memory', (options) => createMemoryStore(options))
