import { describe, expect, it } from 'vitest'
import { CONTROL_FIELDS, RESPONSES_FIELDS } from '../../../src/protocols/responses/fields.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { respond } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { type LaneName, SAMPLES, type Served } from './field-samples.ts'
import { useResponsesServer } from './responses-server.ts'

/** What a request needs to get there. */
const LANES: Readonly<Record<LaneName, object>> = {
  plain: { model: 'over-plain' },
  native: { model: 'over-native' },
  chat: { model: 'over-chat' },
  translated: { model: 'over-plain', tools: [{ type: 'custom', name: 'free_form' }] },
}
const LANE_NAMES = Object.keys(LANES) as LaneName[]

const REQUIRED = ['model', 'input']

function sentOf(name: string, { value, sent }: Served, lane: LaneName): object {
  return sent?.[lane] ?? (RESPONSES_FIELDS[name]?.policy === 'passed' ? { [name]: value } : {})
}

const ignoredOn = ({ ignored }: Served, lane: LaneName): string | null =>
  (typeof ignored === 'string' ? ignored : ignored?.[lane]) ?? null

const difference = (
  receivedRequest: Readonly<Record<string, unknown>>,
  without: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(
    [...new Set([...Object.keys(receivedRequest), ...Object.keys(without)])]
      .filter((name) => JSON.stringify(receivedRequest[name]) !== JSON.stringify(without[name]))
      .map((name) => [name, receivedRequest[name]]),
  )

describe('every field of the Responses table', () => {
  const setup = useResponsesServer()

  it('every field has samples here', () => {
    expect(Object.keys(SAMPLES).sort()).toEqual(Object.keys(RESPONSES_FIELDS).sort())
  })

  describe.each(LANE_NAMES)('on the lane %s', (lane) => {
    it.each(Object.keys(SAMPLES))(
      '%s: the provider gets what it supports, and dropped values are named',
      async (name) => {
        const { server, receivedRequest } = setup()
        const account = await openAccount(server)
        expect((await respond(server, account, LANES[lane])).status).toBe(200)
        const without = receivedRequest()
        for (const served of SAMPLES[name]!.served) {
          const { status, json, headers } = await respond(server, account, { ...LANES[lane], [name]: served.value })
          expect(status, JSON.stringify(json)).toBe(200)
          expect(difference(receivedRequest(), without), JSON.stringify(served.value)).toEqual(
            sentOf(name, served, lane),
          )
          expect(headers.get('x-millrace-ignored-fields'), JSON.stringify(served.value)).toBe(ignoredOn(served, lane))
        }
      },
    )
  })

  it.each(Object.keys(SAMPLES))('%s: invalid values are refused by name before any provider call', async (name) => {
    const { server, far } = setup()
    const account = await openAccount(server)
    for (const [value, code, param = name] of SAMPLES[name]!.refused) {
      for (const stream of [false, true]) {
        const answer = await respond(server, account, { model: 'over-plain', stream, [name]: value })
        expectProblem(answer, code, { param })
        expect(answer.json.error.message, JSON.stringify(value)).not.toMatch(/undefined|\[object/)
      }
    }
    expect(await account.receipts()).toEqual([])
    expect(far.providerAnswers).toEqual([])
  })

  it.each(Object.keys(SAMPLES))('%s: null counts as absent', async (name) => {
    const { server } = setup()
    const account = await openAccount(server)
    const answer = await respond(server, account, { [name]: null })
    if (REQUIRED.includes(name)) expectProblem(answer, 'missing_required_parameter', { param: name })
    else expect([answer.status, answer.headers.get('x-millrace-ignored-fields')]).toEqual([200, null])
  })

  it.each(Object.keys(SAMPLES))('%s: duplicates are refused', async (name) => {
    const { server } = setup()
    const account = await openAccount(server)
    const one = `${JSON.stringify(name)}:null`
    const rest = REQUIRED.includes(name) ? one : `${one},"model":"swift"`
    const answer = await answerOf(await send(server, account, `{${one},${rest}}`, { path: '/responses' }))
    expectProblem(answer, 'duplicate_field', { param: name })
  })

  it.each([...CONTROL_FIELDS])('%s: other casings and escapes are refused', async (name) => {
    const { server } = setup()
    const account = await openAccount(server)
    const capital = `${name[0]?.toUpperCase()}${name.slice(1)}`
    const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`
    for (const spelling of [capital, name.toUpperCase(), escaped]) {
      const body = `{"model":"swift","input":"Hi","${spelling}":null}`
      const answer = await answerOf(await send(server, account, body, { path: '/responses' }))
      expectProblem(answer, 'unsupported_parameter')
      expect(answer.json.error.message).toContain(name)
    }
  })

  it('drops unknown fields on every lane and names them in a header', async () => {
    const { server, receivedRequest } = setup()
    const account = await openAccount(server)
    for (const lane of LANE_NAMES) {
      const odd = '"top_k":5,"x\\r\\ny: z":1,"größe":1,"__proto__":{"n":9},"constructor":1,"toString":2'
      const body = `${JSON.stringify({ ...LANES[lane], input: 'Hi' }).slice(0, -1)},${odd}}`
      const answer = await answerOf(await send(server, account, body, { path: '/responses' }))
      expect(answer.status).toBe(200)
      const names = 'top_k, x??y??z, gr??e, __proto__, constructor, toString'
      expect(answer.headers.get('x-millrace-ignored-fields')).toBe(names)
      expect(JSON.stringify(receivedRequest())).not.toMatch(/top_k|größe|__proto__|constructor|toString/)
    }
  })
})
