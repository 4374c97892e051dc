import fc from 'fast-check'
import { expect, it } from 'vitest'
import { requestOf as responsesRequestOf } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { TurnRequest } from '../model/turn.ts'
import { estimateInput } from '../pricing/estimate.ts'
import { inputBound } from '../pricing/price.ts'
import { parseRequest as readChat } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'

/** What a part is, to the client that sends it, and the most that a provider by the rules of the catalogue can count for it. */
interface Shown {
  readonly kind: 'image' | 'file'
  readonly url: string
  readonly tokens: number
}

const MODEL = { contextTokens: 1_000_000_000, bytesPerToken: 4, inputTokensMax: { image: 1500, file: 9000 } }
const { image: IMAGE, file: FILE } = MODEL.inputTokensMax

const base64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64')
const filler = fc.integer({ min: 0, max: 30_000 }).map((length) => 'words '.repeat(length / 6))

/** Pictures are seen. Whatever is not certainly one may be read: decoded or as it stands, each byte a token. */
const shown: fc.Arbitrary<Shown> = fc.oneof(
  filler.map(
    (more) => ({ kind: 'image', url: `data:image/png;base64,${base64(`\x89PNG${more}`)}`, tokens: IMAGE }) as const,
  ),
  fc.constant({ kind: 'image', url: 'https://a.example/huge.png', tokens: IMAGE } as const),
  fc.constant({ kind: 'file', url: 'https://a.example/huge.pdf', tokens: FILE } as const),
  ...['image/png', 'image/svg+xml'].map((type) => filler.map((more) => readable('image', type, `<${more}`))),
  ...['application/pdf', 'text/plain;charset=utf-8'].map((type) =>
    filler.map((more) => readable('file', type, `%PDF-1.7${more}`)),
  ),
)

function readable(kind: Shown['kind'], mediaType: string, bytes: string): Shown {
  const url = `data:${mediaType};base64,${base64(bytes)}`
  return { kind, url, tokens: Math.max(kind === 'image' ? IMAGE : FILE, base64(bytes).length) }
}

/** Extra members, before and behind: a long text under a name that stands there twice, or deep inside. */
const odd = fc.constantFrom(
  '',
  '"x":[[{"image_url":"data:image/png;base64,AAAA"}]],',
  '"image_url":"first","file_data":"first",',
)
/** JSON may say the same in more bytes, never in fewer. */
const escaped = (json: string, often: boolean) =>
  often ? json.replaceAll('/', '\\/').replaceAll(':image', ':\\u0069mage') : json

interface Piece {
  readonly part: Shown
  readonly words: string
  readonly odd: string
  readonly often: boolean
  readonly inResult: boolean
}
const piece: fc.Arbitrary<Piece> = fc.record({
  part: shown,
  words: filler,
  odd,
  often: fc.boolean(),
  inResult: fc.boolean(),
})

const chatPart = ({ part: { kind, url }, odd, often }: Piece) =>
  kind === 'image'
    ? `{${odd}"type":"image_url","image_url":{"url":${escaped(JSON.stringify(url), often)}}}`
    : `{${odd}"type":"file","file":{"filename":"a","file_data":${escaped(JSON.stringify(url), often)}}}`

function responsesPart({ part: { kind, url }, odd, often }: Piece): string {
  const value = escaped(JSON.stringify(url), often)
  if (kind === 'image') return `{${odd}"type":"input_image","image_url":${value}}`
  const isAddress = url.startsWith('https')
  const plain = odd.includes('file_data') ? '' : odd
  return `{${plain}"type":"input_file","${isAddress ? 'file_url' : 'file_data'}":${value}}`
}

function chatBody(pieces: readonly Piece[]): string {
  const messages = pieces.map((each, at) => {
    const content = `[{"type":"text","text":${JSON.stringify(each.words)}},${chatPart(each)}]`
    return each.inResult
      ? `{"role":"tool","tool_call_id":"call_${at}","content":${content}}`
      : `{"role":"user","content":${content}}`
  })
  return `{"model":"m","messages":[${messages.join(',')}]}`
}

function responsesBody(pieces: readonly Piece[]): string {
  const items = pieces.map((each, at) => {
    const content = `[{"type":"input_text","text":${JSON.stringify(each.words)}},${responsesPart(each)}]`
    const call = `{"type":"function_call","call_id":"call_${at}","name":"look"}`
    return each.inResult
      ? `${call},{"type":"function_call_output","call_id":"call_${at}","output":${content}}`
      : `{"role":"user","content":${content}}`
  })
  return `{"model":"m","input":[${items.join(',')}]}`
}

function chatRequestOf(text: string): TurnRequest {
  const bytes = Buffer.from(text)
  const scanned = scanJson(bytes, { depthMax: 100, valuesMax: 100_000 })
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  const read = readChat({ bytes, members: scanned.members, value: JSON.parse(text) })
  if (read.kind !== 'read') throw new Error(read.problem.message)
  return read.request
}

const WAYS = {
  chat: {
    requestOf: (pieces: readonly Piece[]) => chatRequestOf(chatBody(pieces)),
    sends: ({ url, kind }: Shown) => kind === 'image' || !url.startsWith('https'),
  },
  responses: { requestOf: (pieces: readonly Piece[]) => responsesRequestOf(responsesBody(pieces)), sends: () => true },
} as const

it.each(['chat', 'responses'] as const)(
  'no hold of a %s request is below what its parts and words can cost',
  (name) => {
    const seed = 4601
    const { requestOf, sends } = WAYS[name]
    const counts = { parts: 0, discounted: 0 }
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (all) => {
        const pieces = all.filter(({ part }) => sends(part))
        if (pieces.length === 0) return
        const request = requestOf(pieces)
        const cost = pieces.reduce((sum, { part, words }) => sum + part.tokens + words.length, 0)
        const bound = inputBound(request, MODEL)
        expect(request.otherInputs).toHaveLength(pieces.length)
        expect(bound).toBeGreaterThanOrEqual(cost)
        expect(estimateInput(request, MODEL)).toBeLessThanOrEqual(bound)
        expect(estimateInput(request, MODEL)).toBeGreaterThan(0)
        counts.parts += pieces.length
        if (bound < request.inputSize.bodyBytes) counts.discounted++
      }),
      { seed, numRuns: 1500 },
    )
    console.info(`parts of ${name}: seed ${seed}, 1500 requests, ${JSON.stringify(counts)}`)
    expect(counts.parts).toBeGreaterThan(3000)
    expect(counts.discounted).toBeGreaterThan(100)
  },
)
