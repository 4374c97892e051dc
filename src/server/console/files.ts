import type { RequestContext } from '../request-context.ts'
import { endAnswer, writeHead } from '../respond.ts'
import type { ConsoleFile } from './load-files.ts'

/** Sends a file of the console, in the best encoding that the browser accepts. */
export function sendFile(context: RequestContext, file: ConsoleFile): void {
  const { request, response } = context
  const { bytes, encoding } = encode(file, String(request.headers['accept-encoding'] ?? ''))
  const etag = encoding === undefined ? `"${file.digest}"` : `"${file.digest}-${encoding}"`
  const headers = {
    ...PAGE_HEADERS,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
  }
  if (isCached(request.headers['if-none-match'], etag)) {
    writeHead(context, 304, headers)
    response.end()
    return
  }
  writeHead(context, 200, {
    ...headers,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    'content-type': file.type,
    'content-length': String(bytes.length),
  })
  endAnswer(context, request.method === 'HEAD' ? '' : bytes)
}

/** A proxy on the way may have marked the ETag as weak. */
const isCached = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) ?? false

function encode({ plain, br, gzip }: ConsoleFile, accepted: string) {
  if (br !== undefined && accepts(accepted, 'br')) return { bytes: br, encoding: 'br' }
  if (gzip !== undefined && accepts(accepted, 'gzip')) return { bytes: gzip, encoding: 'gzip' }
  return { bytes: plain, encoding: undefined }
}

/** `br;q=0` means that it is not accepted. */
const accepts = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((entry) => {
    const [name = '', ...parameters] = entry.toLowerCase().split(';')
    return name.trim() === coding && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))
  })

/** No foreign sources, no inline code, no frames. */
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

/** Headers of everything below `/console`. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
}

/** Answers of the API must not be cached. */
export const API_HEADERS: Readonly<Record<string, string>> = { ...PAGE_HEADERS, 'cache-control': 'no-store' }
