import { afterAll, afterEach } from 'vitest'
import { isObject } from '../../src/lib/types.ts'
import { type OpenFinding, openResponses } from './open-responses.ts'
import { checkResponsesStream, eventsOf } from './responses-grammar.ts'

/**
 * Every Responses stream that a test reads to its end is checked as it arrives, and so is every
 * JSON answer: a walk cannot forget it. What is broken off, and what begins in the middle, has no grammar of its own.
 */
const published = openResponses({ quietly: true })
const findings: string[] = []
const fetchUnwatched = globalThis.fetch

globalThis.fetch = async (input, init) => {
  const answer = await fetchUnwatched(input, init)
  const url = new URL(input instanceof Request ? input.url : String(input))
  const isOurs = url.hostname === '127.0.0.1' && /\/v1\/responses(\/[^/]+)?$/.test(url.pathname)
  if (!isOurs || answer.status !== 200 || answer.body === null || url.searchParams.has('starting_after')) return answer
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
  if (method === 'DELETE') return answer
  if (url.pathname.endsWith('/compact')) return watched(answer, judgeCompaction)
  return watched(answer, isStream ? judgeStream : judgeJson)
}

// The files of a process share it, and this runs again for each of them.
afterAll(() => {
  globalThis.fetch = fetchUnwatched
})

afterEach(() => {
  const found = findings.splice(0)
  if (found.length > 0) throw new Error(`Responses that break their grammar:\n${found.join('\n\n')}`)
})

/** The same answer, with an ear at its body. */
function watched(answer: Response, judge: (text: string) => string[]): Response {
  const pieces: Uint8Array[] = []
  const ear = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      pieces.push(piece)
      controller.enqueue(piece)
    },
    flush() {
      const text = Buffer.concat(pieces).toString('utf8')
      for (const found of judge(text)) findings.push(`${found}\n${text}`)
    },
  })
  const { status, statusText, headers } = answer
  return new Response(answer.body!.pipeThrough(ear), { status, statusText, headers })
}

const unknown = (found: readonly OpenFinding[] | undefined): string[] =>
  (found ?? [])
    .filter(({ difference }) => difference === undefined)
    .map(({ place, message }) => `Open Responses: ${place} ${message}`)

function judgeStream(text: string): string[] {
  const broken = checkResponsesStream(text)
  return broken.length > 0 ? broken : eventsOf(text).flatMap((event) => unknown(published?.checkEvent(event)))
}

function judgeJson(text: string): string[] {
  const response: unknown = JSON.parse(text)
  if (!isObject(response)) return ['a response that is no object']
  return unknown(published?.checkResponse(response))
}

/** Where the document is not there, at least what every client relies on. */
function judgeCompaction(text: string): string[] {
  const compacted: unknown = JSON.parse(text)
  if (!isObject(compacted) || !Array.isArray(compacted.output)) return ['a compaction without output']
  const types = compacted.output.map((item) => String(item.type))
  if (types.indexOf('compaction') !== types.length - 1) return [`a compaction of ${types.join(', ') || 'nothing'}`]
  return unknown(published?.checkCompaction(compacted))
}
