import type { Exchange } from '../request-context.ts'
import { endAnswer, writeHead } from '../respond.ts'
import type { ConsoleFile } from './deps.ts'

/** A file of the console, in the tightest packing that its browser takes. */
export function sendFile(exchange: Exchange, file: ConsoleFile): void {
  const { request, response } = exchange
  const { bytes, encoding } = pack(file, String(request.headers['accept-encoding'] ?? ''))
  const etag = encoding === undefined ? `"${file.digest}"` : `"${file.digest}-${encoding}"`
  const headers = {
    ...PAGE_HEADERS,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
  }
  if (hasAlready(request.headers['if-none-match'], etag)) {
    writeHead(exchange, 304, headers)
    response.end()
    return
  }
  writeHead(exchange, 200, {
    ...headers,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    'content-type': file.type,
    'content-length': String(bytes.length),
  })
  endAnswer(exchange, request.method === 'HEAD' ? '' : bytes)
}

/** What a browser has may be marked as weak by a proxy on the way. */
const hasAlready = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) ?? false

interface Packed {
  readonly bytes: Buffer
  readonly encoding: 'br' | 'gzip' | undefined
}

function pack({ plain, br, gzip }: ConsoleFile, accepted: string): Packed {
  if (br !== undefined && takes(accepted, 'br')) return { bytes: br, encoding: 'br' }
  if (gzip !== undefined && takes(accepted, 'gzip')) return { bytes: gzip, encoding: 'gzip' }
  return { bytes: plain, encoding: undefined }
}

/** `br;q=0` means that it is not taken. */
const takes = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((entry) => {
    const [name = '', ...parameters] = entry.toLowerCase().split(';')
    return name.trim() === coding && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))
  })

/** Nothing from anywhere else, nothing written into the page, and no other page around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** On everything below `/console`. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
}

/** What the API says is for this moment and this person. */
export const API_HEADERS: Readonly<Record<string, string>> = { ...PAGE_HEADERS, 'cache-control': 'no-store' }
