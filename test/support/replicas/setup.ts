import { basename } from 'node:path'
import { beforeEach } from 'vitest'
import { hasPostgres } from '../postgres.ts'
import { leftOut } from './left-out.ts'

beforeEach(({ task, skip }) => {
  if (!hasPostgres) skip('there is no PostgreSQL')
  const reasons = leftOut[basename(task.file.name)] ?? {}
  const known = namesOf(task.file)
  const unknown = Object.keys(reasons).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`Left out, but not there: ${unknown.join('; ')}`)
  const reason = reasons[task.name]
  if (reason !== undefined) skip(reason)
})

interface Named {
  readonly name: string
  readonly tasks?: readonly Named[]
}

function namesOf({ name, tasks }: Named): readonly string[] {
  return tasks ? tasks.flatMap(namesOf) : [name]
}
