import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRequest } from '../protocols/chat/parse-request.ts'
import { parseBody } from './body.ts'

const seed = Number(process.hrtime.bigint() % 1_000_000_000n)
const bounds = { bytesMax: 1e9, depthMax: 64, valuesMax: 1_000_000, expansionRatioMax: 100 }
const slot = { take: () => undefined }

const parse = async (text: string, withoutTexts: boolean) =>
  parseBody(Buffer.from(text), bounds, slot, { withoutTexts })

const texts = fc.oneof(
  fc.constantFrom('', 'short', 'x'.repeat(5000), `${'line\n'.repeat(400)}"quoted" \\ ä 😀`, '\ud800'.repeat(300)),
  fc.string({ unit: 'binary', minLength: 1000, maxLength: 1100 }),
)
const parts = fc.oneof(
  texts.map((text) => ({ type: 'text', text })),
  texts.map((text) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${text}` } })),
  texts.map((text) => ({ type: 'refusal', refusal: text })),
  texts.map((text) => ({ type: 'text', text: [text] })),
)
const messages = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'system', 'tool', 'assistant'), content: texts }),
  fc.record({ role: fc.constant('user'), content: fc.array(parts, { maxLength: 3 }) }),
  texts.map((text) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
  })),
  texts.map((text) => ({ role: 'assistant', content: text, tool_calls: [], name: null })),
)

/** Comparing bytes one by one takes long. */
const withoutBody = (read: ReturnType<typeof parseRequest>) =>
  read.kind === 'read' ? { ...read.request, body: String(read.request.body.bytes) } : read

describe('a body whose long texts are left out of its value', () => {
  it(`is the same chat request as one with them (seed ${seed})`, async () => {
    let shorter = 0
    const property = fc.asyncProperty(fc.array(messages, { maxLength: 6 }), fc.boolean(), async (list, isSpaced) => {
      const text = JSON.stringify({ model: 'm', messages: list }, null, isSpaced ? 2 : 0)
      const [without, whole] = [await parse(text, true), await parse(text, false)]
      if (without.kind !== 'read' || whole.kind !== 'read') throw new Error('this is JSON')
      if (JSON.stringify(without.body.value).length < JSON.stringify(whole.body.value).length) shorter += 1
      expect(withoutBody(parseRequest(without.body))).toEqual(withoutBody(parseRequest(whole.body)))
    })
    await fc.assert(property, { seed, numRuns: 200 })
    expect(shorter).toBeGreaterThan(50)
  })

  it.each(['\n', '\\x', '\\u12', '\u0000'])('is refused with %j in a long text', async (invalid) => {
    const text = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(3000)}${invalid}${'x'.repeat(3000)}"}]}`
    expect(await parse(text, true)).toEqual(await parse(text, false))
    expect((await parse(text, true)).kind).toBe('refused')
  })

  it('takes memory for what is parsed: all of it where that is too much to be parsed at once', async () => {
    const takenFor = async (padding: number) => {
      const messages = [{ role: 'user', content: 'x'.repeat(500_000) }]
      const text = JSON.stringify({ model: 'm', user: 'x'.repeat(padding), messages })
      let taken = 0
      const counting = {
        take(bytes: number) {
          taken += bytes
          return undefined
        },
      }
      const parsed = await parseBody(Buffer.from(text), bounds, counting, { withoutTexts: true })
      expect(parsed.kind).toBe('read')
      return taken
    }
    expect(await takenFor(10)).toBeLessThan(2000)
    expect(await takenFor(1_200_000)).toBeGreaterThan(3_400_000)
  })

  it('keeps a text that is no part of a message', async () => {
    const long = 'x'.repeat(3000)
    const parsed = await parse(JSON.stringify({ model: 'm', content: long, user: long }), true)
    expect(parsed).toMatchObject({ kind: 'read', body: { value: { content: long, user: long } } })
  })
})
