import { expect, test } from 'vitest'
import { post } from './serve.ts'
import { serveTeam } from './team.ts'

const params = `{
  "message": {
    "role": "user",
    "parts": [
      {
        "type": "text",
        "text": "Write a fantasy story about dragons"
      }
    ]
  }
}`

const result = `{
  "message": {
    "role": "agent",
    "parts": [
      {
        "type": "text",
        "text": "Once upon a time, in a realm of dragons..."
      }
    ]
  }
}`

test('AT-1: a team processes a story and answers with the message of 004', async () => {
  const asked: string[] = []
  const url = await serveTeam((text) => {
    asked.push(text)
    return 'Once upon a time, in a realm of dragons...'
  })
  const body = `{"jsonrpc":"2.0","method":"message/send","params":${params},"id":1}`
  const answer = await post(url, body)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('application/json')
  expect(answer.text).toBe(
    `{"jsonrpc":"2.0","result":${JSON.stringify(JSON.parse(result))},"id":1}`,
  )
  expect(asked).toEqual(['Write a fantasy story about dragons'])
})
