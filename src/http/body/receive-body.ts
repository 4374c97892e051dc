import type { IncomingHttpHeaders } from 'node:http'
import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import type { LoadPlace } from '../door/load-guard.ts'
import type { Exchange } from '../exchange.ts'
import { askForBody } from './ask-for-body.ts'
import { collectBody, tooLarge } from './collect-body.ts'
import { giveWay } from './give-way.ts'

export type ReceivedBody =
  /** Its bytes are let go of when they have been read. */
  | { readonly kind: 'received'; bytes: Buffer }
  | Refused
  /** The client went before its body was complete: there is nobody to answer. */
  | { readonly kind: 'gone' }

/** The body as bytes, or the problem with it; what the head gives away is refused first. */
export async function receiveBody(exchange: Exchange, place: LoadPlace): Promise<ReceivedBody> {
  const { request, connection, edge } = exchange
  const { bytesMax } = edge.options.body
  const coding = readContentCoding(request.headers)
  const wrongType = refuseContentType(request.headers['content-type'])
  if (wrongType) return refused(wrongType)
  if (coding.kind === 'refused') return coding
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return refused(tooLarge(bytesMax))
  if (request.destroyed) return { kind: 'gone' }
  if (connection.failure && !request.complete) return refused(connection.failure)

  askForBody(exchange)
  const collected = await collectBody(exchange, place, coding.kind === 'coded' ? coding.createDecoder() : undefined)
  if (collected.kind !== 'collected') return collected
  await giveWay(collected.bytes)
  return { kind: 'received', bytes: collected.bytes }
}

/** Bodies are JSON in UTF-8 and say so; other parameters are allowed and mean nothing. */
function refuseContentType(header: string | undefined): Problem | undefined {
  if (header === undefined || header.trim() === '') {
    return problem(
      'unsupported_media_type',
      'The Content-Type header is missing. Send "Content-Type: application/json".',
    )
  }
  if (header === 'application/json') return undefined
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') {
    return problem(
      'unsupported_media_type',
      `The Content-Type '${shown(header)}' is not supported. Send "application/json".`,
    )
  }
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (charset === undefined || /^"?utf-?8"?$/.test(charset)) return undefined
  return problem(
    'unsupported_media_type',
    `The charset of '${shown(header)}' is not supported. Send the body as UTF-8.`,
  )
}

const shown = (header: string): string => header.slice(0, 80)

/** Small outputs, so that a bomb is noticed after little of it has been inflated. */
const CHUNK_SIZE = 16 * 1024

/** zstd came to Node with 22.15; the types of the oldest supported version do not know it. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: (options: { chunkSize: number }) => Transform }

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => zlib.createGunzip({ chunkSize: CHUNK_SIZE })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize: CHUNK_SIZE })],
  ['deflate', () => zlib.createInflate({ chunkSize: CHUNK_SIZE })],
  ['br', () => zlib.createBrotliDecompress({ chunkSize: CHUNK_SIZE })],
  ...(createZstdDecompress ? [['zstd', () => createZstdDecompress({ chunkSize: CHUNK_SIZE })] as const] : []),
])

type ContentCoding = { readonly kind: 'plain' } | { readonly kind: 'coded'; createDecoder(): Transform } | Refused

/** One coding at most: stacked ones multiply their expansion, and no client sends them. */
function readContentCoding(headers: IncomingHttpHeaders): ContentCoding {
  const name = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return { kind: 'plain' }
  const createDecoder = DECODERS.get(name)
  if (createDecoder) return { kind: 'coded', createDecoder }
  const known = [...DECODERS.keys()].filter((coding) => coding !== 'x-gzip').join(', ')
  const message = `The Content-Encoding '${name.slice(0, 40)}' is not supported here. Send one of ${known}, or none.`
  return refused(problem('unsupported_media_type', message, { headers: { 'accept-encoding': known } }))
}
