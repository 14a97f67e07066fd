import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { OpenAIAgent } from 'corral/agents'
import { openModelServer, runTeam } from 'corral/testing'
import { openRecorded } from './recorded.mjs'

test('what the model said once it says again, without its service', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'recorded-')), 'answers.json')
  const real = await openModelServer(['Bees hum.']) // yours is https://api.openai.com/v1
  const first = await askPoet(file, real.url)
  await real.close()
  assert.equal(first, 'Bees hum.')
  assert.equal(await askPoet(file, real.url), first)
})

async function askPoet(file, endpoint) {
  const model = await openRecorded(file, { endpoint, apiKey: 'none' })
  const service = { endpoint: model.url, apiKey: 'none', model: 'gpt-4.1' }
  const poet = new OpenAIAgent({ ...service, id: 'poet', name: 'Poet' })
  const run = await runTeam(poet, 'A line about bees')
  await model.close()
  return run.text
}
