import { describe, expect, test } from 'vitest'
import { spoken } from '../../../src/eval/domain/domain.ts'
import { createJudge } from '../../../src/eval/scorers/built-in.ts'
import { tau2Prompts } from '../../../src/eval/tau2/prompts.ts'
import { serveModel } from '../chat-server.ts'

const { signal } = new AbortController()

const messages = [spoken('assistant', 'Hello!')]

const verdicts = '{"results": [{"met": true, "justification": "It is."}]}'

const judged = [{ nl_assertion: 'Kind', met: true, justification: 'It is.' }]

describe("a judge's answer", () => {
  test.each([
    ['bare', verdicts],
    ['in a fence', `\`\`\`json\n${verdicts}\n\`\`\``],
    ['in prose', `I think {hm} so: ${verdicts} – that is all.`],
    [
      "in tau2's words",
      '{"results": [{"expectedOutcome": "Kind", "reasoning": "It is.", "metExpectation": true}]}',
    ],
  ])('is read %s', async (_, text) => {
    const model = await serveModel([text])
    const judge = createJudge({ baseUrl: model.url, model: 'm' })
    expect(await judge(['Kind'], messages, signal)).toEqual(judged)
  })

  test('that is none is refused', async () => {
    const model = await serveModel(['Yes.'])
    const judge = createJudge({ baseUrl: model.url, model: 'm' })
    await expect(judge(['Kind'], messages, signal)).rejects.toThrow("Invalid judge's answer")
  })

  test("is asked for in a domain's own words, with the members that are given", async () => {
    const model = await serveModel([verdicts])
    const args = { temperature: 0.5, top_p: 0.9, model: 'other' }
    const chat = { baseUrl: model.url, model: 'm', apiKey: 'judge-key', args }
    await createJudge(chat, { prompt: tau2Prompts.judge })(['Kind'], messages, signal)
    const [request] = model.requests
    expect(request).toMatchObject({ model: 'm', temperature: 0.5, top_p: 0.9 })
    expect(request).not.toHaveProperty('response_format')
    expect(request?.messages[1]?.content).toContain("expectedOutcomes:\n        ['Kind']")
    expect(model.headers[0]?.authorization).toBe('Bearer judge-key')
  })
})
