import type { IncomingHttpHeaders } from 'node:http'
import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { type Problem, problem } from '../model/problem.ts'

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

export type ContentCoding =
  | { readonly kind: 'plain' }
  | { readonly kind: 'coded'; readonly name: string; createDecoder(): Transform }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** One coding at most: stacked ones multiply their expansion, and no client sends them. */
export function readContentCoding(headers: IncomingHttpHeaders): ContentCoding {
  const name = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return { kind: 'plain' }
  const createDecoder = DECODERS.get(name)
  if (createDecoder) return { kind: 'coded', name, createDecoder }
  const known = [...DECODERS.keys()].filter((coding) => coding !== 'x-gzip').join(', ')
  return {
    kind: 'refused',
    problem: problem(
      'unsupported_media_type',
      `The Content-Encoding '${name.slice(0, 40)}' is not supported here. Send one of ${known}, or none.`,
      { headers: { 'accept-encoding': known } },
    ),
  }
}
